"""Deadlines kept and money saved on 34 traces: `python -m proofs.elastic.deadlines`. The last line is JSON.

The elastic job at four deadlines; at one of them also the policies that it is compared with. Tables go to the terminal.
"""

import json
import sys
from dataclasses import dataclass, field

from harness.spot_replay.baselines import GangJob, GangRun, Policy
from harness.spot_replay.oracle import least_cost
from harness.spot_replay.replay import books_balance, play
from harness.spot_replay.traces import Trace
from proofs.elastic.jobs import (
    CHECKPOINT,
    COLD_START,
    DEADLINES,
    FAMILIES,
    by_family,
    mean_of_families,
    notice_on,
    on_demand_only,
    parallel,
    saved,
    starts,
    terms_on,
    traces,
    truth_on,
    work_on,
)

COMPARED = 1.25
PRICES = (0.3, 0.1)
OTHERS = {
    "spot, restart": (Policy.RESTART, False),
    "greedy": (Policy.GREEDY, False),
    "uniform": (Policy.UNIFORM, False),
    "uniform + notice": (Policy.UNIFORM, True),
}
Task = tuple[Trace, float]


@dataclass
class Figures:
    """Of one policy on one trace: a value for each start."""

    saved: dict[float, list[float]] = field(default_factory=lambda: {price: [] for price in PRICES})
    goodput: list[float] = field(default_factory=list)
    late: int = 0
    unbalanced: int = 0


def measure(task: Task) -> dict[str, Figures]:
    """Play all starts of a trace at a deadline."""
    trace, ratio = task
    terms, truth = terms_on(trace, ratio), truth_on(trace)
    deadline = int(work_on(trace) * ratio)
    found = {"elastic": Figures()}
    for start in trace.starts(starts(200, 4), deadline):
        run = play(terms, truth, trace, start)
        figures = found["elastic"]
        figures.late += run.end > deadline
        figures.unbalanced += not books_balance(run)
        _enter(figures, trace, run.spot, run.on_demand, run.accounts.useful / run.accounts.paid())
        if ratio == COMPARED:
            _compare(found, trace, start, deadline)
    return found


def _compare(found: dict[str, Figures], trace: Trace, start: int, deadline: int) -> None:
    for name, (policy, noticed) in OTHERS.items():
        interval, notice = (3600, notice_on(trace)) if noticed else (1200, 0)
        job = GangJob(trace.nodes, work_on(trace), deadline, COLD_START, CHECKPOINT, interval, notice)
        run = GangRun(job, policy).play(trace, start)
        figures = found.setdefault(name, Figures())
        figures.late += run.now > deadline
        _enter(figures, trace, run.spot, run.on_demand, run.goodput())
    oracle = found.setdefault("oracle", Figures())
    oracle.goodput.append(1.0)
    for price in PRICES:
        cost = least_cost(trace, start, work=work_on(trace), deadline=deadline, cold_start=COLD_START, price=price)
        oracle.saved[price].append(1 - cost / on_demand_only(trace))


def _enter(figures: Figures, trace: Trace, spot: float, on_demand: float, goodput: float) -> None:
    for price in PRICES:
        figures.saved[price].append(saved(trace, spot, on_demand, price))
    figures.goodput.append(goodput)


def main() -> int:
    """Measure, and print."""
    tasks = [(trace, ratio) for trace in traces() for ratio in DEADLINES]
    results = list(zip(tasks, parallel(measure, tasks), strict=True))
    elastic = [found["elastic"] for _, found in results]
    result: dict[str, float] = {
        "runs": sum(len(figures.goodput) for figures in elastic),
        "missed": sum(figures.late for figures in elastic),
        "unbalanced": sum(figures.unbalanced for figures in elastic),
    }
    for ratio in DEADLINES:
        for price in PRICES:
            result[f"saved {ratio:.4g} at {price:.2f}"] = _percent(mean_of_families(_values(results, ratio, price)))
        goodput = [(trace.family, value) for (trace, at), f in results if at == ratio for value in f["elastic"].goodput]
        result[f"goodput {ratio:.4g}"] = round(mean_of_families(goodput), 4)
    result |= _comparison(results)
    print(json.dumps(result))
    return 0


Results = list[tuple[Task, dict[str, Figures]]]


def _values(results: Results, ratio: float, price: float, name: str = "elastic") -> list[tuple[str, float]]:
    return [
        (trace.family, value) for (trace, at), found in results if at == ratio for value in found[name].saved[price]
    ]


def _comparison(results: Results) -> dict[str, float]:
    """Points below the oracle and above Uniform Progress, at 0.30; and the table."""
    names = ("elastic", *OTHERS, "oracle")
    means = {name: by_family(_values(results, COMPARED, 0.3, name)) for name in names}
    cheap = {name: by_family(_values(results, COMPARED, 0.1, name)) for name in names}
    for name in names:
        cells = [f"{_percent(means[name][family])} / {_percent(cheap[name][family])}" for family in FAMILIES]
        goodput = [
            (trace.family, value) for (trace, at), found in results if at == COMPARED for value in found[name].goodput
        ]
        late = sum(found[name].late for (_, at), found in results if at == COMPARED)
        print(
            f"| {name} | {' | '.join(cells)} | {mean_of_families(goodput):.3f} | {late} |", file=sys.stderr, flush=True
        )
    below = {family: 100 * (means["oracle"][family] - means["elastic"][family]) for family in FAMILIES}
    above = {family: 100 * (means["elastic"][family] - means["uniform"][family]) for family in FAMILIES}
    print(f"below the oracle {below}; above uniform {above}", file=sys.stderr)
    return {
        "below oracle": round(sum(below.values()) / len(below), 2),
        "furthest below oracle": round(max(below.values()), 2),
        "least above uniform": round(min(value for family, value in above.items() if family != "E"), 2),
        "others late": sum(
            found[name].late for (_, at), found in results if at == COMPARED for name in ("greedy", "uniform")
        ),
    }


def _percent(part: float) -> float:
    return round(100 * part, 2)


if __name__ == "__main__":
    sys.exit(main())
