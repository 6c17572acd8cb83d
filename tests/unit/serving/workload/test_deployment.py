"""What a predictor's pods are made of: the user's template, and what is added to it."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kubedl.api.inference import Inference
from kubedl.api.kueue import PRIORITY_LABEL, QUEUE_LABEL
from kubedl.podspec.template import TemplateError
from kubedl.serving.naming import CANDIDATE
from kubedl.serving.workload.deployment import PredictorWorkload, deployment, inference_service, pod, service
from kubedl.serving.workload.model_init_container import RESOURCES, DeliveryMode, Model, Program, survived
from kubedl.serving.workload.requested_template import requested_digest
from tests.training_builders import NAMESPACE
from tests.unit.serving.inferences import DIGEST, NAME, UID, inference, predictor

MODEL = Model("v1", "mnist", f"hub/mnist@{DIGEST}")
PROGRAM = Program("packer:1")
# The manifest of the first KubeDL.
FORMER = {
    "name": "tensorflow",
    "args": ["--port=9000", "--rest_api_port=8500", "--model_name=mnist", "--model_base_path=/kubedl-model/"],
    "command": ["/usr/bin/tensorflow_model_server"],
    "image": "tensorflow/serving:1.11.1",
    "ports": [{"containerPort": 9000}, {"containerPort": 8500}],
}


def one(container: dict[str, Any] | None = None, framework: str = "TFServing", **fields: Any) -> Inference:  # noqa: ANN401
    """An Inference whose predictor runs this container."""
    spec = {"containers": [container or {"name": "server", "image": "i"}], **fields.pop("pod", {})}
    return inference(predictor(template={"spec": spec}, **fields), framework=framework)


def made(
    found: Inference,
    way: DeliveryMode = "ImageVolume",
    model: Model | None = MODEL,
    program: Program = PROGRAM,
    **fields: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """Its Deployment."""
    return deployment(PredictorWorkload(found, found.spec.predictors[0], model, **fields), way, program)


def server(found: Inference, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    """Its first container."""
    container: dict[str, Any] = made(found, **fields)["spec"]["template"]["spec"]["containers"][0]
    return container


def loader(found: Inference) -> dict[str, Any]:
    """Its init container."""
    container: dict[str, Any] = made(found)["spec"]["template"]["spec"]["initContainers"][0]
    return container


def ports(found: Inference) -> list[int]:
    """Where its Service leads."""
    body = service(PredictorWorkload(found, found.spec.predictors[0], MODEL))
    assert [port["port"] for port in body["spec"]["ports"]] == [8080, 9000]
    return [port["targetPort"] for port in body["spec"]["ports"]]


def test_the_manifest_of_the_first_kubedl_keeps_its_words() -> None:
    """Its ports are found in its flags; what is added is the model, a probe, and time to leave."""
    found = one(FORMER, batching={"batchSize": 32})
    container = server(found)
    assert container["command"] == FORMER["command"]
    added = ["--enable_batching=true", "--batching_parameters_file=/kubedl/settings/batching.txt"]
    assert container["args"] == [*FORMER["args"], *added]
    assert container["readinessProbe"]["httpGet"] == {"path": "/v1/models/mnist", "port": 8500}
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 10}}}
    assert {"name": "kubedl-model", "mountPath": "/kubedl-model", "readOnly": True} in container["volumeMounts"]
    assert ports(found) == [8500, 9000]


def test_names_and_labels_carry_the_uid() -> None:
    """So that pods of an earlier Inference of that name are never taken for ours."""
    body = made(one(), track=CANDIDATE)
    assert body["metadata"]["name"] == f"{NAME}-main-next"
    assert body["spec"]["selector"]["matchLabels"] == {
        "serving.kubedl.io/inference-uid": UID,
        "serving.kubedl.io/predictor": "main",
        "serving.kubedl.io/track": "candidate",
    }
    labels = body["spec"]["template"]["metadata"]["labels"]
    assert body["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert labels["kubedl.io/inference-name"] == NAME
    assert "replicas" not in body["spec"]
    [owner] = body["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (UID, True)


def test_a_pod_is_ready_before_another_leaves() -> None:
    strategy = made(one())["spec"]["strategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}}


@pytest.mark.parametrize(
    ("grace", "seconds"), [(None, 10), (60, 10), (8, 4), (1, None)], ids=["unsaid", "long", "short", "none"]
)
def test_a_pod_goes_on_answering_while_it_leaves(grace: int | None, seconds: int | None) -> None:
    """As long as fits into the time that the user gives it."""
    found = one(pod={"terminationGracePeriodSeconds": grace} if grace is not None else {})
    sleep = {"preStop": {"sleep": {"seconds": seconds}}} if seconds else None
    assert server(found).get("lifecycle") == sleep
    assert made(found)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == (grace or 40)


def test_what_the_user_wrote_wins() -> None:
    probe, hook = {"exec": {"command": ["true"]}}, {"preStop": {"exec": {"command": ["true"]}}}
    mine = {
        "name": "server",
        "readinessProbe": probe,
        "lifecycle": hook,
        "env": [{"name": "KUBEDL_MODEL_PATH", "value": "mine"}, {"name": "MODEL_NAME", "value": "own"}],
        "args": ["--rest_api_port=1", "--enable_batching=false"],
    }
    container = server(one(mine, batching={"batchSize": 2}))
    assert (container["readinessProbe"], container["lifecycle"]) == (probe, hook)
    names = [variable["name"] for variable in container["env"]]
    assert names == ["MODEL_BASE_PATH", "KUBEDL_MODEL_PATH", "MODEL_NAME"]
    assert container["args"][:2] == mine["args"]
    assert "--enable_batching=true" not in container["args"]


@pytest.mark.parametrize(
    ("framework", "command", "arguments", "variables", "probe", "where"),
    [
        (
            "TFServing",
            None,
            ["--port=9000", "--rest_api_port=8080", "--model_name=mnist", "--model_base_path=/m"],
            {"MODEL_BASE_PATH": "/m", "MODEL_NAME": "mnist"},
            {"path": "/v1/models/mnist", "port": 8080},
            [8080, 9000],
        ),
        (
            "Triton",
            None,
            ["tritonserver", "--model-repository=/m"],
            {},
            {"path": "/v2/health/ready", "port": 8000},
            [8000, 8001],
        ),
        (
            "MLServer",
            None,
            None,
            {"MLSERVER_MODELS_DIR": "/m"},
            {"path": "/v2/health/ready", "port": 8080},
            [8080, 8081],
        ),
        (
            "vLLM",
            ["vllm", "serve", "/m"],
            ["--served-model-name", "mnist", "/m"],
            {},
            {"path": "/health", "port": 8000},
            [8000, 9000],
        ),
        ("Custom", None, None, {}, None, [8080, 9000]),
    ],
)
def test_a_server_is_told_of_its_model(
    framework: str,
    command: list[str] | None,
    arguments: list[str] | None,
    variables: dict[str, str],
    probe: dict[str, Any] | None,
    where: list[int],
) -> None:
    """Where the user gives it neither command nor arguments."""
    found = one(framework=framework, modelPath="/m")
    container = server(found)
    assert (container.get("command"), container.get("args")) == (command, arguments)
    told = {variable["name"]: variable["value"] for variable in container["env"]}
    assert told == {**variables, "KUBEDL_MODEL_PATH": "/m"}
    assert container["readinessProbe"].get("httpGet") == probe
    assert ports(found) == where


@pytest.mark.parametrize(
    ("framework", "container", "where"),
    [
        ("Triton", {"args": ["tritonserver", "--http-port", "81", "--grpc-port=82"]}, [81, 82]),
        ("MLServer", {"env": [{"name": "MLSERVER_HTTP_PORT", "value": "83"}]}, [83, 8081]),
        ("vLLM", {"command": ["vllm", "serve"], "args": ["--port=84"]}, [84, 9000]),
        ("Custom", {"ports": [{"name": "grpc", "containerPort": 5}, {"name": "http", "containerPort": 6}]}, [6, 5]),
        ("Custom", {"ports": [{"name": "http"}]}, [8080, 9000]),  # the API server refuses its pods, and says why
        ("TFServing", {"args": ["--rest_api_port=none"]}, [8501, 8500]),
        ("TFServing", {"args": ["--rest_api_port=99999"]}, [8501, 8500]),
    ],
)
def test_ports_are_found_where_they_are_said(framework: str, container: dict[str, Any], where: list[int]) -> None:
    assert ports(one({"name": "server", **container}, framework)) == where


def test_the_container_with_a_port_called_http_answers() -> None:
    """Not the sidecar that comes before it; the model is in both."""
    main = {"name": "server", "ports": [{"name": "http", "containerPort": 7}]}
    spec = {"spec": {"containers": [{"name": "sidecar"}, main]}}
    found = inference(predictor(template=spec), framework="Custom")
    sidecar, answering = made(found)["spec"]["template"]["spec"]["containers"]
    assert ("readinessProbe" in sidecar, answering["readinessProbe"]["tcpSocket"]) == (False, {"port": 7})
    assert all("kubedl-model" in str(one["volumeMounts"]) for one in (sidecar, answering))


@pytest.mark.parametrize("way", ["ImageVolume", "InitCopy"])
def test_the_loader_is_first_and_restricted(way: DeliveryMode) -> None:
    """PodSecurity *restricted* admits it whatever the user's own containers are."""
    spec = made(one(pod={"initContainers": [{"name": "mine"}]}), way)["spec"]["template"]["spec"]
    loader, mine = spec["initContainers"]
    assert (loader["name"], loader["image"], mine["name"]) == ("kubedl-model-loader", "packer:1", "mine")
    context = loader["securityContext"]
    assert (context["runAsNonRoot"], context["allowPrivilegeEscalation"]) == (True, False)
    assert (context["capabilities"], context["seccompProfile"]) == ({"drop": ["ALL"]}, {"type": "RuntimeDefault"})
    assert spec["automountServiceAccountToken"] is False


