"""How the replicas of a predictor follow its load, and how it puts requests together into batches."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from kubedl.schema.structural import KEEP_UNKNOWN, Rule
from kubedl.wire.codec import Opaque
from kubedl.wire.meta import Record

MAX_REPLICAS = 1000
MOST_METRICS = 16

ScalerKind = Literal["HorizontalPodAutoscaler", "ScaledObject"]

_OBJECTS: dict[str, Any] = {"items": {"type": "object", **KEEP_UNKNOWN}}


class AutoScaler(Record, frozen=True):
    """What scales."""

    kind: Annotated[ScalerKind, Meta(description="HorizontalPodAutoscaler of Kubernetes, or ScaledObject of KEDA.")] = (
        "HorizontalPodAutoscaler"
    )
    name: Annotated[
        str,
        Meta(
            max_length=253,
            description="An autoscaler that somebody else makes for the predictor's Deployment. None is made then, and "
            "the number of replicas is left alone.",
        ),
    ] = ""
    api_version: Annotated[str, Meta(max_length=253, description="Of that autoscaler; of meaning to people only.")] = ""
    namespace: Annotated[str, Meta(max_length=63, description="Refused: it is the Inference's own.")] = ""
    field_path: Annotated[str, Meta(max_length=253, description="Refused: it has no meaning here.")] = ""
    resource_version: Annotated[str, Meta(max_length=253, description="Refused: it has no meaning here.")] = ""
    uid: Annotated[str, Meta(max_length=253, description="Refused: it has no meaning here.")] = ""

    __rules__: ClassVar[tuple[Rule, ...]] = tuple(
        Rule(
            f"!has(self.{field}) || self.{field} == ''",
            "an autoscaler is known by its kind and its name",
            f".{field}",
            reason="FieldValueForbidden",
        )
        for field in ("namespace", "fieldPath", "resourceVersion", "uid")
    )


class AutoScale(Record, frozen=True):
    """Between how many replicas, and by what."""

    min_replicas: Annotated[
        int, Meta(ge=0, le=MAX_REPLICAS, description="The least; 0 needs KEDA, which can start the first one.")
    ] = 1
    max_replicas: Annotated[int, Meta(ge=1, le=MAX_REPLICAS, description="The most.")] = 10
    auto_scaler: AutoScaler | None = None
    cpu: (
        Annotated[int, Meta(ge=1, le=1000, description="Percent of the requested CPU to be used on average.")] | None
    ) = None
    memory: (
        Annotated[int, Meta(ge=1, le=1000, description="Percent of the requested memory to be used on average.")] | None
    ) = None
    metrics: Annotated[
        tuple[Opaque, ...],
        Meta(
            max_length=MOST_METRICS,
            description="Further metrics of a HorizontalPodAutoscaler (autoscaling/v2), as written there.",
            extra_json_schema=_OBJECTS,
        ),
    ] = ()
    behavior: (
        Annotated[Opaque, Meta(description="How fast it scales, as a HorizontalPodAutoscaler (autoscaling/v2) has it.")]
        | None
    ) = None
    triggers: Annotated[
        tuple[Opaque, ...],
        Meta(max_length=MOST_METRICS, description="Triggers of KEDA, as written there.", extra_json_schema=_OBJECTS),
    ] = ()
    cooldown_seconds: (
        Annotated[int, Meta(ge=0, le=86_400, description="How long KEDA waits before it scales to zero.")] | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("self.maxReplicas >= self.minReplicas", "not less than minReplicas", ".maxReplicas"),
        Rule(
            "self.minReplicas > 0 || has(self.autoScaler) && self.autoScaler.kind == 'ScaledObject'",
            "only KEDA can start the first replica: set autoScaler.kind to ScaledObject, or begin with 1",
            ".minReplicas",
        ),
        Rule(
            "!has(self.triggers) || has(self.autoScaler) && self.autoScaler.kind == 'ScaledObject'",
            "triggers are KEDA's: set autoScaler.kind to ScaledObject",
            ".triggers",
            reason="FieldValueForbidden",
        ),
        Rule(
            "!has(self.metrics) || !has(self.autoScaler) || self.autoScaler.kind == 'HorizontalPodAutoscaler'",
            "metrics are a HorizontalPodAutoscaler's; write them as triggers for KEDA",
            ".metrics",
            reason="FieldValueForbidden",
        ),
        Rule(
            "!has(self.cooldownSeconds) || has(self.autoScaler) && self.autoScaler.kind == 'ScaledObject'",
            "KEDA's: set autoScaler.kind to ScaledObject, or write behavior.scaleDown",
            ".cooldownSeconds",
            reason="FieldValueForbidden",
        ),
        *(
            Rule(
                f"!has(self.{field}) || !has(self.autoScaler) || self.autoScaler.?name.orValue('') == ''",
                "an autoscaler that somebody else makes has its own: write it there, or leave autoScaler.name out",
                f".{field}",
                reason="FieldValueForbidden",
            )
            for field in ("cpu", "memory", "metrics", "behavior", "triggers", "cooldownSeconds")
        ),
        Rule(
            "self.minReplicas > 0 || has(self.triggers) && self.triggers.size() > 0",
            "CPU and memory cannot tell when a first replica is needed: name a trigger that can",
            ".triggers",
            reason="FieldValueRequired",
        ),
    )


class Batching(Record, frozen=True):
    """How many requests the server computes at once; translated into the server's own setting."""

    batch_size: Annotated[int, Meta(ge=1, le=2**20, description="The most requests in a batch.")]
    timeout_seconds: (
        Annotated[int, Meta(ge=0, le=3600, description="How long the first request of a batch waits for others.")]
        | None
    ) = None
    timeout_milliseconds: (
        Annotated[int, Meta(ge=0, le=3_600_000, description="The same, where a second is too long.")] | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.timeoutSeconds) || !has(self.timeoutMilliseconds)",
            "one of timeoutSeconds and timeoutMilliseconds",
            ".timeoutMilliseconds",
        ),
    )

    @property
    def wait_milliseconds(self) -> int | None:
        """How long the first request waits, if that is said."""
        if self.timeout_seconds is not None:
            return self.timeout_seconds * 1000
        return self.timeout_milliseconds
