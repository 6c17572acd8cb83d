"""Jobs on the host network, placed by a real scheduler on simulated nodes: no two pods with one port on a node."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from harness.drivers.environment import times
from harness.drivers.operator_process import Operator
from testbed import namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import NODES, PODS, SlotJobs

Record = Callable[[str, object], None]
RESTARTED_EVERY = 3  # rounds


class HostJobs(SlotJobs):
    """Masters with three workers each."""

    def ports(self) -> dict[str, int]:
        """The host ports of all pods, as their specs declare them."""
        return {pod["metadata"]["name"]: _declared(pod) for pod in self.pods()}

    def on_nodes(self) -> list[tuple[str, int]]:
        """Node and port of each pod that has been placed."""
        return [(pod["spec"]["nodeName"], _declared(pod)) for pod in self.pods() if pod["spec"].get("nodeName")]

    def leads(self) -> dict[str, int]:
        """Where the Services of replicas lead to, by name."""
        found = self.cluster.api.list(f"/api/v1/namespaces/{self.namespace}/services")
        ports = {
            one["metadata"]["name"]: one["spec"]["ports"][0] for one in found if one["spec"]["clusterIP"] != "None"
        }
        assert {port["port"] for port in ports.values()} <= {23456}
        return {name: port["targetPort"] for name, port in ports.items()}

    def are_placed(self, *names: str) -> bool:
        return all(self.placed()[name] == PODS for name in names)

    def are_found(self) -> bool:
        """Whether all Services lead to pods."""
        return self.ports().items() <= self.leads().items()


def _declared(pod: Object) -> int:
    (port,) = pod["spec"]["containers"][0]["ports"]
    assert (port["hostPort"], pod["spec"]["hostNetwork"]) == (port["containerPort"], True)
    found: int = port["hostPort"]
    return found


@pytest.fixture
def jobs(control_plane: Cluster, namespace: str) -> Iterator[HostJobs]:
    """With room for many."""
    control_plane.up(kwok=NODES, keep=False)
    made = HostJobs(control_plane, namespace)
    made.offer(5 * PODS)
    yield made
    made.offer(None)


def test_jobs_share_nodes_and_no_port(jobs: HostJobs, record_property: Record) -> None:
    """Two jobs begin while two others run, and the operator is killed in the middle of some of that."""
    rounds, allocations, kills = times(2, 63), 0, 0
    with Operator(jobs.cluster, arguments=("--namespace", jobs.namespace)) as operator:
        for number in range(rounds):
            names = f"a{number}", f"b{number}"
            for name in names:
                jobs.create(name, networkMode="Host")
            if number % RESTARTED_EVERY == 1:
                operator.kill()
                operator.restart()
                kills += 1
            until("all pods on nodes", partial(jobs.are_placed, *names), deadline=120)
            found = jobs.on_nodes()
            assert len(found) == len(set(found))
            assert len({port for _, port in found}) == len(found)  # nor on different nodes, while there are others
            until("Services that lead to the pods", jobs.are_found, deadline=90)
            allocations += 2 * PODS
            if number:
                for name in (f"a{number - 1}", f"b{number - 1}"):
                    jobs.delete(name)
    record_property("allocations", allocations)
    record_property("restarts", kills)


def test_pods_with_one_port_are_kept_apart_by_the_scheduler(jobs: HostJobs) -> None:
    """Whoever chose it: each node has one of them, the others wait, and the job says for what."""
    with Operator(jobs.cluster, arguments=("--namespace", jobs.namespace, "--hostnetwork-port-range", "20000-20000")):
        jobs.create("tight", schedulingPolicy={"gangScheduler": "none"}, networkMode="Host")
        until("a pod of the job on a node", lambda: jobs.placed()["tight"] >= 1, deadline=90)
        # The workers wait for their master to be Running, as always.
        until("both nodes to have one", lambda: jobs.placed()["tight"] == NODES, deadline=120)
        until("the reason", lambda: jobs.says("tight", "free ports for the requested pod ports"), deadline=120)
        assert {port for _, port in jobs.on_nodes()} == {20_000}
        assert len(set(jobs.on_nodes())) == NODES


def test_pod_security_refuses_the_host_network(cluster: Cluster) -> None:
    """The operator's rights are not its tenants': the namespace decides, and its words reach the job."""
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    with (
        namespaces.fresh(cluster.api, "baseline", labels) as namespace,
        Operator(cluster, arguments=("--namespace", namespace)),
    ):
        jobs = HostJobs(cluster, namespace)
        jobs.create("refused", networkMode="Host")
        until("the refusal", lambda: jobs.says("refused", "host namespaces (hostNetwork=true)"), deadline=90)
        assert jobs.pods() == []