def test_an_image_volume_is_by_digest_and_whole() -> None:
    """No subPath, which older runtimes do not know; the loader and the server see the same mount."""
    spec = made(one())["spec"]["template"]["spec"]
    [image] = [volume for volume in spec["volumes"] if "image" in volume]
    assert image["image"] == {"reference": MODEL.image, "pullPolicy": "IfNotPresent"}
    mounts = [m for c in (*spec["containers"], *spec["initContainers"]) for m in c["volumeMounts"]]
    assert [m for m in mounts if m["name"] == image["name"]] == [
        {"name": image["name"], "mountPath": "/kubedl/image", "readOnly": True}
    ] * 2


@pytest.mark.parametrize(
    ("secret", "pulling", "used", "optional"),
    [("hub", "pull", "hub", False), ("", "pull", "pull", True), ("", "", "regcred", True)],
)
def test_a_copy_has_its_password_by_reference(secret: str, pulling: str, used: str, optional: bool) -> None:
    """The operator reads no Secret."""
    found = one(pod={"imagePullSecrets": [{"name": pulling}]} if pulling else {})
    body = made(found, "InitCopy", Model("v1", "mnist", MODEL.image, insecure=True, secret=secret))
    spec = body["spec"]["template"]["spec"]
    [volume] = [volume["secret"] for volume in spec["volumes"] if "secret" in volume]
    assert (volume["secretName"], volume["optional"]) == (used, optional)
    arguments = spec["initContainers"][0]["args"]
    assert arguments[:2] == ["--image", MODEL.image]
    assert "--insecure" in arguments
    assert not any("kubedl-registry" in str(container["volumeMounts"]) for container in spec["containers"])


