"""Many jobs, brought up no faster than the cluster follows.

A bounded number of jobs is on its way at any time. Without that bound a small control plane would be
choked by its own queue, and what is measured afterwards would be its recovery.
"""

import asyncio
from collections.abc import Callable, Sequence

from benchmarks import objects
from benchmarks.api_connection import connect, in_flight
from benchmarks.environment import say
from benchmarks.objects import Object
from benchmarks.observer import version, watched
from testbed.cluster import Cluster
from testbed.errors import DeadlineError

Arrived = Callable[[Object], bool]  # whether a job's status says that it is where it shall be
ON_THE_WAY = 100


async def bring_up(cluster: Cluster, namespace: str, jobs: Sequence[Object], arrived: Arrived, deadline: float) -> None:
    """Create the jobs and return when all have arrived."""
    path, room, there = objects.jobs_path(namespace), asyncio.Semaphore(ON_THE_WAY), set[str]()

    async with connect(cluster) as connection, connect(cluster, connections=1) as observing:

        async def create(job: Object) -> None:
            await room.acquire()
            await connection.create(path, job)

        async def observe(since: str) -> None:
            async for event in watched(observing, path, since):
                name = event.object.metadata.name
                if name not in there and arrived(event.object.status):
                    there.add(name)
                    room.release()
                    if len(there) % 1000 == 0:
                        say(f"  {len(there):,} of {len(jobs):,} jobs have arrived")
                    if len(there) == len(jobs):
                        return

        try:
            async with asyncio.timeout(deadline), asyncio.TaskGroup() as group:
                group.create_task(observe(await version(observing, path)))
                await in_flight(jobs, create)
        except TimeoutError as error:
            raise DeadlineError(f"waited {deadline:g} s; {len(there)} of {len(jobs)} jobs have arrived") from error
