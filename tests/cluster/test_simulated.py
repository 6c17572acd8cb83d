"""Simulated nodes: pods run on them without a container, and only if they ask for it."""

from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.builders import pod


def test_a_pod_runs_on_a_simulated_node(cluster: Cluster, namespace: str) -> None:
    """A running cluster grows by kwok's nodes, and the scheduler uses them."""
    cluster.up(kwok=2, keep=False)
    assert cluster.record.kwok >= 2
    path = f"/api/v1/namespaces/{namespace}/pods"
    wanted = pod("played", "none").on("kwok-1")
    cluster.api.create(path, wanted.tolerating("kwok.x-k8s.io/node").build())
    until("the pod to run", lambda: _read(cluster, path, "played")["status"].get("phase") == "Running", deadline=120)
    assert _read(cluster, path, "played")["spec"]["nodeName"] == "kwok-1"


def test_a_pod_that_must_really_run_is_kept_away(cluster: Cluster, namespace: str) -> None:
    """Without the toleration the scheduler refuses the node, although the pod names it."""
    cluster.up(kwok=2, keep=False)
    path = f"/api/v1/namespaces/{namespace}/pods"
    cluster.api.create(path, pod("real", "none").on("kwok-1").build())
    until("the scheduler's verdict", lambda: _refused(_read(cluster, path, "real")), deadline=120)


def _read(cluster: Cluster, path: str, name: str) -> Object:
    return cluster.api.get(f"{path}/{name}")


def _refused(body: Object) -> bool:
    conditions = body["status"].get("conditions", [])
    return not is_true(body, "PodScheduled") and any("untolerated taint" in c.get("message", "") for c in conditions)
