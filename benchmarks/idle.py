"""A cluster full of finished jobs in which nothing happens: the operator must not write a single time.

Nor may it when it starts anew among them. Writes are counted by the API server's audit log.
"""

import argparse
import asyncio
import datetime
import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import objects, report
from benchmarks.api_connection import STRATEGIC_PATCH, connect
from benchmarks.creation import Figures
from benchmarks.environment import FULL, fresh_namespace, stage, wait_idle
from benchmarks.objects import Object
from benchmarks.observer import version, watched
from benchmarks.ramp import bring_up
from harness.drivers import audit_log
from harness.drivers.operator_process import USER, Operator
from testbed.cluster import Cluster

SLOWEST = 10.0  # jobs a second, below which it is given up


def measure(cluster: Cluster, jobs: int = 10_000, minutes: float = 10) -> Figures:
    """Finish so many jobs of one pod, restart the operator, and wait."""
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-bench-") as directory,
        fresh_namespace(cluster) as namespace,
        Operator(cluster, directory=Path(directory)) as operator,
    ):
        asyncio.run(_finish(cluster, namespace, jobs))
        wait_idle(operator, deadline=300)
        restarted = audit_log.now()
        operator.restart()
        wait_idle(operator, deadline=300)
        cpu, rested = operator.cpu_seconds(), audit_log.now()
        time.sleep(minutes * 60)
        operator.insist()
        return {
            "benchmark": "idle",
            "finished jobs": jobs,
            "minutes": minutes,
            "writes at restart": _writes(cluster, restarted) - _writes(cluster, rested),
            "writes": _writes(cluster, rested),
            "cores": round((operator.cpu_seconds() - cpu) / (minutes * 60), 4),
        }


def main() -> int:
    """Measure, and print one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000 if FULL else 100)
    parser.add_argument("--minutes", type=float, default=10 if FULL else 0.5)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    chosen = parser.parse_args()
    with stage() as cluster:
        figures = measure(cluster, chosen.jobs, chosen.minutes)
    if chosen.write:
        head, row = list(figures)[1:], list(figures.values())[1:]
        report.write("idle", "python -m benchmarks.idle --write", report.table(head, [row]))
    print(json.dumps(figures))
    return 0


async def _finish(cluster: Cluster, namespace: str, jobs: int) -> None:
    """Jobs whose only pod succeeds as soon as it exists."""
    wanted = [objects.job(number, 1) for number in range(jobs)]
    succeeding = asyncio.create_task(_succeed(cluster, namespace))
    try:
        await bring_up(cluster, namespace, wanted, _succeeded, 60 + jobs / SLOWEST)
    finally:
        succeeding.cancel()


async def _succeed(cluster: Cluster, namespace: str) -> None:
    """Play the kubelet of every pod that appears."""
    path = objects.pods_path(namespace)
    ended = {"exitCode": 0, "reason": "Completed"}
    container = {"name": objects.CONTAINER, "image": "none", "imageID": "", "ready": False, "restartCount": 0}
    status = {"phase": "Succeeded", "containerStatuses": [{**container, "state": {"terminated": ended}}]}
    async with (
        connect(cluster) as connection,
        connect(cluster, connections=1) as observing,
        asyncio.TaskGroup() as patching,
    ):
        async for event in watched(observing, path, await version(observing, path), metadata_only=True):
            if event.type == "ADDED":
                target = f"{path}/{event.object.metadata.name}/status"
                patching.create_task(connection.patch(target, {"status": status}, kind=STRATEGIC_PATCH))


def _succeeded(status: Object) -> bool:
    return bool(status.get("state") == "Succeeded")


def _writes(cluster: Cluster, since: datetime.datetime) -> int:
    return len(audit_log.writes(cluster, USER, since))


if __name__ == "__main__":
    sys.exit(main())
