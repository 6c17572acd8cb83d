"""The Deployment and Services of a predictor.

The number of replicas is applied separately, by its own field manager. Updates drop no requests: a new pod is ready
before an old one is deleted, and an old pod keeps serving until all gateways know.
"""

from dataclasses import dataclass
from datetime import timedelta

from kubedl.api.inference import GROUP, INFERENCES, Inference, Predictor
from kubedl.api.kueue import queue_labels
from kubedl.kube.codec import RawObject
from kubedl.kube.types.apps import DEPLOYMENTS
from kubedl.kube.types.core import PODS, SERVICES
from kubedl.runtime.ownership import owner_reference
from kubedl.serving.naming import (
    GRPC,
    HTTP,
    INFERENCE_UID,
    PREDICTOR,
    STABLE,
    TRACK,
    predictor_labels,
    predictor_name,
)
from kubedl.serving.workload import batching, model_init_container, model_servers, template
from kubedl.serving.workload.model_init_container import DeliveryMode, Model, Program
from kubedl.serving.workload.template import Body

MODEL_VERSION, IMAGE, LOADER = f"{GROUP}/model-version", f"{GROUP}/image", f"{GROUP}/loader"  # annotations
ASKED = f"{GROUP}/asked"  # digest of the user's request, which decides whether pods are replaced
MODEL_PATH = "KUBEDL_MODEL_PATH"
DRAINING = 10  # seconds that a pod keeps serving after its deletion (preStop)
GRACE = 30  # additional seconds for requests in flight
START = timedelta(minutes=10)  # for pods to become ready, the default of Deployments


@dataclass(frozen=True)
class PredictorWorkload:
    """The workload of one version of one predictor."""

    inference: Inference
    predictor: Predictor
    model: Model | None = None
    track: str = STABLE
    carried: int = 0  # percentage of its pods that the canary has as well
    is_crowded: bool = False  # no node has room for an additional pod, and a canary serves meanwhile
    start: timedelta = START  # for its pods to become ready

    @property
    def name(self) -> str:
        """The name of the Deployment and the Service."""
        return predictor_name(self.inference, self.predictor.name, self.track)


def deployment(servers: PredictorWorkload, way: DeliveryMode, made_of: Program | RawObject, asked: str = "") -> Body:
    """Render the Deployment, with pods for a loader or as given; raises TemplateError for an invalid template."""
    inference, labels = servers.inference, predictor_labels(servers.inference, servers.predictor.name, servers.track)
    given = made_of if isinstance(made_of, RawObject) else _template(servers, way, made_of)
    requested = {ASKED: asked} if asked else {}
    known = servers.model
    return {
        "apiVersion": DEPLOYMENTS.api_version,
        "kind": DEPLOYMENTS.kind,
        "metadata": {
            "name": servers.name,
            "namespace": inference.metadata.namespace,
            "labels": {**queue_labels(inference.metadata.labels), **labels},
            "annotations": {MODEL_VERSION: known.version, IMAGE: known.image, LOADER: way, **requested}
            if known
            else requested,
            "ownerReferences": [owner_reference(INFERENCES, inference)],
        },
        "spec": {
            "selector": {"matchLabels": {name: labels[name] for name in (INFERENCE_UID, PREDICTOR, TRACK)}},
            "strategy": _strategy(servers),
            # Omitted if it is the default of Kubernetes.
            **({"progressDeadlineSeconds": int(servers.start.total_seconds())} if servers.start != START else {}),
            "revisionHistoryLimit": 2,
            "template": given,
        },
    }


def _strategy(servers: PredictorWorkload) -> Body:
    """Return the update strategy."""
    if servers.is_crowded:
        # If every GPU is in use, an additional pod would wait forever. Kubernetes rounds less than one pod up to one.
        return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": f"{servers.carried}%", "maxSurge": 0}}
    strategy = servers.predictor.strategy
    if strategy is None:
        return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}}
    if strategy.type == "Recreate":
        return {"type": "Recreate"}
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {
            "maxUnavailable": 0 if strategy.max_unavailable is None else strategy.max_unavailable,
            "maxSurge": "25%" if strategy.max_surge is None else strategy.max_surge,
        },
    }


def pod(made: Body) -> Body:
    """Return a pod of the Deployment, for a dry-run."""
    meta, given = made["metadata"], made["spec"]["template"]
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        # A generated name would differ in every error message, and so in every status.
        "metadata": {**given["metadata"], "name": f"{meta['name']}-probe", "namespace": meta["namespace"]},
        "spec": given["spec"],
    }


def service(servers: PredictorWorkload) -> Body:
    """Return the Service of a predictor. Raises TemplateError for an invalid template."""
    return _service(servers, servers.name)


def inference_service(servers: PredictorWorkload) -> Body:
    """Return the Service of an Inference with one predictor. Several predictors need a gateway."""
    return _service(servers, servers.inference.metadata.name)


def _service(servers: PredictorWorkload, name: str) -> Body:
    inference, predictor = servers.inference, servers.predictor
    labels = predictor_labels(inference, predictor.name, servers.track)
    container = model_servers.serving_container(template.read(predictor.name, predictor.template)["spec"])
    model_servers.complete(inference.spec.framework, container, "", predictor.model_path)
    ports = (
        ("http", HTTP, model_servers.http_port(inference.spec.framework, container)),
        ("grpc", GRPC, model_servers.grpc_port(inference.spec.framework, container)),
    )
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {
            "name": name,
            "namespace": inference.metadata.namespace,
            "labels": labels,
            "ownerReferences": [owner_reference(INFERENCES, inference)],
        },
        "spec": {
            "selector": {label: labels[label] for label in (INFERENCE_UID, PREDICTOR, TRACK)},
            "ports": [
                {"name": port, "port": number, "targetPort": target, "protocol": "TCP"}
                for port, number, target in ports
            ],
        },
    }


def _template(servers: PredictorWorkload, way: DeliveryMode, program: Program) -> Body:
    inference, predictor, model = servers.inference, servers.predictor, servers.model
    framework = inference.spec.framework
    given = template.read(predictor.name, predictor.template)
    spec = given["spec"]
    container = model_servers.serving_container(spec)
    model_servers.complete(framework, container, model.name if model is not None else "", predictor.model_path)
    batching.add(framework, given, container, predictor.batching)
    model_servers.add_probes(framework, container)
    _drain(spec, container)
    if model is not None:
        for one in spec["containers"]:
            _add_environment(one, MODEL_PATH, predictor.model_path)
        arguments = batching.loader_arguments(framework, predictor.batching)
        model_init_container.add(spec, model, way, predictor.model_path, program, arguments)
    if not spec.get("serviceAccountName") and not spec.get("serviceAccount"):
        spec.setdefault("automountServiceAccountToken", False)  # a model server needs no API access
    # Kueue admits each pod by itself.
    given["metadata"]["labels"] |= queue_labels(inference.metadata.labels)
    given["metadata"]["labels"] |= predictor_labels(inference, predictor.name, servers.track)
    return given


def _drain(spec: Body, container: Body) -> None:
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        grace = spec["terminationGracePeriodSeconds"] = DRAINING + GRACE
    lifecycle = container.get("lifecycle") or {}
    seconds = min(DRAINING, grace // 2)  # a shorter grace period of the user limits it
    if "preStop" not in lifecycle and seconds > 0:
        container["lifecycle"] = {**lifecycle, "preStop": {"sleep": {"seconds": seconds}}}


def _add_environment(container: Body, name: str, value: str) -> None:
    if all(variable.get("name") != name for variable in container["env"]):
        container["env"] = [{"name": name, "value": value}, *container["env"]]
