"""The Deployment and the Services of a predictor, as they are applied.

The number of replicas is no part of it: who decides that number writes it, and nobody else. Pods leave without losing a
request: a new one is ready before an old one goes, and an old one goes on answering until everybody knows.
"""

from dataclasses import dataclass
from datetime import timedelta

from kubedl.api.inference import GROUP, Inference, Predictor
from kubedl.serving import batching, frameworks, loading, template
from kubedl.serving.loading import Model, Program, Way
from kubedl.serving.objects import (
    DEPLOYMENTS,
    GRPC,
    HTTP,
    INFERENCE_UID,
    PREDICTOR,
    STABLE,
    TRACK,
    labels_of,
    name_of,
    owner_of,
)
from kubedl.serving.template import Body
from kubedl.wire.codec import Opaque
from kubedl.wire.core import PODS, SERVICES

MODEL_VERSION, IMAGE, LOADER = f"{GROUP}/model-version", f"{GROUP}/image", f"{GROUP}/loader"  # annotations
ASKED = f"{GROUP}/asked"  # a digest of what the user asked for, by which pods are replaced or left as they are
MODEL_PATH = "KUBEDL_MODEL_PATH"
DRAINING = 10  # seconds that a pod goes on answering after it was told to go
GRACE = 30  # further seconds for what it has begun
START = timedelta(minutes=10)  # that Kubernetes gives the pods of a Deployment to become ready


@dataclass(frozen=True)
class Servers:
    """The servers of one version of one predictor."""

    inference: Inference
    predictor: Predictor
    model: Model | None = None
    track: str = STABLE
    carried: int = 0  # percent of its pods that a candidate has too
    is_crowded: bool = False  # no node has room for a pod beyond those that there are, and a candidate serves meanwhile
    start: timedelta = START  # that its pods may take to become ready

    @property
    def name(self) -> str:
        """Of the Deployment and the Service."""
        return name_of(self.inference, self.predictor.name, self.track)


def deployment(servers: Servers, way: Way, made_of: Program | Opaque, asked: str = "") -> Body:
    """With pods that are rendered for a loader, or as they are; raises TemplateError if the template is none."""
    inference, labels = servers.inference, labels_of(servers.inference, servers.predictor.name, servers.track)
    given = made_of if isinstance(made_of, Opaque) else _template(servers, way, made_of)
    told = {ASKED: asked} if asked else {}
    known = servers.model
    return {
        "apiVersion": DEPLOYMENTS.api_version,
        "kind": DEPLOYMENTS.kind,
        "metadata": {
            "name": servers.name,
            "namespace": inference.metadata.namespace,
            "labels": labels,
            "annotations": {MODEL_VERSION: known.version, IMAGE: known.image, LOADER: way, **told} if known else told,
            "ownerReferences": [owner_of(inference)],
        },
        "spec": {
            "selector": {"matchLabels": {name: labels[name] for name in (INFERENCE_UID, PREDICTOR, TRACK)}},
            "strategy": _strategy(servers),
            # Left out where it is what Kubernetes takes anyway.
            **({"progressDeadlineSeconds": int(servers.start.total_seconds())} if servers.start != START else {}),
            "revisionHistoryLimit": 2,
            "template": given,
        },
    }


def _strategy(servers: Servers) -> Body:
    """How pods are replaced by those of another template or version."""
    if servers.is_crowded:
        # Where every GPU is in use, a further pod would wait for ever. A share that is less than one pod is taken for
        # one by Kubernetes.
        return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": f"{servers.carried}%", "maxSurge": 0}}
    wish = servers.predictor.strategy
    if wish is None:
        return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}}
    if wish.type == "Recreate":
        return {"type": "Recreate"}
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {
            "maxUnavailable": 0 if wish.max_unavailable is None else wish.max_unavailable,
            "maxSurge": "25%" if wish.max_surge is None else wish.max_surge,
        },
    }


def pod(made: Body) -> Body:
    """A pod as the Deployment would have it, to ask the API server what would become of it."""
    meta, given = made["metadata"], made["spec"]["template"]
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        # A name that is made up would be another in every refusal, and so in every status.
        "metadata": {**given["metadata"], "name": f"{meta['name']}-probe", "namespace": meta["namespace"]},
        "spec": given["spec"],
    }


def service(servers: Servers) -> Body:
    """The address of a predictor. Raises TemplateError if the template is none."""
    return _service(servers, servers.name)


def entrance(servers: Servers) -> Body:
    """The address of an Inference with one predictor. Shares among several are a gateway's work."""
    return _service(servers, servers.inference.metadata.name)


def _service(servers: Servers, name: str) -> Body:
    inference, predictor = servers.inference, servers.predictor
    labels = labels_of(inference, predictor.name, servers.track)
    container = frameworks.serving_container(template.read(predictor.name, predictor.template)["spec"])
    frameworks.complete(inference.spec.framework, container, "", predictor.model_path)
    ports = (
        ("http", HTTP, frameworks.http_port(inference.spec.framework, container)),
        ("grpc", GRPC, frameworks.grpc_port(inference.spec.framework, container)),
    )
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {
            "name": name,
            "namespace": inference.metadata.namespace,
            "labels": labels,
            "ownerReferences": [owner_of(inference)],
        },
        "spec": {
            "selector": {label: labels[label] for label in (INFERENCE_UID, PREDICTOR, TRACK)},
            "ports": [
                {"name": port, "port": number, "targetPort": target, "protocol": "TCP"}
                for port, number, target in ports
            ],
        },
    }


def _template(servers: Servers, way: Way, program: Program) -> Body:
    inference, predictor, model = servers.inference, servers.predictor, servers.model
    framework = inference.spec.framework
    given = template.read(predictor.name, predictor.template)
    spec = given["spec"]
    container = frameworks.serving_container(spec)
    frameworks.complete(framework, container, model.name if model is not None else "", predictor.model_path)
    batching.add(framework, given, container, predictor.batching)
    frameworks.add_probes(framework, container)
    _drain(spec, container)
    if model is not None:
        for one in spec["containers"]:
            _tell(one, MODEL_PATH, predictor.model_path)
        words = batching.loader_words(framework, predictor.batching)
        loading.add(spec, model, way, predictor.model_path, program, words)
    if not spec.get("serviceAccountName") and not spec.get("serviceAccount"):
        spec.setdefault("automountServiceAccountToken", False)  # a server has no business with the API
    given["metadata"]["labels"] |= labels_of(inference, predictor.name, servers.track)
    return given


def _drain(spec: Body, container: Body) -> None:
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        grace = spec["terminationGracePeriodSeconds"] = DRAINING + GRACE
    lifecycle = container.get("lifecycle") or {}
    seconds = min(DRAINING, grace // 2)  # a user who gives little time gets what fits
    if "preStop" not in lifecycle and seconds > 0:
        container["lifecycle"] = {**lifecycle, "preStop": {"sleep": {"seconds": seconds}}}


def _tell(container: Body, name: str, value: str) -> None:
    if all(variable.get("name") != name for variable in container["env"]):
        container["env"] = [{"name": name, "value": value}, *container["env"]]
