"""Counters of what became of jobs, for rates and alerts: a finished job may be gone before the next scrape.

A transition is counted when the status that has it was written, which only the leader does, and only over the status
that it was computed from: so once, however often caches are filled anew. One whose answer was lost is not counted.
"""

from collections.abc import Iterable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Histogram

from kubedl.api.conditions import find, is_true
from kubedl.api.training import JobStatus, TrainingJob

OTHER = "Other"
# Reasons of the condition Failed. A label takes these alone, and all of them from the start: Prometheus does not see
# the first increase of a series that begins with it.
FAILURES = (
    "BackoffLimitExceeded",
    "CodeSyncFailed",
    "DeadlineExceeded",
    "ReplicaFailed",
    "Unsupported",
    OTHER,
)
FAILED, EVICTED = "Failed", "Evicted"  # why pods were replaced: by a fault of theirs, or not
RESTARTS = (FAILED, EVICTED, OTHER)
SECONDS = (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)
MOST_REMEMBERED = 10_000  # jobs whose first pod runs and whose last does not yet


class JobMetrics:
    """What is told to Prometheus about the lives of jobs."""

    def __init__(self, kinds: Iterable[str], registry: CollectorRegistry) -> None:
        self._created = Counter("kubedl_jobs_created", "Jobs that were taken up", ("kind",), registry=registry)
        self._succeeded = Counter("kubedl_jobs_succeeded", "Jobs that succeeded", ("kind",), registry=registry)
        self._failed = Counter(
            "kubedl_jobs_failed", "Jobs that failed, by the reason", ("kind", "reason"), registry=registry
        )
        self._restarted = Counter(
            "kubedl_jobs_restarted",
            "Times that pods of a job were replaced after they failed or were evicted",
            ("kind", "reason"),
            registry=registry,
        )
        self._launch = Histogram(
            "kubedl_jobs_launch_seconds",
            "Seconds from a job's creation until its first pod was ready, and until all ran",
            ("kind", "pods"),
            registry=registry,
            buckets=SECONDS,
        )
        self._first_seen: dict[str, None] = {}  # uids, in the order in which they came
        for kind in kinds:
            self._created.labels(kind)
            self._succeeded.labels(kind)
            for pods in ("first", "all"):
                self._launch.labels(kind, pods)
            for reason in FAILURES:
                self._failed.labels(kind, reason)
            for reason in RESTARTS:
                self._restarted.labels(kind, reason)

    def written(self, kind: str, made: TrainingJob, after: JobStatus, now: datetime) -> None:
        """The status of a job, which was as in `made`, was written."""
        before, uid = made.status, made.metadata.uid
        if not before.conditions:
            self._created.labels(kind).inc()
        if reason := _restart(before, after):
            self._restarted.labels(kind, reason).inc()
        self._launched(kind, made, after, now)
        if _became_true("Succeeded", before, after):
            self._succeeded.labels(kind).inc()
        elif _became_true("Failed", before, after):
            said = find(after.conditions, "Failed")
            known = said is not None and said.reason in FAILURES
            self._failed.labels(kind, said.reason if said is not None and known else OTHER).inc()
        if after.completion_time is not None:
            self._first_seen.pop(uid, None)

    def _launched(self, kind: str, made: TrainingJob, after: JobStatus, now: datetime) -> None:
        """Only of a job's first start: what is waited for after a restart has another cause."""
        before, uid = made.status, made.metadata.uid
        if find(before.conditions, "Running") is not None or _replaced(before):
            return
        # A job that was suspended began when it was resumed.
        resumed = find(after.conditions, "Suspended") is not None
        since = after.start_time if resumed else made.metadata.creation_timestamp
        if since is None:
            return
        seconds = max(0.0, (now - since).total_seconds())
        everybody = is_true(after.conditions, "Running")
        if uid not in self._first_seen and (everybody or _ready(after) > _ready(before) == 0):
            self._launch.labels(kind, "first").observe(seconds)
            self._first_seen[uid] = None
            if len(self._first_seen) > MOST_REMEMBERED:
                del self._first_seen[next(iter(self._first_seen))]
        if everybody:
            self._launch.labels(kind, "all").observe(seconds)
            self._first_seen.pop(uid, None)


def _became_true(condition: str, before: JobStatus, after: JobStatus) -> bool:
    return is_true(after.conditions, condition) and not is_true(before.conditions, condition)


def _ready(status: JobStatus) -> int:
    return sum(one.ready for one in status.replica_statuses.values())


def _replaced(status: JobStatus) -> bool:
    return status.attempt > 0 or any(one.restarts or one.evicted for one in status.replica_statuses.values())


def _restart(before: JobStatus, after: JobStatus) -> str:
    """Why pods were replaced; empty if none were."""
    faults, evictions = (
        sum(getattr(one, counted) for one in after.replica_statuses.values())
        - sum(getattr(one, counted) for one in before.replica_statuses.values())
        for counted in ("restarts", "evicted")
    )
    if faults > 0:
        return FAILED
    if evictions > 0:
        return EVICTED
    return OTHER if after.attempt > before.attempt else ""
