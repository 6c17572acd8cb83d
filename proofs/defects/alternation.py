"""Healthy jobs timed without and with others beside them, in one run, so that the machine is the same for both.

The order is without, with, with, without, twice: what drifts in a run is on both sides alike. At the small
size it is without and with, once, and nobody waits until namespaces are gone. Time that the host of a virtual machine
gives to others is not counted.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

from benchmarks import objects
from benchmarks.environment import FULL, fresh_namespace, say
from benchmarks.objects import Object
from benchmarks.ramp import bring_up
from benchmarks.scale import Size, scaled_job
from testbed import namespaces
from testbed.cluster import Cluster
from testbed.waiting import working_seconds

PODS = 2  # of each healthy job
DEADLINE = 600.0 if FULL else 60.0
ORDER = (False, True, True, False) * 2 if FULL else (False, True)  # whether others are beside them

Meanwhile = Callable[[str], Coroutine[Any, Any, None]]  # what goes on while jobs start in this namespace


@dataclass
class Turns:
    """Times, in seconds, until all healthy jobs run."""

    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Of all turns together."""
        return {
            "alone s": round(sum(self.alone) / len(self.alone), 1),
            "beside s": round(sum(self.beside) / len(self.beside), 1),
            "beside : alone": round(sum(self.beside) / sum(self.alone), 2),
            "fastest beside : fastest alone": round(min(self.beside) / min(self.alone), 2),
        }


def healthy(number: int) -> list[Object]:
    """So many jobs, which nothing keeps from running."""
    size = Size(number, PODS, 0, 0, 0)
    jobs = [scaled_job(one, size) for one in range(number)]
    for job in jobs:  # for half of that time, a namespace that is deleted waits before it looks at its pods again
        job["spec"]["tfReplicaSpecs"][objects.ROLE]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    return jobs


def a_namespace(cluster: Cluster) -> AbstractContextManager[str]:
    """For one turn; at full size it is gone before the next one begins."""
    return fresh_namespace(cluster) if FULL else namespaces.fresh(cluster.api, "bench")


async def nothing(_: str) -> None:
    """Nobody does anything meanwhile."""


def timed(cluster: Cluster, jobs: list[Object], meanwhile: Meanwhile = nothing) -> float:
    """Seconds until all of these jobs run, in a namespace that is gone afterwards."""
    with a_namespace(cluster) as namespace:
        began = working_seconds()
        asyncio.run(_together(bring_up(cluster, namespace, jobs, _is_ready, DEADLINE), meanwhile(namespace)))
        taken = working_seconds() - began
    say(f"  {len(jobs)} healthy jobs run after {taken:.1f} s")
    return taken


def alternating(
    cluster: Cluster,
    jobs: list[Object],
    others: Callable[[], AbstractContextManager[Meanwhile]],
    rested: Callable[[], None],
) -> Turns:
    """Time the jobs; `others` makes those beside them and takes them away, `rested` waits until that is digested."""
    turns = Turns()
    for beside in ORDER:
        rested()
        if beside:
            with others() as meanwhile:
                turns.beside.append(timed(cluster, jobs, meanwhile))
        else:
            turns.alone.append(timed(cluster, jobs))
    return turns


async def _together(work: Coroutine[Any, Any, None], meanwhile: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(meanwhile)
    try:
        await work
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _is_ready(status: Object) -> bool:
    replicas = (status.get("replicaStatuses") or {}).get(objects.ROLE) or {}
    return bool(replicas.get("ready") == PODS)
