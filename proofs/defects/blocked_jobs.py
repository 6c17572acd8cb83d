"""Many jobs that cannot be made beside healthy ones: `python -m proofs.defects.blocked_jobs`.

A Service of somebody else has the name of each blocked job's own. The API server's audit log tells how often their
creations were tried; healthy jobs are timed without and beside them. Pods run on simulated nodes.
"""

import asyncio
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import objects
from benchmarks.api_connection import connect, in_flight
from benchmarks.environment import FULL, fresh_namespace, say, stage, wait_idle
from benchmarks.objects import Object
from benchmarks.ramp import bring_up
from benchmarks.scale import PODS_OF_A_NODE
from harness.drivers import audit_log
from harness.drivers.operator_process import USER, Operator
from proofs.defects.alternation import DEADLINE, PODS, Turns, healthy, timed
from testbed.cluster import Cluster

BLOCKED, HEALTHY, TURNS = (1000, 500, 2) if FULL else (40, 40, 1)
# Seconds after which the pauses between attempts are as long as they get, and of two such pauses.
SETTLED, WINDOW = (130.0, 130.0) if FULL else (30.0, 10.0)


def measure(cluster: Cluster) -> dict[str, float]:
    """Healthy jobs without, with, and without blocked ones; in the middle, attempts are counted."""
    jobs, turns = healthy(HEALTHY), Turns()
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-blocked-") as directory,
        Operator(cluster, directory=Path(directory)) as operator,
    ):
        timed(cluster, jobs[: HEALTHY // 2])  # code that runs for the first time is slower
        turns.alone += [timed(cluster, jobs) for _ in range(TURNS)]
        wait_idle(operator)
        with _blocked(cluster) as (namespace, since):
            turns.beside += [timed(cluster, jobs) for _ in range(TURNS)]
            time.sleep(max(0.0, since + SETTLED - time.monotonic()))
            refused = _refused(cluster, namespace)
            turns.beside += [timed(cluster, jobs) for _ in range(TURNS)]
        wait_idle(operator)
        turns.alone += [timed(cluster, jobs) for _ in range(TURNS)]
        operator.insist()
    return {
        "blocked": BLOCKED,
        "healthy": HEALTHY,
        **turns.figures(),
        "window s": WINDOW,
        "refused calls in the window": refused,
        "refused calls per job and minute": round(refused / BLOCKED / (WINDOW / 60), 2),
    }


@contextmanager
def _blocked(cluster: Cluster) -> Iterator[tuple[str, float]]:
    """A namespace with jobs that all say that they are blocked, and when they said so; afterwards it is gone."""
    with fresh_namespace(cluster) as namespace:
        asyncio.run(_occupy(cluster, namespace))
        jobs = [objects.job(number, 1) for number in range(BLOCKED)]
        asyncio.run(bring_up(cluster, namespace, jobs, _is_blocked, DEADLINE))
        say(f"  {BLOCKED} jobs are blocked")
        yield namespace, time.monotonic()


async def _occupy(cluster: Cluster, namespace: str) -> None:
    """Somebody has Services of these names."""
    async with connect(cluster) as connection:
        bodies = [
            {"metadata": {"name": objects.name(number)}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}}
            for number in range(BLOCKED)
        ]
        await in_flight(bodies, lambda body: connection.create(objects.services_path(namespace), body))


def _refused(cluster: Cluster, namespace: str) -> int:
    """Calls that the operator makes for blocked jobs in the window, and that are refused."""
    since = audit_log.now()
    time.sleep(WINDOW)
    return sum(one.namespace == namespace and one.code >= 400 for one in audit_log.writes(cluster, USER, since))


def _is_blocked(status: Object) -> bool:
    return any(one["type"] == "Blocked" and one["status"] == "True" for one in status.get("conditions") or ())


def main() -> int:
    """Measure, and print one JSON line."""
    with stage(kwok=math.ceil(HEALTHY * PODS / PODS_OF_A_NODE)) as cluster:
        print(json.dumps(measure(cluster)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
