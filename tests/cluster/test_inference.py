"""Inferences on a real API server: what it refuses, what is made, and who owns which field of it."""

import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.drivers.environment import Stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.fakes.build import DIGEST
from harness.fakes.serving import SERVING, PlayedInference
from harness.scenarios.driver import ScenarioDriver
from harness.scenarios.inference import OTHER, built, settled
from kubedl.api.inference import INFERENCES
from kubedl.kube import codec
from kubedl.runtime.ownership import owner_reference
from kubedl.serving import routing
from kubedl.serving.routing import Backend, GatewayRef
from kubedl.serving.workload import autoscaling, deployment
from kubedl.serving.workload.deployment import PredictorWorkload
from kubedl.serving.workload.model_init_container import Model, Program
from testbed import namespaces
from testbed.api import ApiError, Object
from testbed.cluster import Cluster

COLLECTION = f"{SERVING}/namespaces/{{}}/inferences"
TRY = "dryRun=All&fieldValidation=Strict"
MANIFEST = Path(__file__).parents[1] / "manifests" / "inference.yaml"
CONTAINER = {
    "name": "server",
    "image": "none",
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
}
KEDA = {"kind": "ScaledObject"}
TRIGGER = {"type": "prometheus", "metadata": {"query": "up", "threshold": "1", "serverAddress": "http://p"}}


