"""The price of spot at which 92 % and 81 % are saved, by family and deadline. The last line is JSON.

A run's cost is linear in the price: saved = 1 - o - p · h, with the on-demand and spot hours as parts of what on-demand
only pays. A negative price means: at no price.
"""

import json
import sys

from harness.spot_replay.replay import play
from harness.spot_replay.traces import Trace
from proofs.elastic.jobs import by_family, on_demand_only, parallel, starts, terms_on, traces, truth_on, work_on

TARGETS = (0.92, 0.81)
DEADLINES = (1.25, 4.0)
PRICE = 0.07
Task = tuple[Trace, float]
Parts = list[tuple[float, float]]


def measure(task: Task) -> Parts:
    """Return spot and on-demand hours of each start, as parts of what on-demand only pays."""
    trace, ratio = task
    terms, truth = terms_on(trace, ratio), truth_on(trace)
    found = []
    for start in trace.starts(starts(50, 2), int(work_on(trace) * ratio), "deck"):
        run = play(terms, truth, trace, start)
        found.append((run.spot / on_demand_only(trace), run.on_demand / on_demand_only(trace)))
    return found


def main() -> int:
    """Measure, and print."""
    tasks = [(trace, ratio) for trace in traces() for ratio in DEADLINES]
    results = list(zip(tasks, parallel(measure, tasks), strict=True))
    result: dict[str, float] = {}
    for ratio in DEADLINES:
        of_ratio = [(trace.family, parts) for (trace, at), parts in results if at == ratio]
        spot = by_family([(family, part[0]) for family, parts in of_ratio for part in parts])
        on_demand = by_family([(family, part[1]) for family, parts in of_ratio for part in parts])
        for family, hours in spot.items():
            for target in TARGETS:
                price = (1 - on_demand[family] - target) / hours if hours else -1.0
                result[f"{family}, {ratio:g}: price for {target:.0%}"] = round(price, 4)
            result[f"{family}, {ratio:g}: saved at {PRICE}"] = round(100 * (1 - on_demand[family] - PRICE * hours), 2)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
