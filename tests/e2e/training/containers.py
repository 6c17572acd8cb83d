"""Signals to a container's process from the node's side: SIGKILL as the kernel would, SIGSTOP as nobody should."""

import os
import signal
from pathlib import Path

from testbed import cgroups
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.errors import TestbedError


def kill(cluster: Cluster, pod: Object) -> None:
    """The exit code of the pod's only container is 137."""
    send(cluster, pod, signal.SIGKILL)


def send(cluster: Cluster, pod: Object, number: signal.Signals) -> None:
    """A signal to the first process of the pod's only container."""
    container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    place = cluster.instance.node(int(pod["spec"]["nodeName"].removeprefix("node")))
    for pid in cgroups.members(place.cgroup):
        try:
            descriptor = os.pidfd_open(pid)  # before looking: the signal goes to what was looked at
        except ProcessLookupError:
            continue
        try:
            if _is_first_of(pid, container):
                signal.pidfd_send_signal(descriptor, number)
                return
        finally:
            os.close(descriptor)
    raise TestbedError(f"no process of pod {pod['metadata']['name']} runs on {place.name}")


def _is_first_of(pid: int, container: str) -> bool:
    """Whether the process is number 1 within this container; kubelet names the cgroup for the container."""
    try:
        groups, status = Path(f"/proc/{pid}/cgroup").read_text(), Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it ended
        return False
    numbers = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()
    return container in groups and numbers[-1] == "1" and len(numbers) > 2
