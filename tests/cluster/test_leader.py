"""Leader election between real processes on a real API server.

This file is also the program that they run: `python -m tests.cluster.test_leader <kubeconfig> <namespace> <name>` takes
part in the election and, while it leads, writes as fast as it can into an object of its own.
"""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import pytest

from harness.drivers.operator_process import Operator
from harness.drivers.process import Process
from kubedl.kube import credentials
from kubedl.kube.client import Client
from kubedl.kube.types.core import LEASES, Lease
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime import lease_timer
from kubedl.runtime.leader_election import LeaderElector, Timing
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until

ROOT = Path(__file__).parents[2]
# A leader that cannot renew in time rightly ends, and here nobody starts it again: an API server of two busy cores may
# be silent for some seconds.
TIMING = Timing(duration=20, renew_deadline=15, retry=1)
WRITERS = 8
# Whatever has metadata will do to read one.
CONFIG_MAPS = Resource(Lease, "ConfigMap", "configmaps")


class Candidates:
    """Processes that take part in one election."""

    def __init__(self, cluster: Cluster, namespace: str, logs: Path) -> None:
        self._cluster, self._namespace, self._logs = cluster, namespace, logs

    def process(self, name: str) -> Process:
        command = [sys.executable, "-m", "tests.cluster.test_leader"]
        command += [str(self._cluster.kubeconfig), self._namespace, name]
        return Process(command, self._logs / f"{name}.log", {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, ROOT)

    def written(self, name: str) -> Object:
        """What a candidate has written; empty until it led."""
        path = f"/api/v1/namespaces/{self._namespace}/configmaps"
        return self._cluster.api.get(f"{path}/{name}") if self._cluster.api.exists(f"{path}/{name}") else {}

    def wait_writing(self, name: str) -> None:
        """Wait until a candidate leads and writes."""
        until(f"{name} to write", lambda: len(self.written(name).get("data", {})) == WRITERS, deadline=60)

    def lease(self) -> Object:
        """What the lease says."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases/election"
        spec: Object = self._cluster.api.get(path)["spec"]
        return spec


@pytest.fixture
def candidates(cluster: Cluster, namespace: str, tmp_path: Path) -> Candidates:
    return Candidates(cluster, namespace, tmp_path)


def test_a_frozen_leader_exits_before_it_writes_again(candidates: Candidates) -> None:
    """It wakes up in the middle of its work, believing to lead, while another one does."""
    with candidates.process("one") as one:
        candidates.wait_writing("one")
        with candidates.process("two"):
            one.freeze()
            candidates.wait_writing("two")
            frozen = candidates.written("one")
            one.resume()
            assert one.wait_ended() == 1
            assert "not the leader any more, exiting" in one.log()
            assert candidates.written("one") == frozen
            first = int(candidates.written("two")["metadata"]["annotations"]["lease-version"])
            assert int(frozen["metadata"]["resourceVersion"]) < first


def test_a_leader_that_stops_hands_over(candidates: Candidates) -> None:
    """It gives the lease back: the next one need not wait for it to run out."""
    with candidates.process("one") as one:
        candidates.wait_writing("one")
        with candidates.process("two"):
            assert one.stop() == 0
            candidates.wait_writing("two")
    assert (candidates.lease()["leaseTransitions"], candidates.lease()["holderIdentity"]) == (1, "")


def test_the_operator_keeps_an_alarm(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """Not only the program above: the kernel's own table says that the signal is answered."""
    arguments = ["--namespace", namespace, "--lease-namespace", namespace]
    with Operator(cluster, leader_election=True, arguments=arguments, directory=tmp_path) as operator:
        status = Path(f"/proc/{operator.pid}/status").read_text().splitlines()
        (answered,) = (line.split()[1] for line in status if line.startswith("SigCgt:"))
        assert int(answered, 16) & 1 << signal.SIGALRM - 1


async def _program(kubeconfig: str, namespace: str, name: str) -> None:
    who = credentials.load(kubeconfig)
    election_client = Client(who)
    election = LeaderElector(election_client, ObjectKey(namespace, "election"), timing=TIMING)
    client = Client(who, before_write=election.check)

    async def write(number: int) -> None:
        count = 0
        while True:
            count += 1
            await client.patch(CONFIG_MAPS, ObjectKey(namespace, name), {"data": {f"writer-{number}": str(count)}})

    async def lead() -> None:
        lease = await client.get(LEASES, ObjectKey(namespace, "election"))
        annotations = {"lease-version": lease.metadata.resource_version}
        await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": name, "annotations": annotations}})
        async with asyncio.TaskGroup() as group:
            for number in range(WRITERS):
                group.create_task(write(number))

    running = asyncio.ensure_future(election.run(lead))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    with contextlib.suppress(asyncio.CancelledError), lease_timer.lease_timer(election.check):
        await running
    await client.close()
    await election_client.close()


if __name__ == "__main__":
    asyncio.run(_program(*sys.argv[1:]))
