"""Restarts after failures: which replicas get a new attempt, how it counts, and what is reported.

Moving is recorded in status before any pod is deleted, and a pod of an older attempt is never judged again. So each
failure is counted once, whenever the operator dies.
"""

from dataclasses import replace

import msgspec

from kubedl.api.training import ReplicaStatus, RestartScope
from kubedl.kube.types.core import Pod
from kubedl.training import completion_messages, labels, last_failure, lost_nodes, replica_status
from kubedl.training.addons import registry
from kubedl.training.completion_messages import Outcome
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import EventType, PlanBuilder
from kubedl.training.policies import index_ranges, restart_backoff, success_policy
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.failure_policy import Failure, FailureClass, classify
from kubedl.training.policies.root_cause import root_cause
from kubedl.training.policies.safe_time import LONG_AGO
from kubedl.training.spot import losses


def scope(observed: Observed) -> RestartScope:
    """Return the restart scope of the job: one replica or all."""
    return job_scope(observed.kind, observed.job)


def job_scope(kind: Kind, job: Job) -> RestartScope:
    """Return the restart scope of a job, or that of its kind."""
    chosen: RestartScope | None = job.spec.restart_scope
    return chosen or kind.restart_scope(job)


def remove(builder: PlanBuilder, pod: Pod) -> None:
    """Delete a pod; with force once its node is considered lost."""
    builder.delete(pod, lost_nodes.is_given_up(builder, pod))


def restart_failed(
    builder: PlanBuilder, replicas: list[ObservedReplica], apart: frozenset[Replica] = frozenset()
) -> tuple[Outcome | None, list[ObservedReplica]]:
    """Handle failures but of those `apart`; returns why the job fails, if so, and replicas with their new attempts."""
    observed = builder.observed
    found = (failure_of(builder, seen) for seen in replicas if seen.replica not in apart)
    failures = [failure for failure in found if failure is not None]
    # The clock of a node may be ahead.
    failures = [replace(failure, when=min(failure.when, observed.now)) for failure in failures]
    together = scope(observed) == "Job"
    outcome = _restart_job(builder, replicas, failures) if together else _restart_replicas(builder, replicas, failures)
    if builder.moved:
        replicas = replica_status.observe_replicas(observed, builder.status)
    # Replacements and in-place restarts count against backoffLimit.
    retries = builder.status.retries + sum(replica_status.restarts(observed.job, seen) for seen in replicas)
    if outcome is None and restart_backoff.exceeded(retries, observed.job.spec.backoff_limit):
        outcome = completion_messages.limit_reached_in_place(observed.job, replicas)
    if outcome is None:
        _remove_old(builder, replicas)
        lost_nodes.record_outage(builder)
    return outcome, replicas


def restart_after_resume(builder: PlanBuilder, replicas: list[ObservedReplica]) -> list[ObservedReplica]:
    """Resume a job. With restartScope Job, succeeded replicas run again, since the others wait for them.

    A failure from before the suspension is handled first: it fails or restarts the job.
    """
    observed = builder.observed
    done = replica_status.succeeded(replicas)
    if scope(observed) != "Job" or not done or success_policy.is_done(observed.kind, observed.job, done):
        return replicas
    left = [seen for seen in replicas if seen.current is not None and not seen.succeeded]
    judged = (_judged(observed, one.replica, one.current) for one in left if one.current is not None)
    if _without_given_up(builder, replicas, [failure for failure in judged if failure is not None]):
        return replicas
    _next_attempt_of_all(builder, replicas)
    return replica_status.observe_replicas(observed, builder.status)


def start_over(
    builder: PlanBuilder, replicas: list[ObservedReplica], reason: str, message: str, event: EventType = "Warning"
) -> list[ObservedReplica]:
    """Restart all replicas, although none has failed; returns them with their new attempts."""
    _next_attempt_of_all(builder, replicas)
    builder.condition("Restarting", False, reason)  # so that its time is that of the latest restart
    builder.condition("Restarting", True, reason, message)
    builder.event(event, reason, message)
    replicas = replica_status.observe_replicas(builder.observed, builder.status)
    _remove_old(builder, replicas)
    return replicas


