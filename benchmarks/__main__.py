"""All that `make bench` measures: contenders at two sizes, single jobs, changes of the leader; JSON lines, then tables.

The script that makes the least writes and the operator take turns, because the machine's speed changes
from minute to minute; their ratio is the median over neighbouring turns. With `--write` the tables go to
docs/performance.md.
"""

import argparse
import json
import sys

from benchmarks import failover, latency, report
from benchmarks.creation import PAIRS, Figures, measure_all, summary
from benchmarks.environment import stage

SIZES = (500, 2000)
FIGURES = ("pods/s", "cpu s", "cpu ms/pod", "writes/job", "rss MB", "rss over idle MB", "kube-apiserver cpu s")
TIMES = ("jobs/s", "jobs", "p50 s", "p99 s", "max s", "cores")


def main() -> int:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=SIZES, help="sizes to measure at")
    parser.add_argument("--rounds", type=int, default=3, help="turns of the script and the operator")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    chosen = parser.parse_args()
    lines: list[str] = []
    with stage() as cluster:
        for jobs in chosen.jobs:
            names = ["pods alone", *["bare", "operator"] * chosen.rounds, "kopf", "jobset"]
            names += ["bare with gangs", "operator with gangs"] * chosen.rounds
            # As slow as it is, once is enough.
            names += ["jobset default"] if jobs == min(chosen.jobs) else []
            lines += [*creation_lines(jobs, measure_all(cluster, names, jobs)), ""]
        times, changes = latency.measure(cluster), failover.measure(cluster)
    print(json.dumps(times))
    print(json.dumps(changes))
    lines += report.table(["job asked for → all pods exist", *TIMES], [["operator", *(times[name] for name in TIMES)]])
    ends = list(changes)[1:]
    lines += [
        "",
        *report.table(["leader gone → next one's first write", *ends], [["operator", *map(changes.get, ends)]]),
    ]
    print("", *lines, sep="\n")
    if chosen.write:
        report.write("creation", "make bench", lines)
    return 0


def creation_lines(jobs: int, rows: list[Figures]) -> list[str]:
    """The table of one size, medians where a contender ran more than once."""
    figures = summary(rows)
    names = dict.fromkeys(str(row["contender"]) for row in rows)
    body = [[name, *(figures.get(f"{name} {figure}") for figure in FIGURES)] for name in names]
    lines = report.table([f"{jobs:,} jobs of 4 pods", *FIGURES], body)
    for figure, pair in PAIRS.items():
        if figure in figures:
            runs = "; ".join(f"{name} {_runs(rows, name)}" for name in pair)
            lines += ["", f"{pair[1].capitalize()} ÷ {pair[0]}: **{figures[figure]}** (pods/s in turn: {runs})."]
    return lines


def _runs(rows: list[Figures], name: str) -> str:
    return ", ".join(str(row["pods/s"]) for row in rows if row["contender"] == name)


if __name__ == "__main__":
    sys.exit(main())
