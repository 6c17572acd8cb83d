"""The operator beside itself as it was at a commit, in turn in one run: what changes since then cost everybody's jobs.

Both run on the same control plane, minutes apart, since the machine's own speed changes more than theirs may. The
source of then is taken from history, so this needs a clone that has it.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks.creation import Figures, measure_all
from benchmarks.environment import FULL, stage
from benchmarks.subjects import CONTENDERS
from harness.drivers.operator_process import MODULE, ROOT, Operator
from harness.drivers.process import Process
from testbed.cluster import Cluster

NOW, THEN = "operator", "operator before"
FORMER_MODULE = "kubedl.main.operator"  # of commits before the package `entrypoints`
PAIRS = 5


def main() -> int:
    """Print how they compare: the median over neighbouring turns."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regression", description=__doc__)
    parser.add_argument("commit", help="whose source the operator of before is")
    parser.add_argument("--jobs", type=int, default=500 if FULL else 100)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kubedl-before-") as directory, stage() as cluster:
        source = unpack(Path(directory), chosen.commit)
        CONTENDERS[THEN] = replace(CONTENDERS[NOW], name=THEN, running=partial(_operator_of, source))
        print(json.dumps(compared(measure_all(cluster, [THEN, NOW] * PAIRS, chosen.jobs))))
    return 0


def unpack(directory: Path, commit: str) -> Path:
    """The product's source as it was, in a directory."""
    archive = directory / "source.tar"
    command = ["git", "archive", f"--output={archive}", commit, "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"this clone has no commit {commit}; fetch its history: {done.stderr.strip()}")
    subprocess.run(["tar", "--extract", f"--file={archive}", f"--directory={directory}"], check=True)
    return directory / "src"


def compared(rows: Sequence[Figures]) -> Figures:
    """By the turn just before it; above 1 is more than then."""
    figures: Figures = {}
    for figure in ("cpu ms/pod", "pods/s"):
        pairs = [(then, now) for then, now in pairwise(rows) if (then["contender"], now["contender"]) == (THEN, NOW)]
        figures[f"{figure}, now/then"] = round(statistics.median(_ratio(figure, *pair) for pair in pairs), 3)
        for name in (THEN, NOW):
            figures[f"{name} {figure}"] = statistics.median(
                _of(row, figure) for row in rows if row["contender"] == name
            )
    return figures


def _ratio(figure: str, then: Figures, now: Figures) -> float:
    return _of(now, figure) / _of(then, figure)


def _of(row: Figures, figure: str) -> float:
    return float(row[figure])


def _operator_of(source: Path, cluster: Cluster, directory: Path) -> Iterator[Process]:
    module = MODULE if (source / "kubedl" / "entrypoints").is_dir() else FORMER_MODULE
    environment = {"PYTHONPATH": str(source)}
    with Operator(cluster, directory=directory, environment=environment, module=module) as running:
        yield running


if __name__ == "__main__":
    sys.exit(main())