def _restart_replicas(builder: PlanBuilder, replicas: list[ObservedReplica], failures: list[Failure]) -> Outcome | None:
    job = builder.observed.job
    by_replica = {seen.replica: seen for seen in replicas}
    moved: list[ObservedReplica] = []
    for failure in _without_given_up(builder, replicas, failures):
        if failure.cost is FailureClass.PERMANENT:
            last_failure.record(builder, [by_replica[failure.replica]], failure)
            next_attempt(builder, moved)
            return "ReplicaFailed", f"{job.pod_name(failure.replica)} {failure.text}"
        before = builder.status.replica_statuses.get(failure.replica.role, ReplicaStatus()).attempts
        if not _due(builder, failure, before.get(str(failure.replica.index), 0)):
            continue
        last_failure.record(builder, [by_replica[failure.replica]], failure)
        _count(builder, failure, replica_status.restarts(job, by_replica[failure.replica]))
        moved.append(by_replica[failure.replica])
        if restart_backoff.exceeded(builder.status.retries, job.spec.backoff_limit):
            next_attempt(builder, moved)
            return completion_messages.limit_reached(job, failure)
        _record_restart(builder, failure, "ReplicaReplaced", "it is replaced")
    next_attempt(builder, moved)
    return None


def _restart_job(builder: PlanBuilder, replicas: list[ObservedReplica], failures: list[Failure]) -> Outcome | None:
    observed = builder.observed
    # If other replicas fail, a peer on a lost node is the cause without waiting for the grace period.
    found = (lost_nodes.failure(builder, seen) for seen in replicas) if failures else ()
    lost = [failure for failure in found if failure is not None]
    fatal = [*_without_given_up(builder, replicas, failures), *lost]
    silent = any(seen.current is not None and seen.current.status.phase not in ENDED for seen in replicas)
    root = root_cause(fatal, silent, observed.settings.settle, observed.now)
    builder.wake(root.wait_until)
    cause = root.cause
    if cause is None:
        return None
    if cause.cost is not FailureClass.PERMANENT and not _due(builder, cause, builder.status.attempt):
        return None
    last_failure.record(builder, replicas, cause, len({one.replica for one in fatal} - {cause.replica}))
    if cause.cost is FailureClass.PERMANENT:
        return "ReplicaFailed", f"{observed.job.pod_name(cause.replica)} {cause.text}"
    _count(builder, cause, sum(replica_status.restarts(observed.job, seen) for seen in replicas))
    _next_attempt_of_all(builder, replicas)
    if restart_backoff.exceeded(builder.status.retries, observed.job.spec.backoff_limit):
        return completion_messages.limit_reached(observed.job, cause)
    _record_restart(builder, cause, "JobRestarting", f"all {observed.job.size} replicas are restarted")
    return None


def _without_given_up(builder: PlanBuilder, replicas: list[ObservedReplica], failures: list[Failure]) -> list[Failure]:
    """Return the failures to handle. A replica that may fail alone is given up, if the job can succeed without it."""
    kind, job = builder.observed.kind, builder.observed.job
    fatal = _fatal_roles(job, replicas) if failures else frozenset()
    alone = {
        failure.replica
        for failure in failures
        if failure.cost is FailureClass.PERMANENT and failure.replica.role not in fatal
    }
    if not alone:
        return failures
    if not success_policy.can_be_done(kind, job, alone):
        needed = "; the job cannot succeed without it"
        return [replace(one, text=one.text + needed) if one.replica in alone else one for one in failures]
    builder.given_up = frozenset(alone)
    return [failure for failure in failures if failure.replica not in alone]


def failure_of(builder: PlanBuilder, seen: ObservedReplica) -> Failure | None:
    """Return how a replica has failed; None if it has not."""
    observed, replica = builder.observed, seen.replica
    if seen.succeeded:
        return None
    pod = seen.current
    if pod is not None:
        lost = lost_nodes.failure(builder, seen)
        if lost is None:
            return _judged(observed, replica, pod)
        return lost if lost_nodes.is_given_up(builder, pod) else None
    if seen.gone is not None:
        if seen.gone.metadata.deletion_timestamp is None:  # missing from a list, without a watch event
            builder.confirm.append(observed.job.pod_name(replica))
        failure = _judged(observed, replica, seen.gone)
        # The time of deletion is unknown. Counted from creation, pods that are deleted at once get a backoff.
        born = seen.gone.metadata.creation_timestamp or LONG_AGO
        return failure or Failure(replica, FailureClass.DISRUPTION, born, "was deleted")
    if seen.pod is None and _was_there(builder, replica):
        # Absence is weak evidence: the cache of a new leader may be behind the status it reads.
        builder.confirm.append(observed.job.pod_name(replica))
        return Failure(replica, FailureClass.DISRUPTION, LONG_AGO, "was deleted while no operator looked")
    return None


def _fatal_roles(job: Job, replicas: list[ObservedReplica]) -> frozenset[str]:
    """Return the roles of which a permanent failure fails the job, including those that other roles wait for."""
    waiting = {seen.replica.role for seen in replicas if seen.pod is None and seen.gone is None and not seen.succeeded}
    upstream = {dependency.upstream.lower() for name in waiting for dependency in job.roles[name].depends_on}
    return frozenset(role.name for role in job.roles.values() if role.fatal or role.name.lower() in upstream)


