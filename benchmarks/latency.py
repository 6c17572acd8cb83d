"""How long a user waits: from asking for a job until all its pods exist, while jobs arrive at a steady rate.

Jobs arrive by the clock, whether or not earlier ones are done, so that a controller that falls behind
shows it. The time includes the creation of the job itself and ends when a watch tells of the last pod.
"""

import argparse
import asyncio
import json
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks import control_plane, objects, subjects
from benchmarks.api_connection import connect
from benchmarks.creation import Figures
from benchmarks.environment import FULL, fresh_namespace, stage, wait_idle
from benchmarks.observer import version, watched
from benchmarks.subjects import CONTENDERS
from testbed.cluster import Cluster
from testbed.errors import DeadlineError

LABEL = f"{objects.GROUP}/job-name"
STRAGGLERS = 600.0


def measure(cluster: Cluster, rate: float = 20, seconds: float = 60, pods: int = 4) -> Figures:
    """The operator's times at so many jobs a second."""
    subjects.prepare(cluster, ["operator"])
    control_plane.wait_quiet(cluster)
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-bench-") as directory,
        fresh_namespace(cluster) as namespace,
        subjects.running(CONTENDERS["operator"], cluster, Path(directory)) as process,
    ):
        wait_idle(process)
        cpu = process.cpu_seconds()
        times = asyncio.run(_arrivals(cluster, namespace, rate, round(rate * seconds), pods))
        return {
            "benchmark": "latency",
            "jobs/s": rate,
            "seconds": seconds,
            "jobs": len(times),
            "pods": len(times) * pods,
            "p50 s": round(percentile(times, 50), 3),
            "p99 s": round(percentile(times, 99), 3),
            "max s": round(max(times), 3),
            "cores": round((process.cpu_seconds() - cpu) / seconds, 3),
        }


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least so many percent of all do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def main() -> int:
    """Measure, and print one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--rate", type=float, default=20, help="jobs a second")
    parser.add_argument("--seconds", type=float, default=60 if FULL else 10)
    chosen = parser.parse_args()
    with stage() as cluster:
        print(json.dumps(measure(cluster, chosen.rate, chosen.seconds)))
    return 0


async def _arrivals(cluster: Cluster, namespace: str, rate: float, jobs: int, pods: int) -> list[float]:
    asked: dict[str, float] = {}
    complete: dict[str, float] = {}

    async with connect(cluster) as connection, connect(cluster, connections=1) as observing:

        async def ask(number: int, moment: float) -> None:
            await asyncio.sleep(moment - time.monotonic())
            asked[objects.name(number)] = time.monotonic()
            await connection.create(objects.jobs_path(namespace), objects.job(number, pods))

        async def observe(since: str) -> None:
            seen: Counter[str] = Counter()
            async for event in watched(observing, objects.pods_path(namespace), since, metadata_only=True):
                job = event.object.metadata.labels.get(LABEL)
                if event.type == "ADDED" and job is not None:
                    seen[job] += 1
                    if seen[job] == pods:
                        complete[job] = time.monotonic()
                        if len(complete) == jobs:
                            return

        try:
            async with asyncio.timeout(jobs / rate + STRAGGLERS), asyncio.TaskGroup() as group:
                group.create_task(observe(await version(observing, objects.pods_path(namespace))))
                began = time.monotonic() + 0.5
                for number in range(jobs):
                    group.create_task(ask(number, began + number / rate))
        except TimeoutError as error:
            raise DeadlineError(f"only {len(complete)} of {jobs} jobs got their pods") from error
    return [complete[name] - asked[name] for name in complete]


if __name__ == "__main__":
    sys.exit(main())
