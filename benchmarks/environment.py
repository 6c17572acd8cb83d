"""Where a measurement takes place: a cluster that nobody else disturbs, and a namespace that leaves nothing behind."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from harness.drivers.process import Process
from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

IDLE = 0.03  # cores that a controller uses when it has nothing to do
FULL = os.environ.get("PROOF_SIZE", "full") == "full"  # CI measures the same at a small size


@contextmanager
def stage(kwok: int = 0) -> Iterator[Cluster]:
    """The chosen instance's cluster, for this measurement alone."""
    with cluster_lock.borrowed(Cluster(chosen_index(), report=say), kwok=kwok) as cluster:
        namespaces.remove_abandoned(cluster.api)
        with cluster_lock.turn(cluster, alone=True):
            yield cluster


@contextmanager
def fresh_namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace that is gone, with all that was in it, before the next measurement begins."""
    with namespaces.fresh(cluster.api, "bench") as namespace:
        yield namespace
    path = f"/api/v1/namespaces/{namespace}"
    until("the namespace to be gone", lambda: not cluster.api.exists(path), deadline=1800, interval=1)


def wait_idle(process: Process, deadline: float = 120) -> None:
    """Wait until a controller has nothing left to do."""

    def rests() -> bool:
        process.insist()
        before, began = process.cpu_seconds(), time.monotonic()
        time.sleep(1)
        return (process.cpu_seconds() - before) / (time.monotonic() - began) < IDLE

    until(f"{process.name} to rest", rests, deadline=deadline, interval=0)


def say(line: str) -> None:
    """To whoever watches; results alone go to standard output."""
    print(line, file=sys.stderr, flush=True)
