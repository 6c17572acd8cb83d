"""What the control plane itself uses, and whether it rests: a measurement begins when the last one's echo is over."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.drivers.process import cpu_seconds
from testbed import processes
from testbed.cluster import Cluster
from testbed.faults import Faults
from testbed.waiting import until

RESTS = 0.15  # cores that etcd, API server, controller-manager and scheduler use when nothing happens
WINDOW = 2.0
MANAGER = "kube-controller-manager"


def used(cluster: Cluster) -> dict[str, float]:
    """Processor seconds of each component since it started."""
    ticks = os.sysconf("SC_CLK_TCK")
    running = processes.components(cluster.instance.index)
    return {name: cpu_seconds(Path(f"/proc/{part.pid}/stat").read_text(), ticks) for name, part in running.items()}


def wait_quiet(cluster: Cluster, deadline: float = 300) -> None:
    """Wait until the control plane has nothing left to do."""

    def rests() -> bool:
        before, began = sum(used(cluster).values()), time.monotonic()
        time.sleep(WINDOW)
        return (sum(used(cluster).values()) - before) / (time.monotonic() - began) < RESTS

    until("the control plane to rest", rests, deadline=deadline, interval=0)


@contextmanager
def as_it_is(cluster: Cluster) -> Iterator[None]:
    """The control plane as it is."""
    yield


@contextmanager
def hurrying(cluster: Cluster) -> Iterator[None]:
    """The controller-manager without its default limit of 20 calls a second for each of its controllers."""
    with restarted_with(cluster, MANAGER, "--kube-api-qps=1000", "--kube-api-burst=1000"):
        wait_quiet(cluster)
        yield


@contextmanager
def restarted_with(cluster: Cluster, component: str, *flags: str) -> Iterator[None]:
    """A component with more flags than the test bed gives it."""
    running = processes.one(cluster.instance.index, component)
    words = Path(f"/proc/{running.pid}/cmdline").read_text().rstrip("\0").split("\0")
    faults = Faults(cluster)
    faults.kill(component)
    try:
        log = cluster.instance.state / "log" / f"{component}.log"
        processes.start(cluster.instance.index, component, [*words, *flags], log)
        yield
    finally:
        faults.restart(component)
