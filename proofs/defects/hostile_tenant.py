"""Jobs that mean harm beside honest ones: `python -m proofs.defects.hostile_tenant`.

From a namespace of its own come annotations of 256 KiB, thousands of replicas, templates nested thousands deep, git
addresses of every shape, pods with the uid of honest jobs, and pods whose labels are taken off. What the API server
refuses has done no harm. Honest jobs are timed alone and beside them. Pods run on simulated nodes.
"""

import asyncio
import json
import math
import random
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks import objects
from benchmarks.connection import Connection, connect, in_flight
from benchmarks.creation import MEGABYTE
from benchmarks.objects import Object
from benchmarks.scale import PODS_OF_A_NODE, Size, scaled_job
from benchmarks.stage import FULL, stage, wait_idle
from harness.operator import Operator
from proofs.defects.blocked_jobs import PODS, timed
from testbed import namespaces
from testbed.cluster import Cluster
from testbed.errors import TestbedError

HOSTILE, HONEST = (200, 200) if FULL else (24, 24)
LONGEST = 262_000 - 600  # characters of annotations that the API server takes
GIT = "kubedl.io/git-sync-config"
SHAPES = (":", "://", "a@", "/a", "[", "-a", "a.", "@:", "http://", "ext::", "%00", "é")


def hostile(number: int, dice: random.Random, size: Size) -> Object:
    """One of the kinds of harm, in turn."""
    job = scaled_job(number, size)
    worker: Object = job["spec"]["tfReplicaSpecs"][objects.ROLE]
    shape = dice.choice(SHAPES)
    address = f"x://{shape * (LONGEST // len(shape.encode()) - 20)}"
    match number % 6:
        case 0:
            job["metadata"]["annotations"] = {GIT: json.dumps({"source": address}, ensure_ascii=False)}
        case 1:
            worker["replicas"] = 10_000
        case 2:
            nested: Any = "x"
            for _ in range(5000):
                nested = {"a": nested}
            worker["template"]["spec"]["containers"][0]["x"] = nested
        case 3:
            short = "".join(dice.choices(SHAPES, k=dice.randrange(1, 40)))
            job["metadata"]["annotations"] = {GIT: json.dumps({"source": f"ssh://{short}", "branch": short})}
        case 4:
            job["metadata"]["annotations"] = {"kubedl.io/tensorboard-config": json.dumps({"logDir": "/" * 250_000})}
        case _:
            worker["replicas"] = 20  # whose labels are taken off
    return job


async def _attack(cluster: Cluster, namespace: str, honest: str, size: Size) -> int:
    """Returns how many of the objects the API server took."""
    dice, taken = random.Random(1), 0  # noqa: S311 - no secret

    async with connect(cluster) as connection:

        async def create(number: int) -> None:
            nonlocal taken
            with suppress(TestbedError):  # refused
                await connection.create(objects.jobs_path(namespace), hostile(number, dice, size))
                taken += 1

        await in_flight(range(HOSTILE), create, 8)
        for job in (await connection.get(objects.jobs_path(honest)))["items"]:
            with suppress(TestbedError):
                await connection.create(objects.pods_path(namespace), objects.pod(_moved(job, namespace), 0, 1))
                taken += 1
        await _unlabel(connection, namespace)
    return taken


def _moved(job: Object, namespace: str) -> Object:
    return {**job, "metadata": {**job["metadata"], "namespace": namespace}}


async def _unlabel(connection: Connection, namespace: str) -> None:
    path, label = objects.pods_path(namespace), f"{objects.GROUP}/job-name"
    found = (await connection.get(path, labelSelector=label, limit="50"))["items"]
    bare = {"metadata": {"labels": {label: None}}}
    for pod in found:
        with suppress(TestbedError):
            await connection.patch(f"{path}/{pod['metadata']['name']}", bare)


def measure(cluster: Cluster) -> Object:
    """Honest jobs alone, then the attack, then honest jobs beside it."""
    size = Size(HONEST, PODS, 0, 0, 0)
    jobs = [scaled_job(number, size) for number in range(HONEST)]
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-hostile-") as directory,
        namespaces.fresh(cluster.api, "alone") as alone,
        namespaces.fresh(cluster.api, "evil") as evil,
        namespaces.fresh(cluster.api, "beside") as beside,
        Operator(cluster, directory=Path(directory)) as operator,
    ):
        before = timed(cluster, alone, jobs)
        wait_idle(operator)
        idle = operator.rss_bytes()
        began = time.monotonic()
        taken = asyncio.run(_attack(cluster, evil, alone, size))
        attacked = time.monotonic() - began
        after = timed(cluster, beside, jobs)
        asyncio.run(_attack(cluster, evil, beside, size))
        operator.insist()
        grown = (operator.peak_rss_bytes() - idle) / MEGABYTE
    return {
        "hostile objects taken": taken,
        "attack s": round(attacked, 1),
        "honest": HONEST,
        "alone s": round(before, 1),
        "beside s": round(after, 1),
        "beside : alone": round(after / before, 2),
        "grown MB": round(grown),
        "ended": 0,  # or `insist` had raised
    }


def main() -> int:
    """Measure, and print one JSON line."""
    sys.setrecursionlimit(50_000)  # of this process, which must be able to write what it nests
    with stage(kwok=1 + math.ceil(2 * HONEST * PODS / PODS_OF_A_NODE)) as cluster:
        print(json.dumps(measure(cluster)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
