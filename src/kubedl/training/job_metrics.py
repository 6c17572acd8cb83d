"""Counters of job results, for rates and alerts: a finished job may be deleted before the next scrape.

A transition is counted after its status was written. Only the leader writes, and only over the version that it read, so
each is counted once, however often caches are synced. A write whose response was lost is not counted.
"""

from collections.abc import Iterable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Histogram

from kubedl.api.conditions import find, is_true
from kubedl.api.training import JobStatus, TrainingJob, cron_policy

OTHER = "Other"
# Reasons of the condition Failed. Only these are label values, and all exist from the start: Prometheus does not see
# the increase of a new series.
FAILURES = (
    "BackoffLimitExceeded",
    "CodeSyncFailed",
    "DeadlineExceeded",
    "ReplicaFailed",
    "Unsupported",
    OTHER,
)
FAILED, EVICTED = "Failed", "Evicted"  # why pods were replaced: failure or disruption
RESTARTS = (FAILED, EVICTED, OTHER)
SECONDS = (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)
MOST_REMEMBERED = 10_000  # jobs whose first pod is running and whose last one is not yet


class JobMetrics:
    """Prometheus metrics of jobs."""

    def __init__(self, kinds: Iterable[str], registry: CollectorRegistry) -> None:
        self._created = Counter("kubedl_jobs_created", "Jobs that were started", ("kind",), registry=registry)
        self._succeeded = Counter("kubedl_jobs_succeeded", "Jobs that succeeded", ("kind",), registry=registry)
        self._failed = Counter(
            "kubedl_jobs_failed", "Jobs that failed, by reason", ("kind", "reason"), registry=registry
        )
        self._restarted = Counter(
            "kubedl_jobs_restarted",
            "Pod replacements of jobs after failures or evictions",
            ("kind", "reason"),
            registry=registry,
        )
        self._launch = Histogram(
            "kubedl_jobs_launch_seconds",
            "Seconds from the creation of a job until its first pod was ready, and until all were running",
            ("kind", "pods"),
            registry=registry,
            buckets=SECONDS,
        )
        self._first_seen: dict[str, None] = {}  # uids, oldest first
        for kind in kinds:
            self._created.labels(kind)
            self._succeeded.labels(kind)
            for pods in ("first", "all"):
                self._launch.labels(kind, pods)
            for reason in FAILURES:
                self._failed.labels(kind, reason)
            for reason in RESTARTS:
                self._restarted.labels(kind, reason)

    def written(self, kind: str, resource: TrainingJob, after: JobStatus, now: datetime) -> None:
        """Record that the status of a job, previously that of `made`, was written."""
        before, uid = resource.status, resource.metadata.uid
        if not before.conditions and cron_policy(resource) is None:
            self._created.labels(kind).inc()
        if reason := _restart(before, after):
            self._restarted.labels(kind, reason).inc()
        self._launched(kind, resource, after, now)
        if _became_true("Succeeded", before, after):
            self._succeeded.labels(kind).inc()
        elif _became_true("Failed", before, after):
            condition = find(after.conditions, "Failed")
            known = condition is not None and condition.reason in FAILURES
            self._failed.labels(kind, condition.reason if condition is not None and known else OTHER).inc()
        if after.completion_time is not None:
            self._first_seen.pop(uid, None)

    def _launched(self, kind: str, resource: TrainingJob, after: JobStatus, now: datetime) -> None:
        """Observe the start of a job, only the first one: delays after a restart have other causes."""
        before, uid = resource.status, resource.metadata.uid
        if find(before.conditions, "Running") is not None or _replaced(before):
            return
        # A suspended job starts when it is resumed.
        resumed = find(after.conditions, "Suspended") is not None
        since = after.start_time if resumed else resource.metadata.creation_timestamp
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
    """Return why pods were replaced; empty if none were."""
    faults, evictions = (
        sum(getattr(status, counted) for status in after.replica_statuses.values())
        - sum(getattr(one, counted) for one in before.replica_statuses.values())
        for counted in ("restarts", "evicted")
    )
    if faults > 0:
        return FAILED
    if evictions > 0:
        return EVICTED
    return OTHER if after.attempt > before.attempt else ""
