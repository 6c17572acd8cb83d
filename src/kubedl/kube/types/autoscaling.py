"""Autoscalers: HorizontalPodAutoscaler (autoscaling/v2) and KEDA's ScaledObject; only their metadata is read."""

from kubedl.kube.types.meta import ObjectMeta, Record, Resource


class Scaler(Record, frozen=True):
    """An autoscaler."""

    metadata: ObjectMeta = ObjectMeta()


AUTOSCALERS = Resource(Scaler, "HorizontalPodAutoscaler", "horizontalpodautoscalers", "v2", "autoscaling")
SCALED_OBJECTS = Resource(Scaler, "ScaledObject", "scaledobjects", "v1alpha1", "keda.sh")
