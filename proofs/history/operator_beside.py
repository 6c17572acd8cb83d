"""What the recorder costs the operator: `python -m proofs.history.operator_beside`.

The operator and a script with the least writes create pods in turn: without a recorder, beside one, and beside one
whose database is down. A recorder takes processor time and caches from both, so what is compared is the operator's
speed, and its processor time per pod, as shares of the script's. The controller-manager works without its limit of
calls, because the deletion of what was created takes longer than to measure it otherwise. The last line is JSON.
"""

import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.control_plane import hurrying
from benchmarks.creation import measure_all
from benchmarks.environment import FULL, stage
from harness.drivers.databases import SERVERS, create_tables
from harness.drivers.recorder_process import Recorder
from testbed.cluster import Cluster

WITHOUT, WITH, DOWN = "without history", "with history", "database down"
TURNS, JOBS = (5, 500) if FULL else (1, 50)


def main() -> int:
    """Measure in turn, since the machine's own speed changes; print the medians of neighbouring turns."""
    speeds: defaultdict[str, list[float]] = defaultdict(list)
    costs: defaultdict[str, list[float]] = defaultdict(list)
    with stage() as cluster, hurrying(cluster):
        for _ in range(TURNS):
            for condition in (WITHOUT, WITH, DOWN):
                with recorder(cluster, condition):
                    script, operator = measure_all(cluster, ["bare", "operator"], JOBS)
                speeds[condition].append(float(operator["pods/s"]) / float(script["pods/s"]))
                costs[condition].append(float(operator["cpu ms/pod"]) / float(script["cpu ms/pod"]))
                turn = f"speed {speeds[condition][-1]:.3f}, processor time {costs[condition][-1]:.3f}"
                print(f"{condition}: {turn} of the script's", file=sys.stderr, flush=True)
    figures = {f"operator/bare {condition}": round(statistics.median(speeds[condition]), 3) for condition in speeds}
    for condition in (WITH, DOWN):
        figures[f"speed {condition}"] = _ratio(speeds[condition], speeds[WITHOUT])
        figures[f"processor time {condition}"] = _ratio(costs[condition], costs[WITHOUT])
    print(json.dumps(figures))
    return 0


@contextmanager
def recorder(cluster: Cluster, condition: str) -> Iterator[None]:
    """A recorder of the whole cluster beside what is measured, or none."""
    if condition == WITHOUT:
        yield
        return
    with SERVERS["postgresql"]() as database, tempfile.TemporaryDirectory() as directory:
        url = database.url()
        create_tables(url)
        with Recorder(cluster, url, Path(directory), "--no-leader-election"):
            if condition == DOWN:
                database.kill()
            yield


def _ratio(values: list[float], by: list[float]) -> float:
    return round(statistics.median(value / other for value, other in zip(values, by, strict=True)), 3)


if __name__ == "__main__":
    sys.exit(main())
