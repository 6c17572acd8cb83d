"""Inferences, model versions and what clusters make of them, for tests."""

from datetime import datetime
from typing import Any

from kubedl.api.inference import INFERENCES, Inference
from kubedl.api.model import MODEL_VERSIONS, ModelVersion
from kubedl.kube import codec
from kubedl.kube.types.core import ContainerState, ContainerStatus, Pod, PodCondition, PodStatus, Terminated, Waiting
from kubedl.kube.types.meta import ObjectMeta
from kubedl.serving.loader.verify import MISSING
from kubedl.serving.naming import CANDIDATE, INFERENCE, INFERENCE_UID, PREDICTOR, STABLE, TRACK
from kubedl.serving.routing import GatewayRef
from kubedl.serving.workload import model_init_container
from tests.training_builders import NAMESPACE

NAME, UID = "hello", "uid-hello"
DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
GATEWAY = GatewayRef("public", "gateways")
TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "server", "image": "mlserver:1"}]}}


def predictor(name: str = "main", **fields: object) -> dict[str, Any]:
    """A predictor as its user writes it; what is None is left out."""
    whole = {"name": name, "modelVersion": "v1", "template": TEMPLATE, **fields}
    return {field: value for field, value in whole.items() if value is not None}


def inference(*predictors: dict[str, Any], annotations: dict[str, str] | None = None, **spec: object) -> Inference:
    """An Inference as it comes from the API server."""
    meta = {"name": NAME, "namespace": NAMESPACE, "uid": UID, "generation": 1, "annotations": annotations or {}}
    body = {
        "metadata": meta,
        "spec": {"framework": "MLServer", "predictors": list(predictors or [predictor()]), **spec},
    }
    return INFERENCES.decoder.decode(codec.encode(body))


def version(name: str = "v1", digest: str = DIGEST, phase: str = "ImageBuildSucceeded", **spec: object) -> ModelVersion:
    """A model version; built, unless told otherwise."""
    status = {"imageBuildPhase": phase, "image": f"hub/resnet@{digest}" if phase == "ImageBuildSucceeded" else ""}
    body = {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"},
        "spec": {"modelName": "resnet", "imageRepo": "hub/resnet", **spec},
        "status": status,
    }
    return MODEL_VERSIONS.decoder.decode(codec.encode(body))


def ready_pod(since: datetime, predictor: str = "main") -> Pod:
    """A pod that has been answering since then."""
    labels = {INFERENCE: NAME, INFERENCE_UID: UID, PREDICTOR: predictor, TRACK: STABLE}
    ready = PodCondition("Ready", "True", last_transition_time=since)
    return Pod(
        metadata=ObjectMeta(name=f"{NAME}-{predictor}-0", namespace=NAMESPACE, uid="pod-0", labels=labels),
        status=PodStatus(phase="Running", conditions=(ready,)),
    )


def waiting_pod(reason: str, message: str = "") -> Pod:
    """A pod whose loader cannot be created."""
    status = ContainerStatus(
        name=model_init_container.CONTAINER, state=ContainerState(waiting=Waiting(reason=reason, message=message))
    )
    labels = {INFERENCE: NAME, INFERENCE_UID: UID, PREDICTOR: "main", TRACK: STABLE}
    return Pod(
        metadata=ObjectMeta(name=f"{NAME}-main-x", namespace=NAMESPACE, uid="pod-x", labels=labels),
        status=PodStatus(phase="Pending", init_container_statuses=(status,)),
    )


def loser(predictor: str = "main", track: str = STABLE, reason: str = MISSING) -> Pod:
    """A pod whose loader has failed."""
    final = Terminated(exit_code=2, message=codec.encode({"reason": reason, "message": "as told"}).decode())
    status = ContainerStatus(name=model_init_container.CONTAINER, last_state=ContainerState(terminated=final))
    labels = {INFERENCE: NAME, INFERENCE_UID: UID, PREDICTOR: predictor, TRACK: track}
    return Pod(
        metadata=ObjectMeta(name=f"{NAME}-{predictor}-x", namespace=NAMESPACE, uid="pod-x", labels=labels),
        status=PodStatus(phase="Pending", init_container_statuses=(status,)),
    )


__all__ = [
    "CANDIDATE",
    "DIGEST",
    "GATEWAY",
    "NAME",
    "OTHER",
    "UID",
    "inference",
    "loser",
    "predictor",
    "ready_pod",
    "version",
    "waiting_pod",
]
