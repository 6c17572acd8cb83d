"""Autoscaling of predictors: HorizontalPodAutoscaler or KEDA, which then alone set the number of replicas."""

from typing import Any

from kubedl.api.inference import INFERENCES, Inference, Predictor
from kubedl.api.inference_scaling import AutoScale
from kubedl.kube.types.apps import DEPLOYMENTS
from kubedl.kube.types.autoscaling import AUTOSCALERS, SCALED_OBJECTS
from kubedl.kube.types.meta import Resource
from kubedl.runtime.ownership import owner_reference
from kubedl.serving.naming import predictor_labels, predictor_name
from kubedl.serving.workload.template import Body

DEFAULT_CPU = 80  # percent, the default


def scaler(inference: Inference, predictor: Predictor) -> tuple[Resource[Any], Body] | None:
    """Return the autoscaler of a predictor; None if its size is fixed, or another autoscaler is named."""
    autoscale = predictor.auto_scale
    if autoscale is None or (autoscale.auto_scaler is not None and autoscale.auto_scaler.name):
        return None
    if autoscale.auto_scaler is not None and autoscale.auto_scaler.kind == SCALED_OBJECTS.kind:
        return SCALED_OBJECTS, _object(SCALED_OBJECTS, inference, predictor, _keda(autoscale, inference, predictor))
    return AUTOSCALERS, _object(AUTOSCALERS, inference, predictor, _own(autoscale, inference, predictor))


def first_replicas(predictor: Predictor) -> int | None:
    """Return the initial replicas of a Deployment that an autoscaler scales; None if the operator sets its replicas."""
    autoscale = predictor.auto_scale
    return None if autoscale is None else max(1, autoscale.min_replicas)


def _own(autoscale: AutoScale, inference: Inference, predictor: Predictor) -> Body:
    metrics = [_resource("cpu", autoscale.cpu), _resource("memory", autoscale.memory)]
    named = [one for one in metrics if one is not None] + [obj.unpack() for obj in autoscale.metrics]
    return {
        "scaleTargetRef": _target(inference, predictor),
        "minReplicas": autoscale.min_replicas,
        "maxReplicas": autoscale.max_replicas,
        "metrics": named or [_resource("cpu", DEFAULT_CPU)],
        **({"behavior": autoscale.behavior.unpack()} if autoscale.behavior is not None else {}),
    }


def _keda(autoscale: AutoScale, inference: Inference, predictor: Predictor) -> Body:
    metrics = (("cpu", autoscale.cpu), ("memory", autoscale.memory))
    triggers = [
        {"type": name, "metricType": "Utilization", "metadata": {"value": str(percent)}}
        for name, percent in metrics
        if percent is not None
    ] + [obj.unpack() for obj in autoscale.triggers]
    default = {"type": "cpu", "metricType": "Utilization", "metadata": {"value": str(DEFAULT_CPU)}}
    advanced = (
        {"horizontalPodAutoscalerConfig": {"behavior": autoscale.behavior.unpack()}} if autoscale.behavior else {}
    )
    return {
        "scaleTargetRef": _target(inference, predictor),
        "minReplicaCount": autoscale.min_replicas,
        "maxReplicaCount": autoscale.max_replicas,
        "triggers": triggers or [default],
        **({"cooldownPeriod": autoscale.cooldown_seconds} if autoscale.cooldown_seconds is not None else {}),
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
    return {
        "apiVersion": DEPLOYMENTS.api_version,
        "kind": DEPLOYMENTS.kind,
        "name": predictor_name(inference, predictor.name),
    }


def _object(resource: Resource[Any], inference: Inference, predictor: Predictor, spec: Body) -> Body:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": predictor_name(inference, predictor.name),
            "namespace": inference.metadata.namespace,
            "labels": predictor_labels(inference, predictor.name),
            "ownerReferences": [owner_reference(INFERENCES, inference)],
        },
        "spec": spec,
    }
