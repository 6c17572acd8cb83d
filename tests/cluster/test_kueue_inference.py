"""Inferences in a queue of a real Kueue: its own integration admits their pods one by one."""

from collections.abc import Iterator

import pytest

from harness.drivers import team_queue
from harness.drivers.operator_process import Operator
from harness.drivers.team_queue import API, QUEUE, QUEUE_LABEL, RESOURCE
from testbed import namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.kueue import INTERCEPTED
from testbed.waiting import until
from tests.cluster.queued_jobs import NODES, TOLERATIONS

SERVING = "/apis/serving.kubedl.io/v1alpha1"


@pytest.fixture
def place(cluster: Cluster) -> Iterator[str]:
    """A namespace with a queue for two pods, in which Kueue is asked about every pod."""
    cluster.up(kwok=NODES, keep=False)
    cluster.add_kueue()
    with namespaces.fresh(cluster.api, "queued", {INTERCEPTED: "true"}) as namespace:
        team_queue.publish(cluster.api, namespace, 2, team_queue.RESOURCE, {"type": "kwok"})
        with Operator(cluster, arguments=("--namespace", namespace)):
            yield namespace


def test_servers_wait_for_quota_like_jobs(cluster: Cluster, place: str) -> None:
    container = {"name": "server", "image": "none", "resources": {"requests": {RESOURCE: "1"}}}
    template = {"spec": {"containers": [container], "tolerations": TOLERATIONS}}
    body = {
        "apiVersion": "serving.kubedl.io/v1alpha1",
        "kind": "Inference",
        "metadata": {"name": "queued", "labels": {QUEUE_LABEL: QUEUE}},
        "spec": {"framework": "TFServing", "predictors": [{"name": "main", "replicas": 3, "template": template}]},
    }
    cluster.api.create(f"{SERVING}/namespaces/{place}/inferences", body)

    def pods() -> list[Object]:
        return cluster.api.list(f"/api/v1/namespaces/{place}/pods")

    def ready() -> int:
        found = (pod["status"].get("conditions") or () for pod in pods())
        return sum(
            any(one["type"] == "Ready" and one["status"] == "True" for one in conditions) for conditions in found
        )

    until("two servers to be ready", lambda: ready() == 2, deadline=120)
    workloads = f"{API}/namespaces/{place}/workloads"
    until("the third to be queued", lambda: len(cluster.api.list(workloads)) == 3, deadline=90)
    gated = [pod for pod in pods() if pod["spec"].get("schedulingGates")]
    assert len(gated) == 1
    cluster.kubectl(
        "patch", "clusterqueue", place, "--type=json", "-p",
        '[{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "3"}]',
    )  # fmt: skip
    until("the third to be ready", lambda: ready() == 3, deadline=90)