@pytest.fixture
def world(cluster: Cluster, ready_stage: Stage) -> Iterator[ScenarioDriver]:
    """A namespace that admits only what PodSecurity *restricted* allows, and that an operator serves."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    arguments = ("--no-leader-election", "--namespace")
    with (
        namespaces.fresh(cluster.api, "serving", labels) as namespace,
        ProxiedOperator(ready_stage, namespace, (*arguments, namespace)) as operator,
    ):
        operator.start()
        yield ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node, tend=operator.insist)


def body(called: str = "hello", *, framework: str = "MLServer", spec: Object | None = None, **predictor: Any) -> Object:  # noqa: ANN401
    """An Inference with one predictor, as its user writes it; what is None is left out."""
    whole = {"name": "main", "modelVersion": "v1", "template": {"spec": {"containers": [CONTAINER]}}, **predictor}
    given = {field: deepcopy(value) for field, value in whole.items() if value is not None}
    return {
        "apiVersion": INFERENCES.api_version,
        "kind": INFERENCES.kind,
        "metadata": {"name": called},
        "spec": {"framework": framework, "predictors": [given], **(spec or {})},
    }


def twice(**second: Any) -> Object:  # noqa: ANN401 - whatever a predictor has
    """Two predictors, of which the first gets nothing."""
    made = body(trafficWeight=0)
    made["spec"]["predictors"] += body(**{"name": "other", **second})["spec"]["predictors"]
    return made


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (body(framework="Torch"), 'Unsupported value: "Torch"'),
        (body("Hello"), "metadata.name"),
        (body("a.b"), "the name of an Inference is part of its URL"),
        (body("a" * 60), "at most 58 characters together"),
        (body(name=None), "predictors[0].name: Required value"),
        (body(name="main-next"), "predictors[0].name: Invalid value: the suffix -next is reserved"),
        (body(name="Main"), "predictors[0].name: Invalid value: lower-case letters"),
        (body(trafficWeight=101), "trafficWeight in body should be less than or equal to 100"),
        (body(trafficWeight=-1), "trafficWeight in body should be greater than or equal to 0"),
        (body(trafficWeight=0), "spec.predictors: Invalid value: at least one predictor"),
        (twice(trafficWeight=0), "spec.predictors: Invalid value: at least one predictor"),
        (twice(name="main"), "Duplicate value"),
        (body(template=None), "predictors[0].template: Required value"),
        (body(template={"spec": {"containers": []}}), "should have at least 1 items"),
        (body(modelPath="/"), "modelPath"),
        (body(modelPath="/a/../b"), "an absolute path of letters"),
        (body(modelPath="/a:b"), "an absolute path of letters"),
        (body(replicas=-1), "replicas in body should be greater than or equal to 0"),
        (body(loader="CSI"), 'Unsupported value: "CSI"'),
        (body(batching={"batchSize": 0}), "batchSize in body should be greater than or equal to 1"),
        (body(batching={"batchSize": 1, "timeoutSeconds": 1, "timeoutMilliseconds": 1}), "one of timeoutSeconds"),
        (body(batching={"batchSize": 1}, framework="Custom"), "batching is not supported for framework Custom"),
        (body(batching={"batchSize": 1, "timeoutSeconds": 1}, framework="vLLM"), "batching has no timeout there"),
        (body(batching={"batchSize": 1}, modelVersion=None), "so it needs a modelVersion"),
        (
            body(autoScale={"minReplicas": 3, "maxReplicas": 2}),
            "maxReplicas: Invalid value: must not be less than minReplicas",
        ),
        (body(autoScale={"minReplicas": 0}), "scaling from zero requires KEDA"),
        (body(autoScale={"minReplicas": 0, "autoScaler": KEDA}), "CPU and memory cannot scale from zero"),
        (body(autoScale={"triggers": [TRIGGER]}), "triggers require KEDA"),
        (
            body(autoScale={"metrics": [{"type": "Pods"}], "autoScaler": KEDA}),
            "metrics require a HorizontalPodAutoscaler",
        ),
        (body(autoScale={"autoScaler": {"uid": "x"}}), "identified by kind and name only"),
        (body(spec={"rollout": {"steps": []}}), "steps in body should have at least 1 items"),
        (body(spec={"rollout": {"steps": [{"weight": 0}]}}), "weight in body should be greater than or equal to 1"),
        (body(spec={"rollout": {"steps": [{"weight": 5}], "analysis": {}}}), "set errorRate, p99 or both"),
        (body(strategy={"type": "Recreate", "maxSurge": 1}), "maxUnavailable and maxSurge require type RollingUpdate"),
        (body(strategy={"maxSurge": 0}), "maxUnavailable and maxSurge cannot both be 0"),
        (body(strategy={"maxSurge": "0%", "maxUnavailable": "0%"}), "maxUnavailable and maxSurge cannot both be 0"),
        (body(strategy={"maxUnavailable": "half"}), "maxUnavailable"),
        (body(strategy={"maxUnavailable": -1}), "maxUnavailable"),
        (
            body(spec={"timeouts": {"requestSeconds": 5, "backendRequestSeconds": 6}}),
            "spec.timeouts.backendRequestSeconds: Invalid value: must not exceed requestSeconds",
        ),
        (body(spec={"gateway": {}}), "spec.gateway.name: Required value"),
        (body(spec={"hostname": "theirs.example.org"}), 'unknown field "spec.hostname"'),
    ],
)
def test_what_cannot_be_honoured_is_refused(ready_stage: Stage, namespace: str, wrong: Object, text: str) -> None:
    """With the field, at admission."""
    with pytest.raises(ApiError) as refused:
        ready_stage.cluster.api.create(f"{COLLECTION.format(namespace)}?{TRY}", wrong)
    assert text in str(refused.value)


def test_manifests_of_the_first_kubedl_are_accepted(ready_stage: Stage, namespace: str) -> None:
    """Unchanged; what is added are defaults."""
    for document in yaml.safe_load_all(MANIFEST.read_text()):
        made = ready_stage.cluster.api.create(f"{COLLECTION.format(namespace)}?{TRY}", document)
        for theirs, ours in zip(document["spec"]["predictors"], made["spec"]["predictors"], strict=True):
            assert theirs.items() <= ours.items()
            assert (ours["modelPath"], ours["loader"]) == ("/kubedl-model", "Auto")


@pytest.mark.parametrize("framework", ["TFServing", "Triton", "MLServer", "vLLM", "Custom"])
@pytest.mark.parametrize("way", ["ImageVolume", "InitCopy"])
def test_what_is_made_is_what_the_api_server_takes(
    ready_stage: Stage,
    namespace: str,
    framework: str,
    way: Any,  # noqa: ANN401 - a literal
) -> None:
    """Every field by its name, none unknown: Deployment, pod, Services, route, autoscalers of both kinds."""
    api, batching = ready_stage.cluster.api, None if framework == "Custom" else {"batchSize": 4}
    scaled: Object = {"minReplicas": 1, "maxReplicas": 3, "cpu": 50, "memory": 70, "behavior": {"scaleDown": {}}}
    keda = {**scaled, "autoScaler": KEDA, "triggers": [TRIGGER], "cooldownSeconds": 5}
    for wish in (scaled, keda):
        given = body(framework=framework, batching=batching, autoScale=wish)
        accepted = api.create(f"{COLLECTION.format(namespace)}?{TRY}", given)
        inference = INFERENCES.decoder.decode(codec.encode(accepted))
        [predictor] = inference.spec.predictors
        servers = PredictorWorkload(inference, predictor, Model("v1", "m", f"hub/m@sha256:{'a' * 64}"))
        made = deployment.deployment(servers, way, Program("packer"))
        api.create(f"/apis/apps/v1/namespaces/{namespace}/deployments?{TRY}", made)
        api.create(f"/api/v1/namespaces/{namespace}/pods?{TRY}", deployment.pod(made))
        for service in (deployment.service(servers), deployment.inference_service(servers)):
            api.create(f"/api/v1/namespaces/{namespace}/services?{TRY}", service)
        scaler = autoscaling.scaler(inference, predictor)
        assert scaler is not None
        resource, scaling = scaler
        api.create(f"{resource.path(namespace)}?{TRY}", scaling)
    ends = [Backend("a", 8080, 30, ready=True), Backend("b", 8080, 70, ready=True)]
    gateway = GatewayRef("public", "gateways", "web")
    owner = owner_reference(INFERENCES, inference)
    route = routing.route("hello", namespace, "hello.team.example.org", gateway, ends, owner)
    api.create(f"{routing.HTTP_ROUTES.path(namespace)}?{TRY}", route)


def test_an_inference_serves_under_restricted_and_is_shown(world: ScenarioDriver, ready_stage: Stage) -> None:
    """Nothing of its pods is refused there; kubectl prints what people look for."""
    built(world, "v1")
    inference = PlayedInference(world)
    given = inference.predictor("main", "v1", replicas=2)
    given["template"]["spec"]["containers"] = [CONTAINER]
    inference.create(given, gateway=None)
    inference.until_ready(main=100)
    where = f"--namespace={world.namespace}"
    ready_stage.cluster.kubectl(where, "wait", "--for=condition=Ready", "--timeout=10s", "inference/hello")
    head, line = ready_stage.cluster.kubectl(where, "get", "inferences").splitlines()
    assert head.split() == ["NAME", "FRAMEWORK", "READY", "ENDPOINT", "AGE"]
    endpoint = f"http://hello.{world.namespace}.svc.cluster.local:8080"
    assert line.split()[:4] == ["hello", "Custom", "True", endpoint]
    inference.until("both pods to be counted", lambda: settled(inference, "main", DIGEST, 2))
    assert inference.predictor_status("main")["loader"] == "ImageVolume"


def test_who_owns_the_number_of_replicas(world: ScenarioDriver) -> None:
    """Ours while it is fixed; when an autoscaler takes it over nobody starts anew, and nobody puts it back."""
    inference = PlayedInference(world)
    inference.create(restricted(inference, replicas=3), gateway=None)
    inference.until_ready(main=100)
    server, place = world.watcher.connection, f"/apis/apps/v1/namespaces/{world.namespace}/deployments/hello-main"
    server.patch(place, {"spec": {"replicas": 1}})
    inference.until("its number to be put right", lambda: server.get(place)["spec"]["replicas"] == 3)
    generation = server.get(place)["metadata"]["generation"]
    inference.change(restricted(inference, replicas=3, autoScale={"minReplicas": 2, "maxReplicas": 9}))
    inference.until("its autoscaler", lambda: world.watcher.all("scalers", world.namespace))
    inference.until("to be taken note of", lambda: inference.status()["observedGeneration"] == 2)
    found = server.get(place)
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (3, generation)
    server.patch(place, {"spec": {"replicas": 5}})
    inference.until("five pods", lambda: inference.predictor_status("main").get("readyReplicas") == 5)
    assert inference.replicas("main") == 5


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"imagePulPolicy": "Always"}, "field not declared in schema"),
        ({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}, "duplicate entries"),
        ({"securityContext": {}}, "violates PodSecurity"),
    ],
)
def test_a_template_that_is_refused_is_told_and_asked_about_seldom(
    world: ScenarioDriver, edit: Object, said: str
) -> None:
    """The other predictor serves; the refused one costs few writes."""
    built(world, "v1")
    inference = PlayedInference(world)
    broken = restricted(inference, "v1")
    broken["template"]["spec"]["containers"] = [CONTAINER | edit]
    other = restricted(inference) | {"name": "other"}
    inference.create(broken, other)
    inference.until("to be told", lambda: said in str(inference.predictor_status("main").get("message")))
    inference.until("the other to have all", lambda: inference.predictor_status("other").get("trafficPercent") == 100)
    seen, looked = set(), time.monotonic()

    def passed() -> bool:
        seen.add(inference.written())
        return time.monotonic() > looked + 3

    inference.until("a while to pass", passed)
    assert len(seen) <= 3  # the other one's last steps


def test_an_edited_deployment_is_put_right(world: ScenarioDriver) -> None:
    """What is ours; what somebody else adds stays."""
    inference = PlayedInference(world)
    inference.create(restricted(inference), gateway=None)
    inference.until_ready(main=100)
    server, place = world.watcher.connection, f"/apis/apps/v1/namespaces/{world.namespace}/deployments/hello-main"
    edit = {"spec": {"revisionHistoryLimit": 7, "template": {"metadata": {"annotations": {"theirs": "kept"}}}}}
    server.patch(place, edit)
    inference.until("to be put right", lambda: server.get(place)["spec"]["revisionHistoryLimit"] == 2)
    assert server.get(place)["spec"]["template"]["metadata"]["annotations"]["theirs"] == "kept"


def test_a_new_version_is_served_and_the_old_pods_are_gone(world: ScenarioDriver) -> None:
    built(world, "v1")
    built(world, "v2", OTHER)
    inference = PlayedInference(world)
    inference.create(restricted(inference, "v1"), gateway=None)
    inference.until_ready(main=100)
    inference.change(restricted(inference, "v2"))
    inference.until("v2 alone", lambda: settled(inference, "main", OTHER, 1))
    inference.until("the old pod to be gone", lambda: len(world.watcher.all("servers", world.namespace)) == 1)
    [pod] = world.watcher.all("servers", world.namespace).values()
    [image] = [volume["image"]["reference"] for volume in pod["spec"]["volumes"] if "image" in volume]
    assert image.endswith(OTHER)


def test_what_is_somebody_elses_is_left_alone(world: ScenarioDriver) -> None:
    """Until he takes it away."""
    server, place = world.watcher.connection, f"/api/v1/namespaces/{world.namespace}/services"
    theirs = {"metadata": {"name": "hello-main"}, "spec": {"ports": [{"port": 1}]}}
    uid = server.create(place, theirs)["metadata"]["uid"]
    inference = PlayedInference(world)
    inference.create(restricted(inference), gateway=None)
    inference.until("to say so", lambda: inference.predictor_status("main").get("reason") == "NameTaken")
    found = server.get(f"{place}/hello-main")
    assert (found["metadata"]["uid"], found["spec"]["ports"][0]["port"]) == (uid, 1)
    server.delete(f"{place}/hello-main")
    inference.until_ready(main=100)


def test_one_inference_after_another_of_its_name(world: ScenarioDriver) -> None:
    """What the first left is never taken for the second's own."""
    inference = PlayedInference(world)
    inference.create(restricted(inference), gateway=None)
    inference.until_ready(main=100)
    before = world.watcher.all("deployments", world.namespace)["hello-main"]["metadata"]["uid"]
    inference.delete()
    inference.create(restricted(inference), gateway=None)
    inference.until(
        "another Deployment",
        lambda: (
            world.watcher.all("deployments", world.namespace).get("hello-main", {}).get("metadata", {}).get("uid")
            not in (before, None)
        ),
    )
    inference.until_ready(main=100)


def restricted(inference: PlayedInference, version: str = "", **fields: object) -> Object:
    """A predictor that *restricted* admits."""
    made = inference.predictor("main", version, **fields)
    made["template"]["spec"]["containers"] = [CONTAINER]
    return made
