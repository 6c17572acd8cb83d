"""Who changes the number of a predictor's replicas: Kubernetes' own autoscaler, or KEDA. Never us beside them."""

from typing import Any

from kubedl.api.inference import Inference, Predictor
from kubedl.api.inference_scaling import AutoScale
from kubedl.serving.objects import AUTOSCALERS, DEPLOYMENTS, SCALED_OBJECTS, labels_of, name_of, owner_of
from kubedl.serving.template import Body
from kubedl.wire.meta import Resource

DEFAULT_CPU = 80  # percent, where nothing is said


def scaler(inference: Inference, predictor: Predictor) -> tuple[Resource[Any], Body] | None:
    """What is made for a predictor; nothing if it has a fixed size, or somebody else scales it."""
    wish = predictor.auto_scale
    if wish is None or (wish.auto_scaler is not None and wish.auto_scaler.name):
        return None
    if wish.auto_scaler is not None and wish.auto_scaler.kind == SCALED_OBJECTS.kind:
        return SCALED_OBJECTS, _object(SCALED_OBJECTS, inference, predictor, _keda(wish, inference, predictor))
    return AUTOSCALERS, _object(AUTOSCALERS, inference, predictor, _own(wish, inference, predictor))


def first_replicas(predictor: Predictor) -> int | None:
    """With how many a Deployment begins whose size is somebody else's from then on; None if it is ours."""
    wish = predictor.auto_scale
    return None if wish is None else max(1, wish.min_replicas)


def _own(wish: AutoScale, inference: Inference, predictor: Predictor) -> Body:
    metrics = [_resource("cpu", wish.cpu), _resource("memory", wish.memory)]
    named = [one for one in metrics if one is not None] + [one.unpack() for one in wish.metrics]
    return {
        "scaleTargetRef": _target(inference, predictor),
        "minReplicas": wish.min_replicas,
        "maxReplicas": wish.max_replicas,
        "metrics": named or [_resource("cpu", DEFAULT_CPU)],
        **({"behavior": wish.behavior.unpack()} if wish.behavior is not None else {}),
    }


def _keda(wish: AutoScale, inference: Inference, predictor: Predictor) -> Body:
    metrics = (("cpu", wish.cpu), ("memory", wish.memory))
    triggers = [
        {"type": name, "metricType": "Utilization", "metadata": {"value": str(percent)}}
        for name, percent in metrics
        if percent is not None
    ] + [one.unpack() for one in wish.triggers]
    default = {"type": "cpu", "metricType": "Utilization", "metadata": {"value": str(DEFAULT_CPU)}}
    advanced = {"horizontalPodAutoscalerConfig": {"behavior": wish.behavior.unpack()}} if wish.behavior else {}
    return {
        "scaleTargetRef": _target(inference, predictor),
        "minReplicaCount": wish.min_replicas,
        "maxReplicaCount": wish.max_replicas,
        "triggers": triggers or [default],
        **({"cooldownPeriod": wish.cooldown_seconds} if wish.cooldown_seconds is not None else {}),
        **({"advanced": advanced} if advanced else {}),
    }


def _resource(name: str, percent: int | None) -> Body | None:
    if percent is None:
        return None
    return {
        "type": "Resource",
        "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": percent}},
    }


def _target(inference: Inference, predictor: Predictor) -> Body:
    return {"apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind, "name": name_of(inference, predictor.name)}


def _object(resource: Resource[Any], inference: Inference, predictor: Predictor, spec: Body) -> Body:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name_of(inference, predictor.name),
            "namespace": inference.metadata.namespace,
            "labels": labels_of(inference, predictor.name),
            "ownerReferences": [owner_of(inference)],
        },
        "spec": spec,
    }
