"""How a predictor goes from one model version to the next: step by step, as long as what is measured is good.

How its pods are replaced when anything else of it changes is its strategy.
"""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.schema.structural import Rule
from kubedl.wire.meta import Record

MOST_STEPS = 20
_PODS: dict[str, object] = {"minimum": 0, "maxLength": 4, "pattern": "^(100|[1-9]?[0-9])%$"}  # a number, or percent

Phase = Literal["Stable", "Starting", "Stepping", "Promoting", "RolledBack"]


class Step(Record, frozen=True):
    """A share of the predictor's requests that the next version gets, and for how long."""

    weight: Annotated[int, Meta(ge=1, le=100, description="Percent of the predictor's requests.")]
    pause: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=7 * 86_400,
                description="Seconds until the next step. Left out, somebody has to promote the version.",
            ),
        ]
        | None
    ) = None


class Analysis(Record, frozen=True):
    """What must hold of the requests to the next version, or it is rolled back."""

    error_rate: Annotated[float, Meta(ge=0, le=100, description="Percent of requests that may fail.")] | None = None
    p99: (
        Annotated[int, Meta(ge=1, le=3_600_000, description="Milliseconds within which 99 of 100 are answered.")] | None
    ) = None
    min_requests: Annotated[
        int, Meta(ge=1, le=10**9, description="A step lasts at least until so many requests were answered.")
    ] = 100
    deadline_seconds: Annotated[
        int,
        Meta(
            ge=60,
            le=30 * 86_400,
            description="How long a step may wait for minRequests and for metrics after its pause; then the version is "
            "rolled back.",
        ),
    ] = 86_400

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.errorRate) || has(self.p99)", "errorRate, p99, or both: what is judged"),
    )


class Rollout(Record, frozen=True):
    """How a predictor whose modelVersion changes goes over to the new one."""

    steps: Annotated[
        tuple[Step, ...], Meta(min_length=1, max_length=MOST_STEPS, description="One after the other; then all.")
    ]
    analysis: Analysis | None = None
    start_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=7 * 86_400,
            description="How long the pods of the new version may take to become ready, and those of the predictor to "
            "be replaced, before the version is rolled back. The time in which a model is copied into a pod (loader "
            "InitCopy) does not count.",
        ),
    ] = 600


class Strategy(Record, frozen=True):
    """How the pods of a predictor are replaced when its template changes, or its modelVersion without a rollout."""

    type: Annotated[
        Literal["RollingUpdate", "Recreate"],
        Meta(description="RollingUpdate replaces pods a few at a time; Recreate removes all old pods first."),
    ] = "RollingUpdate"
    max_unavailable: Annotated[
        int | str | None,
        Meta(
            description="How many pods, or which percentage of them, may be missing meanwhile; 0 if left out. Set it "
            "where there is no room for a further pod, as when every GPU is in use.",
            extra_json_schema=_PODS,
        ),
    ] = None
    max_surge: Annotated[
        int | str | None,
        Meta(
            description="How many pods, or which percentage of them, there may be beyond replicas; 25% if left out.",
            extra_json_schema=_PODS,
        ),
    ] = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.type != 'Recreate' || !has(self.maxUnavailable) && !has(self.maxSurge)",
            "maxUnavailable and maxSurge are for RollingUpdate",
            ".type",
            reason="FieldValueForbidden",
        ),
        Rule(
            "!has(self.maxSurge) || !(string(self.maxSurge) in ['0', '0%']) || "
            "has(self.maxUnavailable) && !(string(self.maxUnavailable) in ['0', '0%'])",
            "maxUnavailable and maxSurge cannot both be 0: no pod could be replaced",
            ".maxUnavailable",
        ),
    )


class RolloutStatus(Record, frozen=True):
    """How far a predictor is on its way from one version to the next."""

    phase: Annotated[Phase, Meta(description="What is being done.")] = "Stable"
    stable: Annotated[str, Meta(description="The ModelVersion that serves.")] = ""
    candidate: Annotated[str, Meta(description="The ModelVersion that is tried.")] = ""
    rejected: Annotated[str, Meta(description="The ModelVersion that was tried and rolled back.")] = ""
    step: Annotated[int, Meta(description="Which step it is at, counted from 0.")] = 0
    since: Annotated[datetime | None, Meta(description="Since when it is at this step, without interruption.")] = None
    step_since: Annotated[datetime | None, Meta(description="Since when requests count for this step.")] = None
    interruptions: Annotated[int, Meta(description="How often it lost its last ready pod at this step.")] = 0
    reason: Annotated[str, Meta(description="Why, in a word for programs.")] = ""
    message: Annotated[str, Meta(description="Why, in a sentence for people.")] = ""
    handled: Annotated[str, Meta(description="The value of the rollout annotation that was last acted on.")] = ""
    words: Annotated[int, Meta(description="How many values of the rollout annotation were acted on.")] = 0
