"""What the console sends about jobs of the past."""

from collections.abc import Sequence
from datetime import datetime

from kubedl.console.wire_base import Missing, Wire
from kubedl.console.wire_cost import Money


class PastJobRow(Wire, frozen=True):
    """A job as the history has it."""

    uid: str
    namespace: str
    kind: str
    name: str
    state: str  # Deleted: it was deleted before it ended; Lost: nobody knows how it ended
    reason: str
    user: str  # as the job stated it
    queue: str
    gpus: int
    restarts: int
    model_version: str
    created: datetime
    started: datetime | None
    finished: datetime | None
    deleted: datetime | None  # None: it is not known to be
    deletion: str  # Observed, or Missed: `deleted` is when its absence was noticed


class PastJobList(Wire, frozen=True):
    """A page of jobs that were deleted, newest first. If `next` is not empty there may be more."""

    installed: bool
    rows: Sequence[PastJobRow]  # at most 100
    next: str
    hidden_namespaces: int


class PastPodRow(Wire, frozen=True):
    """A pod of such a job."""

    uid: str
    name: str
    replica: str  # worker-0
    attempt: int
    phase: str
    reason: str
    exit_code: int | None
    node: str
    restarts: int
    started: datetime | None
    finished: datetime | None
    log: str  # where its log is archived; empty: it is not
    log_cut: bool  # only the end of the log was kept
    log_readable: bool  # the console can show it to this person


class PastEventRow(Wire, frozen=True):
    """An event about the job or one of its pods."""

    about: str  # Pod/bert-worker-0
    type: str
    reason: str
    message: str
    count: int
    time: datetime


class ReceiptLine(Wire, frozen=True):
    """What was used on one day in one pool of nodes."""

    day: str  # 2026-11-17, in UTC
    pool: str
    spot: bool
    gpu_seconds: int
    cpu_seconds: int
    memory_gib_seconds: int
    cost: Money | None  # None: there is no price for it


class Receipt(Wire, frozen=True):
    """What a job used and cost."""

    waiting_seconds: int
    running_seconds: int
    restarted_seconds: int  # of pods that failed and were replaced
    lost_seconds: int  # of pods that were evicted, preempted or lost with their node
    gpu_seconds: int
    cpu_seconds: int
    memory_gib_seconds: int
    cost: Money | None  # None: there is no price for any of it
    unpriced: bool  # a part of it has no price
    lines: Sequence[ReceiptLine]


class PastJobPage(Wire, frozen=True):
    """One job. A part that the caller may not see is empty and named in `missing`."""

    job: PastJobRow
    message: str
    pods: Sequence[PastPodRow]  # at most 1,000
    events: Sequence[PastEventRow]  # newest first, at most 500
    receipt: Receipt | None  # None: it has not ended, or no receipt was written
    missing: Sequence[Missing]