def _judged(observed: Observed, replica: Replica, pod: Pod) -> Failure | None:
    role = observed.job.roles[replica.role]
    failure = classify(replica, pod, observed.job.container, role, scope(observed))
    if failure is not None:
        for addon in registry.requested(observed.job.resource):
            failure = addon.classify_failure(pod, failure)
    return failure


def _was_there(builder: PlanBuilder, replica: Replica) -> bool:
    """Return whether a replica had its pod; then one that is missing was deleted.

    If all pods of its role were created it had. The number of those of an elastic job says nothing: it is resized, and
    replicas that left a node are not back for a while. There the status names those that trained.
    """
    job, role = builder.observed.job, replica.role
    status = job.resource.status
    if job.spec.elastic is not None and status.elastic is not None and role == builder.observed.kind.elastic_role:
        return replica.index in index_ranges.read(status.elastic.members)
    recorded = status.replica_statuses.get(role, ReplicaStatus())
    return recorded.active + recorded.succeeded + recorded.failed >= job.count(role)


def _due(builder: PlanBuilder, failure: Failure, before: int) -> bool:
    """Return whether the backoff is over; otherwise reconcile again then."""
    before = losses.counted(builder.observed.job, builder.status, before)
    again = failure.when + restart_backoff.pause(before, failure.cost is FailureClass.DISRUPTION)
    if builder.observed.now >= again:
        return True
    builder.wake(again)
    return False


def _count(builder: PlanBuilder, failure: Failure, in_place: int) -> None:
    role = failure.replica.role
    old = builder.status.replica_statuses.get(role, ReplicaStatus())
    counted = failure.cost is FailureClass.RETRYABLE
    new = msgspec.structs.replace(
        old,
        restarts=old.restarts + counted,
        evicted=old.evicted + (not counted),
    )
    builder.set(
        retries=builder.status.retries + counted + in_place,
        replica_statuses={**builder.status.replica_statuses, role: new},
    )


def next_attempt(builder: PlanBuilder, moved: list[ObservedReplica]) -> None:
    """Increase the attempt of each of these replicas; in one pass, since thousands may fail together."""
    attempts: dict[str, dict[str, int]] = {}
    for seen in moved:
        number = _highest(seen) + 1 - builder.status.attempt
        attempts.setdefault(seen.replica.role, {})[str(seen.replica.index)] = number
    statuses = dict(builder.status.replica_statuses)
    for role, new in attempts.items():
        known = statuses.get(role, ReplicaStatus())
        statuses[role] = msgspec.structs.replace(known, attempts={**known.attempts, **new})
    builder.moved |= bool(moved)
    builder.set(replica_statuses=statuses)


def _next_attempt_of_all(builder: PlanBuilder, replicas: list[ObservedReplica]) -> None:
    """Increase the attempt of all replicas. Succeeded ones run again, since the others wait for them at the rendezvous.

    Replicas that were given up run again too.
    """
    builder.moved = True
    statuses = builder.status.replica_statuses
    anew = {
        role: msgspec.structs.replace(status, attempts={}, active=0, failed=0, succeeded=0, succeeded_indexes="")
        for role, status in statuses.items()
    }
    # Pods of replicas that were removed may still be there, and must not be taken for the new attempt.
    removed = max((number for status in statuses.values() for number in status.attempts.values()), default=0)
    attempt = max([builder.status.attempt + removed, *map(_highest, replicas)]) + 1
    builder.set(attempt=attempt, replica_statuses=anew)
    if builder.status.elastic is not None:
        builder.set(elastic=msgspec.structs.replace(builder.status.elastic, members=""))
    builder.given_up = frozenset()


def _highest(seen: ObservedReplica) -> int:
    """Return the current attempt, from the status or from an edited label, whichever is higher."""
    found = [labels.attempt(pod) for pod in (seen.current, seen.gone) if pod is not None]
    return max([seen.attempt, *found])


def _record_restart(builder: PlanBuilder, failure: Failure, reason: str, consequence: str) -> None:
    limit = builder.observed.job.spec.backoff_limit
    used = f"retry {builder.status.retries}" + (f" of {limit}" if limit is not None else "")
    cost = "not counted as a retry" if failure.cost is FailureClass.DISRUPTION else used
    message = f"{builder.observed.job.pod_name(failure.replica)} {failure.text}; {consequence} ({cost})"
    builder.condition("Restarting", True, reason, message)
    builder.event("Warning", reason, message)


def _remove_old(builder: PlanBuilder, replicas: list[ObservedReplica]) -> None:
    """Delete pods of older attempts, and of replicas that the job no longer has."""
    wanted = {seen.current.metadata.uid for seen in replicas if seen.current is not None}
    for pod in builder.observed.pods:
        if pod.metadata.uid not in wanted:
            remove(builder, pod)