def test_a_copy_reaches_the_registry_as_the_build_did() -> None:
    """By the same proxies, trusting the same authority; the server itself is told of neither."""
    proxies = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "10.0.0.0/8,$(HOST)"}
    body = made(one(), "InitCopy", replace(MODEL, authority="company"), Program("packer:1", proxies))
    spec = body["spec"]["template"]["spec"]
    (loader,), (server,) = spec["initContainers"], spec["containers"]
    told = {variable["name"]: variable["value"] for variable in loader["env"]}
    assert told == {
        "HTTPS_PROXY": "http://proxy:3128",
        "NO_PROXY": "10.0.0.0/8,$$(HOST)",
        "SSL_CERT_FILE": "/kubedl/authority/ca.crt",
    }
    [volume] = [one for one in spec["volumes"] if one.get("secret", {}).get("secretName") == "company"]
    assert volume["secret"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}]
    mount = {"name": volume["name"], "mountPath": "/kubedl/authority", "readOnly": True}
    assert mount in loader["volumeMounts"]
    assert mount not in server["volumeMounts"]
    assert not told.keys() & {variable["name"] for variable in server["env"]}
    assert "env" not in made(one(), "InitCopy")["spec"]["template"]["spec"]["initContainers"][0]


@pytest.mark.parametrize(("named", "pushed"), [("hub", "hub"), ("", "regcred")])
def test_a_mounted_model_is_pulled_with_the_password_it_was_pushed_with(named: str, pushed: str) -> None:
    """Beside those that the pod has; once. The packer takes regcred where none is named, so the kubelet gets it too."""
    for pulling in ([{"name": "own"}], [{"name": "own"}, {"name": pushed}]):
        body = made(one(pod={"imagePullSecrets": pulling}), model=replace(MODEL, secret=named))
        secrets = body["spec"]["template"]["spec"]["imagePullSecrets"]
        assert secrets == [{"name": "own"}, {"name": pushed}]


