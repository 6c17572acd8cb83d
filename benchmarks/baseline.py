"""Straight-line scripts, each a process of its own: no watch, no queue, no cache, nothing but writes.

`pods`: POST pods and nothing else; no operator can be faster.
`bare`: for each job the least writes that a controller must make: the job itself (which a user makes
when an operator runs), its Service, its pods, and one status patch.
`gang`: the same for jobs whose pods start together, with their PodGroup.

Prints one JSON line: when it began (the machine's monotonic clock), and its processor seconds.
"""

import argparse
import asyncio
import datetime
import json
import resource
import sys
import time

from benchmarks import objects
from benchmarks.api_connection import Connection, connect, in_flight
from testbed.cluster import Cluster
from testbed.instance import chosen_index


def main() -> int:
    """Write, and say what it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baseline", description=__doc__)
    parser.add_argument("what", choices=("pods", "bare", "gang"))
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True, help="of each job")
    chosen = parser.parse_args()
    run = {"pods": _pods_alone, "bare": _bare, "gang": _gang}[chosen.what]
    idle = resource.getrusage(resource.RUSAGE_SELF)
    began = time.monotonic()
    asyncio.run(run(chosen.namespace, chosen.jobs, chosen.pods))
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "began": began,
        "ended": time.monotonic(),
        "cpu seconds": (used.ru_utime + used.ru_stime) - (idle.ru_utime + idle.ru_stime),
        "idle rss": idle.ru_maxrss * 1024,
        "rss": used.ru_maxrss * 1024,
    }
    print(json.dumps(figures))
    return 0


async def _pods_alone(namespace: str, jobs: int, pods: int) -> None:
    path = objects.pods_path(namespace)
    async with connect(Cluster(chosen_index())) as connection:

        async def one(number: int) -> None:
            await connection.create(path, objects.bare_pod(f"pod-{number}"))

        await in_flight(range(jobs * pods), one)


async def _bare(namespace: str, jobs: int, pods: int) -> None:
    async with connect(Cluster(chosen_index())) as connection:

        async def one(number: int) -> None:
            await _one_job(connection, namespace, number, pods)

        await in_flight(range(jobs), one)


async def _gang(namespace: str, jobs: int, pods: int) -> None:
    async with connect(Cluster(chosen_index())) as connection:

        async def one(number: int) -> None:
            await _one_gang(connection, namespace, number, pods)

        await in_flight(range(jobs), one)


async def _one_gang(connection: Connection, namespace: str, number: int, pods: int) -> None:
    job = await connection.create(objects.jobs_path(namespace), objects.gang_job(number, pods))
    await connection.create(objects.pod_groups_path(namespace), objects.pod_group(job, pods))
    await connection.create(objects.services_path(namespace), objects.service(job))
    for index in range(pods):
        await connection.create(objects.pods_path(namespace), objects.gang_pod(job, index, pods))
    await _patch_status(connection, namespace, number, pods)


async def _one_job(connection: Connection, namespace: str, number: int, pods: int) -> None:
    job = await connection.create(objects.jobs_path(namespace), objects.job(number, pods))
    await connection.create(objects.services_path(namespace), objects.service(job))
    for index in range(pods):
        await connection.create(objects.pods_path(namespace), objects.pod(job, index, pods))
    await _patch_status(connection, namespace, number, pods)


async def _patch_status(connection: Connection, namespace: str, number: int, pods: int) -> None:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = f"{objects.jobs_path(namespace)}/{objects.name(number)}/status"
    await connection.patch(path, objects.status(pods, now))


if __name__ == "__main__":
    sys.exit(main())
