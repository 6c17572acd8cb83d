"""An operator that is killed at a random event of every run, before or after it wrote the status.

The last line is JSON. Decisions, ledger and end must be those of the run without a kill, byte by byte.
"""

import json
import random
import sys

import msgspec

from harness.spot_replay.replay import Kill, Run, play
from harness.spot_replay.traces import Trace
from proofs.elastic.jobs import DEADLINES, parallel, starts, terms_on, traces, truth_on, work_on

Task = tuple[Trace, float]


def outcome(run: Run) -> bytes:
    """Everything that must not depend on who ran it."""
    return msgspec.json.encode((run.decisions, run.status, run.end, run.spot, run.on_demand))


def measure(task: Task) -> tuple[int, int]:
    """Return how many runs were compared, and how many differ."""
    trace, ratio = task
    terms, truth = terms_on(trace, ratio), truth_on(trace)
    drawn = random.Random(f"{trace.name} {ratio}")  # noqa: S311 - no secret
    chosen = trace.starts(starts(50, 1), int(work_on(trace) * ratio), "kills")
    different = 0
    for start in chosen:
        plain = play(terms, truth, trace, start, record=True)
        kill = Kill(drawn.randrange(1, plain.events + 1), written=drawn.random() < 0.5)
        different += outcome(play(terms, truth, trace, start, kill=kill, record=True)) != outcome(plain)
    return len(chosen), different


def main() -> int:
    """Measure, and print."""
    results = parallel(measure, [(trace, ratio) for trace in traces() for ratio in DEADLINES])
    runs, different = (sum(column) for column in zip(*results, strict=True))
    print(json.dumps({"runs": runs, "different": different}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
