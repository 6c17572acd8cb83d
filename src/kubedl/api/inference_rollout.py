"""How a predictor goes from one model version to the next: step by step, as long as what is measured is good."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.schema.structural import Rule
from kubedl.wire.meta import Record

MOST_STEPS = 20

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

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.errorRate) || has(self.p99)", "errorRate, p99, or both: what is judged"),
    )


class Rollout(Record, frozen=True):
    """How a predictor whose modelVersion changes goes over to the new one."""

    steps: Annotated[
        tuple[Step, ...], Meta(min_length=1, max_length=MOST_STEPS, description="One after the other; then all.")
    ]
    analysis: Analysis | None = None


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
    handled: Annotated[str, Meta(description="The last word of a person that was done.")] = ""
    words: Annotated[int, Meta(description="Which of all words of persons that was.")] = 0
