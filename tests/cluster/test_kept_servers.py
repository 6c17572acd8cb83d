"""On a real API server: another operator leaves the pods of model servers as they are."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.drivers.environment import Stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.fakes.serving import PlayedInference
from harness.scenarios.driver import ScenarioDriver
from harness.scenarios.inference import OTHER, built, settled
from kubedl.serving.naming import APPLIED
from kubedl.serving.workload.deployment import ASKED
from testbed import namespaces
from testbed.api import Object
from testbed.cluster import Cluster

DEPLOYMENT = "hello-main"


@contextmanager
def operated(stage: Stage, namespace: str, image: str) -> Iterator[ScenarioDriver]:
    """A namespace that an operator with this image serves."""
    arguments = ("--no-leader-election", "--namespace", namespace, "--packer-image", image)
    with ProxiedOperator(stage, f"{namespace}-{image}", arguments) as operator:
        operator.start()
        yield ScenarioDriver(stage.watcher, namespace, stage.node, tend=operator.insist)


def test_another_operator_restarts_no_server(cluster: Cluster, ready_stage: Stage) -> None:
    """Neither what it made itself, nor what one made that left no digest; a new version gets the new loader."""
    place = "/apis/apps/v1/namespaces/{}/deployments/" + DEPLOYMENT
    with namespaces.fresh(cluster.api, "kept") as namespace:
        with operated(ready_stage, namespace, "packer-1") as world:
            built(world, "v1")
            built(world, "v2", OTHER)
            inference = PlayedInference(world)
            inference.create(inference.predictor("main", "v1", replicas=2), gateway=None)
            inference.until_ready(main=100)
            inference.until("both pods", lambda: inference.predictor_status("main").get("readyReplicas") == 2)
        server = ready_stage.watcher.connection
        before, pods = server.get(place.format(namespace)), uids(ready_stage, namespace)
        server.patch(place.format(namespace), {"metadata": {"annotations": {ASKED: None, APPLIED: "former"}}})
        with operated(ready_stage, namespace, "packer-2") as world:
            inference = PlayedInference(world)
            inference.until("to be taken over", lambda: ASKED in notes(server.get(place.format(namespace))))
            after = server.get(place.format(namespace))
            assert after["spec"] == before["spec"]
            assert loader_image(after) == "packer-1"
            inference.change(inference.predictor("main", "v1", replicas=3))
            inference.until("a third pod", lambda: inference.predictor_status("main").get("readyReplicas") == 3)
            grown = server.get(place.format(namespace))
            assert grown["spec"]["template"] == before["spec"]["template"]
            assert pods < uids(ready_stage, namespace)
        with operated(ready_stage, namespace, "packer-3") as world:
            inference = PlayedInference(world)
            inference.change(inference.predictor("main", "v1", replicas=2))
            inference.until("two pods", lambda: inference.predictor_status("main").get("readyReplicas") == 2)
            assert server.get(place.format(namespace))["spec"]["template"] == before["spec"]["template"]
            inference.change(inference.predictor("main", "v2", replicas=2))
            inference.until("v2 alone", lambda: settled(inference, "main", OTHER, 2))
            assert loader_image(server.get(place.format(namespace))) == "packer-3"


def uids(stage: Stage, namespace: str) -> set[str]:
    """Of the servers' pods."""
    return {pod["metadata"]["uid"] for pod in stage.watcher.all("servers", namespace).values()}


def notes(found: Object) -> Object:
    """Annotations."""
    given: Object = found["metadata"].get("annotations") or {}
    return given


def loader_image(found: Object) -> str:
    """Of the init container."""
    image: str = found["spec"]["template"]["spec"]["initContainers"][0]["image"]
    return image
