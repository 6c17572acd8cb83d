"""Autoscaling and request batching of a predictor."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import Record
from kubedl.schema.structural import KEEP_UNKNOWN, Rule

MAX_REPLICAS = 1000
MOST_METRICS = 16

ScalerKind = Literal["HorizontalPodAutoscaler", "ScaledObject"]

_OBJECTS: dict[str, Any] = {"items": {"type": "object", **KEEP_UNKNOWN}}


class AutoScaler(Record, frozen=True):
    """The autoscaler of a predictor."""

    kind: Annotated[
        ScalerKind,
        Meta(description="The kind of the autoscaler: HorizontalPodAutoscaler (Kubernetes) or ScaledObject (KEDA)."),
    ] = "HorizontalPodAutoscaler"
    name: Annotated[
        str,
        Meta(
            max_length=253,
            description="The name of an existing autoscaler for the predictor's Deployment. If set, the operator "
            "creates no autoscaler and leaves the number of replicas alone.",
        ),
    ] = ""
    api_version: Annotated[
        str, Meta(max_length=253, description="The API version of the autoscaler. Informational.")
    ] = ""
    namespace: Annotated[
        str,
        Meta(
            max_length=63,
            description="Not supported: the namespace is always that of the Inference. An Inference that sets it is "
            "rejected.",
        ),
    ] = ""
    field_path: Annotated[
        str, Meta(max_length=253, description="Not supported: an Inference that sets it is rejected.")
    ] = ""
    resource_version: Annotated[
        str, Meta(max_length=253, description="Not supported: an Inference that sets it is rejected.")
    ] = ""
    uid: Annotated[str, Meta(max_length=253, description="Not supported: an Inference that sets it is rejected.")] = ""

    __rules__: ClassVar[tuple[Rule, ...]] = tuple(
        Rule(
            f"!has(self.{name}) || self.{name} == ''",
            "an autoscaler is identified by kind and name only; remove the field",
            f".{field}",
            reason="FieldValueForbidden",
        )
        for field, name in (
            (
                "namespace",
                "__namespace__",
            ),  # a reserved word of CEL, which Kubernetes before 1.33 does not take as it is
            ("fieldPath", "fieldPath"),
            ("resourceVersion", "resourceVersion"),
            ("uid", "uid"),
        )
    )


class AutoScale(Record, frozen=True):
    """Bounds and metrics of autoscaling."""

    min_replicas: Annotated[
        int, Meta(ge=0, le=MAX_REPLICAS, description="The minimum number of replicas. 0 requires KEDA. Defaults to 1.")
    ] = 1
    max_replicas: Annotated[int, Meta(ge=1, le=MAX_REPLICAS, description="The maximum number of replicas.")] = 10
    auto_scaler: AutoScaler | None = None
    cpu: (
        Annotated[int, Meta(ge=1, le=1000, description="The target CPU utilization, in percent of the request.")] | None
    ) = None
    memory: (
        Annotated[int, Meta(ge=1, le=1000, description="The target memory utilization, in percent of the request.")]
        | None
    ) = None
    metrics: Annotated[
        tuple[RawObject, ...],
        Meta(
            max_length=MOST_METRICS,
            description="Additional metrics of the HorizontalPodAutoscaler (autoscaling/v2).",
            extra_json_schema=_OBJECTS,
        ),
    ] = ()
    behavior: (
        Annotated[
            RawObject, Meta(description="The scaling behavior, as in a HorizontalPodAutoscaler (autoscaling/v2).")
        ]
        | None
    ) = None
    triggers: Annotated[
        tuple[RawObject, ...],
        Meta(max_length=MOST_METRICS, description="Triggers of the KEDA ScaledObject.", extra_json_schema=_OBJECTS),
    ] = ()
    cooldown_seconds: (
        Annotated[
            int,
            Meta(
                ge=0, le=86_400, description="Seconds that KEDA waits after the last activity before it scales to zero."
            ),
        ]
        | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("self.maxReplicas >= self.minReplicas", "must not be less than minReplicas", ".maxReplicas"),
        Rule(
            "self.minReplicas > 0 || has(self.autoScaler) && self.autoScaler.kind == 'ScaledObject'",
            "scaling from zero requires KEDA: set autoScaler.kind to ScaledObject, or minReplicas to at least 1",
            ".minReplicas",
        ),
        Rule(
            "!has(self.triggers) || has(self.autoScaler) && self.autoScaler.kind == 'ScaledObject'",
            "triggers require KEDA: set autoScaler.kind to ScaledObject",
            ".triggers",
            reason="FieldValueForbidden",
        ),
        Rule(
            "!has(self.metrics) || !has(self.autoScaler) || self.autoScaler.kind == 'HorizontalPodAutoscaler'",
            "metrics require a HorizontalPodAutoscaler; use triggers for KEDA",
            ".metrics",
            reason="FieldValueForbidden",
        ),
        Rule(
            "!has(self.cooldownSeconds) || has(self.autoScaler) && self.autoScaler.kind == 'ScaledObject'",
            "requires KEDA: set autoScaler.kind to ScaledObject, or use behavior.scaleDown",
            ".cooldownSeconds",
            reason="FieldValueForbidden",
        ),
        *(
            Rule(
                f"!has(self.{field}) || !has(self.autoScaler) || self.autoScaler.?name.orValue('') == ''",
                "does not apply to an existing autoscaler: configure it there, or remove autoScaler.name",
                f".{field}",
                reason="FieldValueForbidden",
            )
            for field in ("cpu", "memory", "metrics", "behavior", "triggers", "cooldownSeconds")
        ),
        Rule(
            "self.minReplicas > 0 || has(self.triggers) && self.triggers.size() > 0",
            "CPU and memory cannot scale from zero: add another trigger",
            ".triggers",
            reason="FieldValueRequired",
        ),
    )


class Batching(Record, frozen=True):
    """Request batching, translated into the configuration of the model server."""

    batch_size: Annotated[int, Meta(ge=1, le=2**20, description="The maximum number of requests in a batch.")]
    timeout_seconds: (
        Annotated[int, Meta(ge=0, le=3600, description="Seconds that the first request of a batch waits for others.")]
        | None
    ) = None
    timeout_milliseconds: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=3_600_000,
                description="Milliseconds that the first request of a batch waits for others. Set this or "
                "timeoutSeconds.",
            ),
        ]
        | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.timeoutSeconds) || !has(self.timeoutMilliseconds)",
            "set one of timeoutSeconds and timeoutMilliseconds",
            ".timeoutMilliseconds",
        ),
    )

    @property
    def wait_milliseconds(self) -> int | None:
        """Return how long the first request of a batch waits, or None if unset."""
        if self.timeout_seconds is not None:
            return self.timeout_seconds * 1000
        return self.timeout_milliseconds
