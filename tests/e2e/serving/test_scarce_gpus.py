"""Every GPU of the cluster is in use while a version is rolled out."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.e2e.serving.inferences import ObservedInference, answering
from tests.e2e.serving.versions import versions
from tests.e2e.workspace import Workspace

GPU = "nvidia.com/gpu"
RATE = 20.0
Record = Callable[[str, object], None]


@pytest.fixture
def one_gpu_each(two_nodes: Cluster) -> Iterator[None]:
    """Both nodes offer one GPU. Without a device plugin the kubelet keeps what is written into its node's status."""
    names = [node["metadata"]["name"] for node in two_nodes.api.list("/api/v1/nodes")]
    for name in names:
        offer(two_nodes, name, "1")
    yield
    for name in names:
        offer(two_nodes, name, None)


def offer(cluster: Cluster, node: str, number: str | None) -> None:
    """So many GPUs on a node; None: the node has no such resource."""
    status = {"status": {"capacity": {GPU: number}, "allocatable": {GPU: number}}}
    cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p", json.dumps(status))
    place = f"/api/v1/nodes/{node}"
    until(f"{node} to offer {number}", lambda: offered(cluster.api.get(place)) == number, deadline=30)


def offered(node: Object) -> str | None:
    found: str | None = node["status"]["allocatable"].get(GPU)
    return found


def on_a_gpu(image: str) -> Object:
    """A predictor whose pod needs a GPU of its own."""
    predictor = answering("a", image, modelVersion="v1", replicas=1)
    container = predictor["template"]["spec"]["containers"][0]
    container["env"] = []
    container["resources"]["limits"] = {GPU: "1"}
    return predictor


def go_over(spec: Object) -> None:
    spec["predictors"][0]["modelVersion"] = "v2"


@pytest.mark.usefixtures("one_gpu_each")
def test_a_promotion_ends_without_a_free_gpu(
    inference: ObservedInference, serving: Workspace, base_image: str, tmp_path: Path, record_property: Record
) -> None:
    """The new version has the last one, and answers alone while the pod of the old version makes room.

    Requests that fail are counted only: the one pod of the old version goes before the gateway has followed.
    """
    with versions(serving, tmp_path) as made:
        for name in ("v1", "v2"):
            made.behaving(name)
        inference.create(on_a_gpu(base_image), rollout={"steps": [{"weight": 50}]})
        inference.ready()
        inference.change(go_over)
        inference.wait("v2 to be tried", lambda: inference.route() == {"hello-a": 50, "hello-a-next": 50})
        assert sum(taken(pod) for pod in inference.pods("a")) == 2, inference.seen()
        with inference.load(RATE) as load:
            inference.say("promote")
            inference.wait("to be promoted", lambda: reason(inference) == "Promoted")
            report = load.finish()
        assert inference.predictor("a")["modelVersion"] == "v2", inference.seen()
    record_property("requests", report.sent)
    record_property("failed", len(report.failed))


def reason(inference: ObservedInference) -> str:
    """What the status says of the rollout, if anything."""
    found: Object = inference.predictor("a").get("rollout") or {}
    return str(found.get("reason", ""))


def taken(pod: Object) -> int:
    """How many GPUs a pod has on its node."""
    containers = pod["spec"]["containers"] if pod["spec"].get("nodeName") else []
    return sum(int(one["resources"].get("limits", {}).get(GPU, 0)) for one in containers)