def test_the_loader_does_not_cost_a_pod_its_guarantee() -> None:
    """Where every container may use exactly what it asks for, the loader says so too."""
    exact = {"limits": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": 1}}
    same = {"cpu": "2", "memory": "1Gi"}
    assert loader(one({"name": "server", "resources": exact}))["resources"] == {"requests": same, "limits": same}
    more = {"limits": same, "requests": {"cpu": "1"}}
    assert loader(one({"name": "server", "resources": more}))["resources"] == RESOURCES


@pytest.mark.parametrize(
    ("container", "model"),
    [
        ({"command": ["tensorflow_model_server"], "args": ["--model_name", "own"]}, "own"),
        ({"command": ["tensorflow_model_server"]}, "default"),
        ({"args": ["--port=1"]}, "mnist"),
    ],
)
def test_a_server_is_asked_for_the_model_by_the_name_it_knows(container: dict[str, Any], model: str) -> None:
    """The variable is read by its image's own start script alone."""
    assert server(one({"name": "server", **container}))["readinessProbe"]["httpGet"]["path"] == f"/v1/models/{model}"


def test_a_dry_run_that_kept_everything_is_told_from_one_that_did_not() -> None:
    whole = pod(made(one()))
    assert whole["metadata"]["name"] == f"{NAME}-main-probe"
    assert survived(whole, MODEL.image)
    assert not survived(whole, "other")
    without_volume = {**whole, "spec": {**whole["spec"], "volumes": []}}
    assert not survived(without_volume, MODEL.image)
    bare = [{**container, "volumeMounts": []} for container in whole["spec"]["initContainers"]]
    assert not survived({**whole, "spec": {**whole["spec"], "initContainers": bare}}, MODEL.image)
    assert not survived({"spec": {"volumes": whole["spec"]["volumes"]}}, MODEL.image)


@pytest.mark.parametrize(
    ("framework", "batching", "expected"),
    [
        (
            "TFServing",
            {"batchSize": 4, "timeoutSeconds": 1},
            "max_batch_size { value: 4 }\nbatch_timeout_micros { value: 1000000 }\n",
        ),
        ("TFServing", {"batchSize": 4}, "max_batch_size { value: 4 }\n"),
        ("Triton", {"batchSize": 4, "timeoutMilliseconds": 5}, ["--triton-batching", "4,5000"]),
        ("Triton", {"batchSize": 4}, ["--triton-batching", "4"]),
        ("MLServer", {"batchSize": 4, "timeoutMilliseconds": 5}, ["--mlserver-batching", "4,0.005"]),
        ("MLServer", {"batchSize": 4}, ["--mlserver-batching", "4,0.01"]),
        ("vLLM", {"batchSize": 4}, "--max-num-seqs=4"),
    ],
)
def test_batching_is_the_servers_own(framework: str, batching: dict[str, int], expected: str | list[str]) -> None:
    found = one(framework=framework, batching=batching)
    template = made(found)["spec"]["template"]
    if framework == "TFServing":
        assert template["metadata"]["annotations"]["serving.kubedl.io/batching"] == expected
        [shown] = [volume["downwardAPI"] for volume in template["spec"]["volumes"] if "downwardAPI" in volume]
        assert shown["items"][0]["fieldRef"] == {"fieldPath": "metadata.annotations['serving.kubedl.io/batching']"}
    elif framework == "vLLM":
        assert template["spec"]["containers"][0]["args"][-1] == expected
    else:
        assert template["spec"]["initContainers"][0]["args"][-2:] == expected


def test_the_entrance_leads_to_the_only_predictor() -> None:
    found = one()
    body = inference_service(PredictorWorkload(found, found.spec.predictors[0], MODEL))
    assert (body["metadata"]["name"], body["metadata"]["namespace"]) == (NAME, NAMESPACE)
    assert body["spec"] == service(PredictorWorkload(found, found.spec.predictors[0], MODEL))["spec"]


@pytest.mark.parametrize(
    "template",
    [
        {"spec": {"containers": []}},
        {"spec": {"containers": [{"name": "a", "args": "no list"}]}},
        {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": "x"}]}]}},
        {"spec": {"containers": [{"name": "a", "resources": "large"}]}},
        {"spec": {"containers": [{"name": "a", "resources": {"limits": "large"}}]}},
        {"spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "b", "resources": {"requests": 1}}]}},
        {"spec": {"containers": [{"name": "a"}], "volumes": "none"}},
        {"spec": {"containers": [{"name": "a"}]}, "metadata": {"labels": {"a": 1}}},
    ],
)
def test_a_template_of_another_shape_is_refused_with_the_place(template: dict[str, Any]) -> None:
    with pytest.raises(TemplateError, match="the template of main"):
        made(inference(predictor(template=template)))


def test_a_cluster_that_assigns_users_is_left_to_do_so() -> None:
    """OpenShift refuses a user outside the namespace's range."""
    for omit in (False, True):
        spec = made(one(), "InitCopy", program=Program("p", omit_user=omit))["spec"]["template"]["spec"]
        security = spec["initContainers"][0]["securityContext"]
        assert security["runAsNonRoot"] is True
        assert ("runAsUser" in security, "runAsGroup" in security) == (not omit, not omit)


def test_the_queue_of_an_inference_reaches_its_pods_and_replaces_them() -> None:
    """Kueue's integration of pods reads their labels; those of the selector cannot be taken by a user."""
    labels = {QUEUE_LABEL: "team", PRIORITY_LABEL: "high", "other": "one"}
    plain = one()
    queued = msgspec.structs.replace(plain, metadata=msgspec.structs.replace(plain.metadata, labels=labels))
    unqueued = msgspec.structs.replace(
        plain, metadata=msgspec.structs.replace(plain.metadata, labels={PRIORITY_LABEL: "high"})
    )
    body = made(queued)
    for found in (body["metadata"]["labels"], body["spec"]["template"]["metadata"]["labels"]):
        assert (found[QUEUE_LABEL], found[PRIORITY_LABEL], "other" in found) == ("team", "high", False)
    assert PRIORITY_LABEL not in made(unqueued)["metadata"]["labels"]
    assert QUEUE_LABEL not in body["spec"]["selector"]["matchLabels"]
    digests = [requested_digest(PredictorWorkload(each, each.spec.predictors[0])) for each in (plain, unqueued, queued)]
    assert digests[0] == digests[1] != digests[2]
