"""What queries answer. The same structs are the JSON of the HTTP API and the objects of the client."""

from datetime import datetime
from typing import Any

import msgspec


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of all answers."""


class JobSummary(Answer, frozen=True):
    """A job in a list."""

    uid: str
    namespace: str
    kind: str
    name: str
    user_name: str
    user_source: str  # how the user is known: User, Tenancy or empty
    queue: str
    state: str
    reason: str
    created: datetime
    started: datetime | None
    finished: datetime | None
    deleted: datetime | None
    deletion: str  # Observed, Missed or empty
    gpus: int
    restarts: int
    model_version: str


class JobPage(Answer, frozen=True):
    """A page of jobs. If `next` is not empty there may be more, also if this page is short."""

    jobs: tuple[JobSummary, ...]
    next: str = ""


class PodRecord(Answer, frozen=True):
    """A pod of a job."""

    uid: str
    name: str
    role: str
    replica_index: int
    attempt: int
    phase: str
    reason: str
    exit_code: int | None
    node: str
    created: datetime
    scheduled: datetime | None
    started: datetime | None
    finished: datetime | None
    deleted: datetime | None
    restarts: int
    disrupted: bool
    cpu_millis: int
    memory_bytes: int
    gpus: int


class EventRecord(Answer, frozen=True):
    """An event about a job or one of its pods."""

    object_kind: str
    object_name: str
    type: str
    reason: str
    message: str
    reporter: str
    count: int
    created: datetime
    last_seen: datetime


class JobDetail(Answer, frozen=True):
    """A job with everything that is recorded about it, each list up to its bound."""

    job: JobSummary
    body: dict[str, Any]
    pods: tuple[PodRecord, ...]
    events: tuple[EventRecord, ...]


class StatisticsRow(Answer, frozen=True):
    """How many jobs of one group were created in a time range."""

    group: tuple[str, ...]  # the values of the columns asked for, in their order; days as 2026-11-17
    jobs: int
    gpus: int  # requested by all of them together


class RunningJob(Answer, frozen=True):
    """A running job, and its share of the cluster's GPUs; None if the cluster has none, or is not recorded."""

    job: JobSummary
    share: float | None


class ObjectRecord(Answer, frozen=True):
    """A ModelVersion, an Inference or a Cron."""

    uid: str
    namespace: str
    kind: str
    name: str
    user_name: str
    state: str
    reason: str
    created: datetime
    finished: datetime | None
    deleted: datetime | None
    parent_uid: str
    body: dict[str, Any]


class Lineage(Answer, frozen=True):
    """Where a model comes from. What was never recorded, or is older than the retention, is None."""

    version: ObjectRecord
    job: JobSummary | None
    code: dict[str, Any] | None
    data: dict[str, Any] | None
    images: tuple[str, ...]  # of the job's containers


class Trained(Answer, frozen=True):
    """A job that made a version of a model. What was never recorded is None."""

    job: JobSummary
    code: dict[str, Any] | None
    data: dict[str, Any] | None


class ReceiptRecord(Answer, frozen=True):
    """What a job used and cost. Costs are millionths of the currency; without a price book, zero of none."""

    uid: str
    namespace: str
    kind: str
    name: str
    user_name: str
    queue: str
    state: str
    created: datetime
    finished: datetime | None
    waiting_seconds: int
    running_seconds: int
    restarted_seconds: int
    lost_seconds: int
    cpu_seconds: int
    memory_gib_seconds: int
    gpu_seconds: int
    cost_micros: int
    currency: str
    price_book: str


class ReceiptLineRecord(Answer, frozen=True):
    """The amounts of one day in one pool."""

    day: str
    pool: str
    spot: bool
    cpu_seconds: int
    memory_gib_seconds: int
    gpu_seconds: int
    cost_micros: int


class SpendRow(Answer, frozen=True):
    """What a group used and spent."""

    group: tuple[str, ...]  # the values of the columns asked for, in their order
    currency: str
    cpu_seconds: int
    memory_gib_seconds: int
    gpu_seconds: int
    cost_micros: int


class WasteRow(Answer, frozen=True):
    """How long the jobs of a team waited, and which time of their pods had no result."""

    team: str
    jobs: int
    waiting_seconds: int  # of jobs, until their first pod was bound to a node
    restarted_seconds: int  # of pods that failed and were replaced
    lost_seconds: int  # of pods that were evicted, preempted or lost with their node
