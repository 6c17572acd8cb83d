"""Greedy and Uniform Progress as in Table 3 of Wu et al., Can't Be Late (NSDI 2024). The last line is JSON.

48 hours of work in 60, a delay of 0.2 hours, progress that is never lost, eight traces of two weeks: hours of work that
were done on on-demand and on spot nodes.
"""

import json
import sys
from statistics import fmean

from harness.spot_replay.baselines import GangJob, GangRun, Policy
from proofs.elastic.jobs import HOUR, traces

PAPER = {Policy.GREEDY: (30.8, 17.2), Policy.UNIFORM: (25.1, 22.9)}
DAYS, STARTS = 13, 300
NEVER = 1 << 40


def main() -> int:
    """Measure, and print the hours and how far they are from the paper's."""
    result: dict[str, float] = {}
    for policy, (on_demand, spot) in PAPER.items():
        job = GangJob(1, 48 * HOUR, 60 * HOUR, HOUR // 5, 0, NEVER, notice=1)
        hours = []
        for trace in traces():
            if trace.family == "B":
                beginning = trace.first(DAYS * 24 * HOUR)
                hours += [
                    GangRun(job, policy).play(beginning, start).useful_on_demand / HOUR
                    for start in beginning.starts(STARTS, job.deadline)
                ]
        mean = fmean(hours)
        result[f"{policy} on-demand"], result[f"{policy} spot"] = round(mean, 2), round(48 - mean, 2)
        result[f"{policy} off"] = round(max(abs(mean - on_demand), abs(48 - mean - spot)), 2)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
