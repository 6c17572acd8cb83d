"""Plans the writes for the Workload of a job: create or adopt, deactivate, report, release. Pure.

Quota is given back only when the last pod of an evicted job is gone: whoever is admitted next finds its room free.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from kubedl.api.conditions import Condition, find, holding, is_finished, is_true, set_condition
from kubedl.api.training import RestartScope, TrainingJob, is_managed_elsewhere
from kubedl.training.kueue.types import ReclaimablePod, Workload, WorkloadStatus

POD_SETS = "training.kubedl.io/pod-sets"  # annotation: the digest of what Kueue counts
WAIT_FOR_START, WAIT_FOR_RECOVERY, RECOVERED = "WaitForStart", "WaitForRecovery", "Recovered"
REQUEUED = ("Preempted", "NodeFailures")  # evictions after which Kueue queues the job again by itself


@dataclass(frozen=True)
class Observed:
    """A job, its Workload, and whether it has pods."""

    job: TrainingJob
    queue: str  # that it asks for; empty if none
    pod_sets: str  # digest of what Kueue is to count
    workload: Workload | None
    has_pods: bool  # that have not ended
    scope: RestartScope
    now: datetime
    is_prebuilt: bool = False  # MultiKueue has created the Workload, before the job


@dataclass(frozen=True)
class Plan:
    """What to write."""

    create: bool = False
    adopt: bool = False
    delete: bool = False
    spec: dict[str, Any] | None = None  # fields to change
    status: WorkloadStatus | None = None


def plan(observed: Observed) -> Plan:
    """Return what to write for the Workload of a job now."""
    job, workload, queue = observed.job, observed.workload, observed.queue
    if job.metadata.deletion_timestamp is not None:
        return Plan()  # it is garbage-collected with the job
    if workload is None:
        wanted = bool(queue) and not is_finished(job.status.conditions)
        return Plan(create=wanted and not observed.is_prebuilt)
    leaving = workload.metadata.deletion_timestamp is not None
    if observed.is_prebuilt:
        return _plan_prebuilt(observed, workload)
    if not queue or (_is_outdated(observed, workload) and not is_true(workload.status.conditions, "QuotaReserved")):
        return Plan(delete=not leaving)
    status = _changed(_status(observed, workload), workload)
    if status is not None:
        return Plan(status=status)
    changes: dict[str, Any] = {}
    if workload.spec.active == job.spec.suspend:
        changes["active"] = not job.spec.suspend
    if workload.spec.queue_name != queue and not is_true(workload.status.conditions, "QuotaReserved"):
        changes["queueName"] = queue
    return Plan(spec=changes or None)


def _plan_prebuilt(observed: Observed, workload: Workload) -> Plan:
    """MultiKueue writes the spec of its Workload, and deletes it."""
    if workload.metadata.controller is None:
        return Plan(adopt=workload.metadata.deletion_timestamp is None)
    before = workload.status
    if not observed.has_pods and not is_true(before.conditions, "Finished") and _is_outdated(observed, workload):
        return Plan(status=_with(observed, before, "Finished", True, "OutOfSync", "the job asks for other pods"))
    return Plan(status=_changed(_status(observed, workload), workload))


def _changed(status: WorkloadStatus | None, workload: Workload) -> WorkloadStatus | None:
    return None if status == workload.status else status


def _is_outdated(observed: Observed, workload: Workload) -> bool:
    """Whether the job was resized or edited since: what Kueue counts cannot be changed."""
    over = is_finished(observed.job.status.conditions)
    return not over and workload.metadata.annotations.get(POD_SETS) != observed.pod_sets


def _status(observed: Observed, workload: Workload) -> WorkloadStatus | None:
    job, conditions = observed.job, workload.status.conditions
    if is_true(conditions, "Finished"):
        return None
    if is_finished(job.status.conditions):
        if observed.has_pods:
            return None  # they use the quota still
        reason = "Succeeded" if is_true(job.status.conditions, "Succeeded") else "Failed"
        return _with(observed, workload.status, "Finished", True, reason, job.status.message or reason)
    evicted = holding(conditions, "Evicted")
    if evicted is not None:
        over = workload.status.admission is not None and _has_given_way(observed)
        return _released(observed, workload, evicted) if over else None
    if not is_true(conditions, "Admitted"):
        return None
    status = _pods_ready(observed, workload.status)
    return msgspec.structs.replace(status, reclaimable_pods=_reclaimable(observed))


def _has_given_way(observed: Observed) -> bool:
    """Whether the job has no pods and creates none.

    A pod that is being created may not be in the cache yet. Who creates pods says Suspended when it has seen all of
    them, and the eviction. A job of another cluster may have no status, if it was never dispatched.
    """
    job = observed.job
    suspended = is_true(job.status.conditions, "Suspended") or is_managed_elsewhere(job)
    return suspended and not observed.has_pods


def _pods_ready(observed: Observed, status: WorkloadStatus) -> WorkloadStatus:
    """Kueue evicts a job that takes too long to start, and by another clock one that takes too long to recover."""
    before, ready = find(status.conditions, "PodsReady"), is_true(observed.job.status.conditions, "PodsReady")
    if before is None and not ready:
        return status
    has_started = before is not None and (before.status == "True" or before.reason == WAIT_FOR_RECOVERY)
    if not ready:
        reason = WAIT_FOR_RECOVERY if has_started else WAIT_FOR_START
    elif before is not None and before.reason in (WAIT_FOR_RECOVERY, RECOVERED):
        reason = RECOVERED
    else:
        reason = "Started"
    return _with(observed, status, "PodsReady", ready, reason, observed.job.status.ready)


def _reclaimable(observed: Observed) -> tuple[ReclaimablePod, ...]:
    """The pods that have succeeded, unless they run again when another one fails."""
    job = observed.job
    if observed.scope == "Job":
        return ()
    roles = job.status.replica_statuses.items()
    return tuple(ReclaimablePod(name=role.lower(), count=one.succeeded) for role, one in roles if one.succeeded)


def _released(observed: Observed, workload: Workload, evicted: Condition) -> WorkloadStatus:
    """The status without quota, after which Kueue admits the next."""
    message = evicted.message
    status = msgspec.structs.replace(workload.status, admission=None, reclaimable_pods=())
    if find(status.conditions, "PodsReady") is not None:
        status = _with(observed, status, "PodsReady", False, WAIT_FOR_START, message)
    status = _with(observed, status, "QuotaReserved", False, "Pending", message)
    status = _with(observed, status, "Admitted", False, "NoReservation", message)
    return _with(observed, status, "Requeued", evicted.reason in REQUEUED, evicted.reason, message)


def _with(
    observed: Observed, status: WorkloadStatus, kind: str, holds: bool, reason: str, message: str
) -> WorkloadStatus:
    generation = observed.workload.metadata.generation if observed.workload is not None else 0
    new = Condition(
        type=kind,
        status="True" if holds else "False",
        reason=reason,
        message=message,
        observed_generation=generation,
    )
    return msgspec.structs.replace(status, conditions=set_condition(status.conditions, new, observed.now))
