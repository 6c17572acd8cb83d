"""What happens to a node, happens: lost links, lost power, lost machines, dead daemons."""

import pytest

from testbed import processes
from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.faults import Faults
from testbed.waiting import until
from tests.builders import pod
from tests.e2e.workspace import Workspace

pytestmark = pytest.mark.disruptive


def test_a_cut_node_is_noticed_and_its_pods_are_marked(workspace: Workspace, faults: Faults, base_image: str) -> None:
    """NotReady within seconds, and DisruptionTarget on its pod: what the repair of jobs will read."""
    workspace.start(pod("victim", base_image).on("node2").leaving_after(1).running("sleep", "600"))
    workspace.running("victim")
    with faults.cut_off(2):
        until("node2 to be NotReady", lambda: not is_true(_node(workspace.cluster, "node2"), "Ready"), deadline=180)
        until("DisruptionTarget on the pod", lambda: is_true(workspace.pod("victim"), "DisruptionTarget"), deadline=180)
    _wait_whole(workspace.cluster)


def test_a_power_cut_ends_pods_and_the_node_comes_back(workspace: Workspace, faults: Faults, base_image: str) -> None:
    """Everything of a node dies at once; after it boots a pod that may restart does."""
    survivor = pod("survivor", base_image).on("node2").running("sleep", "600")
    workspace.create("pods", _always_restarted(survivor.build()))
    workspace.running("survivor")
    with faults.powered_off(2):
        until("node2 to be NotReady", lambda: not is_true(_node(workspace.cluster, "node2"), "Ready"), deadline=180)
    _wait_whole(workspace.cluster)
    until("the container to run again", lambda: _restarts(workspace.pod("survivor")) >= 1, deadline=180)


def test_a_lost_node_is_replaced_by_an_empty_one(workspace: Workspace, faults: Faults, base_image: str) -> None:
    """Its processes and its Node object go, and a new machine under the same name takes work."""
    before = _node(workspace.cluster, "node2")["metadata"]["uid"]
    faults.lose_node(2)
    assert not processes.find(workspace.cluster.instance.index, "node2")
    assert not workspace.cluster.api.exists("/api/v1/nodes/node2")
    faults.replace_node(2)
    assert _node(workspace.cluster, "node2")["metadata"]["uid"] != before
    workspace.start(pod("new", base_image).on("node2").running("true"))
    workspace.succeeded("new")


@pytest.mark.parametrize("component", ["coredns", "registry"])
def test_services_beside_the_nodes_come_back(
    workspace: Workspace, faults: Faults, base_image: str, component: str
) -> None:
    """A dead registry loses no image, a dead DNS no name."""
    before = processes.one(workspace.cluster.instance.index, component).pid
    faults.restart(component)
    assert processes.one(workspace.cluster.instance.index, component).pid != before
    workspace.start(pod("client", base_image).running("getent", "hosts", "kubernetes.default.svc.cluster.local"))
    workspace.succeeded("client")
    assert workspace.cluster.image("base") == base_image


def test_pods_outlive_their_kubelet(workspace: Workspace, faults: Faults, base_image: str) -> None:
    """A kubelet that dies and returns finds its containers running."""
    workspace.start(pod("calm", base_image).on("node1").running("sleep", "600"))
    workspace.running("calm")
    faults.restart("node1/kubelet")
    until("exec after the restart", lambda: _echoes(workspace, "calm"), deadline=180)
    assert workspace.pod("calm")["status"]["containerStatuses"][0]["restartCount"] == 0


def _node(cluster: Cluster, name: str) -> Object:
    return cluster.api.get(f"/api/v1/nodes/{name}")


def _wait_whole(cluster: Cluster) -> None:
    cluster.parts.wait_ready(2, deadline=180)


def _echoes(workspace: Workspace, name: str) -> bool:
    """A kubelet answers before it has found its pods again, and then says that they do not exist."""
    try:
        return workspace.execute(name, "echo", "here") == "here\n"
    except TestbedError:
        return False


def _always_restarted(body: Object) -> Object:
    body["spec"]["restartPolicy"] = "Always"
    return body


def _restarts(body: Object) -> int:
    status = body["status"]["containerStatuses"][0]
    return int(status["restartCount"]) if "running" in status["state"] else 0
