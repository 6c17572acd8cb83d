"""Many jobs that cannot be made beside healthy ones: `python -m proofs.defects.blocked_jobs`.

A Service of somebody else has the name of each blocked job's own. The API server's audit log tells how often their
creations were tried; healthy jobs are timed alone and beside them. Pods run on simulated nodes.
"""

import asyncio
import json
import math
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import objects
from benchmarks.connection import connect, in_flight
from benchmarks.objects import Object
from benchmarks.ramp import bring_up
from benchmarks.scale import PODS_OF_A_NODE, Size, scaled_job
from benchmarks.stage import FULL, stage, wait_idle
from harness import audit
from harness.operator import USER, Operator
from testbed import namespaces
from testbed.cluster import Cluster

BLOCKED, HEALTHY, PODS = (1000, 500, 2) if FULL else (40, 40, 2)
FIRST_FIVE = 40.0  # seconds in which a blocked job makes its first five attempts
WINDOW = 180.0 if FULL else 10.0
DEADLINE = 600.0


def measure(cluster: Cluster) -> dict[str, float]:
    """Healthy jobs alone, then blocked ones, then healthy ones beside them."""
    size = Size(HEALTHY, PODS, 0, 0, 0)
    healthy = [scaled_job(number, size) for number in range(HEALTHY)]
    blocked = [objects.job(number, 1) for number in range(BLOCKED)]
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-blocked-") as directory,
        namespaces.fresh(cluster.api, "alone") as alone,
        namespaces.fresh(cluster.api, "blocked") as foreign,
        namespaces.fresh(cluster.api, "beside") as beside,
        Operator(cluster, directory=Path(directory)) as operator,
    ):
        before = timed(cluster, alone, healthy)
        wait_idle(operator)
        asyncio.run(_occupy(cluster, foreign))
        asyncio.run(bring_up(cluster, foreign, blocked, _is_blocked, DEADLINE))
        since = time.monotonic()
        after = timed(cluster, beside, healthy)
        time.sleep(max(0.0, FIRST_FIVE - (time.monotonic() - since)))
        began = audit.now()
        time.sleep(WINDOW)
        calls = [one for one in audit.writes(cluster, USER, began) if one.namespace == foreign and one.code >= 400]
        operator.insist()
    return {
        "blocked": BLOCKED,
        "healthy": HEALTHY,
        "alone s": round(before, 1),
        "beside s": round(after, 1),
        "beside : alone": round(after / before, 2),
        "refused calls in the window": len(calls),
        "refused calls per job and minute": round(len(calls) / BLOCKED / max(1.0, WINDOW / 60), 2),
    }


async def _occupy(cluster: Cluster, namespace: str) -> None:
    """Somebody has Services of these names."""
    async with connect(cluster) as connection:
        bodies = [
            {"metadata": {"name": objects.name(number)}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}}
            for number in range(BLOCKED)
        ]
        await in_flight(bodies, lambda body: connection.create(objects.services_path(namespace), body))


def timed(cluster: Cluster, namespace: str, jobs: list[Object]) -> float:
    """Seconds until all of these jobs run."""
    began = time.monotonic()
    asyncio.run(bring_up(cluster, namespace, jobs, _is_ready, DEADLINE))
    return time.monotonic() - began


def _is_ready(status: Object) -> bool:
    replicas = (status.get("replicaStatuses") or {}).get(objects.ROLE) or {}
    return bool(replicas.get("ready") == PODS)


def _is_blocked(status: Object) -> bool:
    return any(one["type"] == "Blocked" and one["status"] == "True" for one in status.get("conditions") or ())


def main() -> int:
    """Measure, and print one JSON line."""
    with stage(kwok=math.ceil(2 * HEALTHY * PODS / PODS_OF_A_NODE)) as cluster:
        print(json.dumps(measure(cluster)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
