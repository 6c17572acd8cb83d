"""Canary rollout of a predictor to another model version: step by step, while the metrics stay within their limits.

The update strategy says how pods are replaced when another field of the predictor changes.
"""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.kube.types.meta import Record
from kubedl.schema.structural import Rule

MOST_STEPS = 20
_PODS: dict[str, object] = {
    "minimum": 0,
    "maxLength": 4,
    "pattern": "^(100|[1-9]?[0-9])%$",
}  # a number, or a percentage

Phase = Literal["Stable", "Starting", "Stepping", "Promoting", "RolledBack"]


class Step(Record, frozen=True):
    """One step of a canary rollout: a traffic weight and a duration."""

    weight: Annotated[
        int, Meta(ge=1, le=100, description="The percentage of the predictor's traffic that the canary gets.")
    ]
    pause: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=7 * 86_400,
                description="Seconds until the next step. If unset, the rollout waits for a manual promotion "
                "(annotation serving.kubedl.io/rollout).",
            ),
        ]
        | None
    ) = None


class Analysis(Record, frozen=True):
    """Limits for the metrics of the canary. The canary is rolled back if it exceeds one."""

    error_rate: (
        Annotated[float, Meta(ge=0, le=100, description="The highest error rate, in percent of requests.")] | None
    ) = None
    p99: Annotated[int, Meta(ge=1, le=3_600_000, description="The highest p99 latency, in milliseconds.")] | None = None
    min_requests: Annotated[
        int, Meta(ge=1, le=10**9, description="The least number of requests that a step needs before it can pass.")
    ] = 100
    deadline_seconds: Annotated[
        int,
        Meta(
            ge=60,
            le=30 * 86_400,
            description="Seconds that a step may wait for minRequests and for metrics after its pause. After that "
            "the canary is rolled back.",
        ),
    ] = 86_400

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.errorRate) || has(self.p99)", "set errorRate, p99 or both"),
    )


class Rollout(Record, frozen=True):
    """Canary rollout of a predictor whose modelVersion changes."""

    steps: Annotated[
        tuple[Step, ...],
        Meta(
            min_length=1,
            max_length=MOST_STEPS,
            description="The steps, in order. After the last one the canary is promoted.",
        ),
    ]
    analysis: Analysis | None = None
    start_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=7 * 86_400,
            description="Seconds in which the pods of the canary must become ready, and in which the pods of the "
            "predictor must be replaced; otherwise the canary is rolled back. Copying a model into a pod (loader "
            "InitCopy) does not count.",
        ),
    ] = 600


class Strategy(Record, frozen=True):
    """How the pods of a predictor are replaced when its template changes, or its modelVersion without a rollout."""

    type: Annotated[
        Literal["RollingUpdate", "Recreate"],
        Meta(
            description="RollingUpdate, the default, replaces a few pods at a time; Recreate deletes all old pods "
            "first."
        ),
    ] = "RollingUpdate"
    max_unavailable: Annotated[
        int | str | None,
        Meta(
            description="The number or percentage of pods that may be unavailable during an update. Defaults to 0. "
            "Set it where there is no room for another pod, for example when every GPU is in use.",
            extra_json_schema=_PODS,
        ),
    ] = None
    max_surge: Annotated[
        int | str | None,
        Meta(
            description="The number or percentage of pods above replicas during an update. Defaults to 25%.",
            extra_json_schema=_PODS,
        ),
    ] = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.type != 'Recreate' || !has(self.maxUnavailable) && !has(self.maxSurge)",
            "maxUnavailable and maxSurge require type RollingUpdate",
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
    """The state of a canary rollout."""

    phase: Annotated[Phase, Meta(description="The phase of the rollout.")] = "Stable"
    stable: Annotated[str, Meta(description="The ModelVersion that is stable.")] = ""
    candidate: Annotated[str, Meta(description="The ModelVersion of the canary.")] = ""
    rejected: Annotated[str, Meta(description="The ModelVersion of the last canary that was rolled back.")] = ""
    step: Annotated[int, Meta(description="The index of the current step, from 0.")] = 0
    since: Annotated[
        datetime | None, Meta(description="The time since which the canary has been at this step without interruption.")
    ] = None
    step_since: Annotated[datetime | None, Meta(description="The time since which requests count for this step.")] = (
        None
    )
    interruptions: Annotated[int, Meta(description="How often the canary lost its last ready pod at this step.")] = 0
    reason: Annotated[str, Meta(description="Why the rollout is in this phase, in CamelCase, for programs.")] = ""
    message: Annotated[str, Meta(description="Why the rollout is in this phase, as a human-readable message.")] = ""
    last_command: Annotated[str, Meta(description="The last command in the rollout annotation that was handled.")] = ""
    last_command_number: Annotated[
        int, Meta(description="The number of commands in the rollout annotation that were handled.")
    ] = 0
