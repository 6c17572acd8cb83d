"""What happens when the job was told wrong: notices that lie, slow starts and checkpoints, more work.

The last line is JSON. Deadlines are those of the work that was promised. Lead is the time from `DeadlineAtRisk` to the
deadline, in runs that missed it.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

from harness.spot_replay.replay import play
from harness.spot_replay.traces import Trace
from proofs.elastic.jobs import (
    CHECKPOINT,
    COLD_START,
    mean_of_families,
    parallel,
    starts,
    terms_on,
    traces,
    truth_on,
    work_on,
)

SLOWNESS = 1.1
PRICE = 0.3  # of spot; on-demand costs 1
SURPRISES: dict[str, Mapping[str, Any]] = {
    "as told": {},
    "notice of 10 s": {"shorter_notice": 10},
    "10 % without notice": {"missing": 0.1},
    "10 % false notices": {"false": 0.1},
    "cold start doubled": {"cold_start": 2 * COLD_START},
    "checkpoint doubled": {"checkpoint": 2 * CHECKPOINT},
    "work 10 % longer": {"slowness": SLOWNESS},
}
DEADLINES = (1.0833, 1.25)
BOUND = 2 * COLD_START  # 2 · (true cold start - promised)


@dataclass(frozen=True)
class Played:
    """One run."""

    family: str
    late: int  # seconds; negative: early
    saved: float
    lead: int | None  # seconds before the deadline


Task = tuple[Trace, str, float]


def measure(task: Task) -> list[Played]:
    """Play a trace with a surprise."""
    trace, surprise, ratio = task
    terms, truth = terms_on(trace, ratio), replace(truth_on(trace), **SURPRISES[surprise])
    deadline = int(work_on(trace) * ratio)
    found = []
    for start in trace.starts(starts(20, 1), deadline, "surprises"):
        run = play(terms, truth, trace, start)
        lead = None if run.risk_at is None else deadline - run.risk_at
        # Against on-demand alone in the same world.
        base = trace.nodes * (truth.work * truth.slowness + truth.cold_start)
        saved = 1 - (PRICE * run.spot + run.on_demand) / base
        found.append(Played(trace.family, run.end - deadline, saved, lead))
    return found


def main() -> int:
    """Measure, and print."""
    tasks = [(trace, surprise, ratio) for surprise in SURPRISES for ratio in DEADLINES for trace in traces()]
    results = list(zip(tasks, parallel(measure, tasks), strict=True))
    result: dict[str, float] = {}
    for surprise in SURPRISES:
        for ratio in DEADLINES:
            runs = [run for (_, what, at), played in results if (what, at) == (surprise, ratio) for run in played]
            result |= {f"{surprise}, {ratio:.4g}: {what}": value for what, value in _figures(runs).items()}
    print(json.dumps(result))
    return 0


def _figures(runs: list[Played]) -> dict[str, float]:
    missed = [run for run in runs if run.late > 0]
    leads = [run.lead or 0 for run in missed]
    figures = {
        "runs": len(runs),
        "missed": len(missed),
        "latest s": max((run.late for run in missed), default=0),
        "mean late s": round(fmean(run.late for run in missed)) if missed else 0,
        "saved %": round(100 * mean_of_families([(run.family, run.saved) for run in runs]), 2),
        "lead, median s": median(leads) if leads else 0,
        "over bound s": max((run.late - BOUND for run in runs), default=0),
    }
    print(figures, file=sys.stderr, flush=True)
    return figures


if __name__ == "__main__":
    sys.exit(main())
