"""Resizes a running job: the highest indexes come and go. Pure.

Pods are created and deleted by the engine, from the number of replicas in the spec. In place, all other pods stay as
they are. Here is what makes that safe: the pod of a removed replica is of a past attempt from then on, which is in the
status before the pod is deleted. So its end is never taken for a failure, and it is never taken for the pod of a
replica that is added again. A job that restarts to be resized gets a new attempt of all replicas instead.
"""

import msgspec

from kubedl.api.elastic import ElasticStatus
from kubedl.api.training import ReplicaStatus
from kubedl.kube.types.core import Pod
from kubedl.training import labels, replica_status, restarts
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import PlanBuilder
from kubedl.training.policies import index_ranges
from kubedl.training.policies.failure_policy import ending, has_succeeded

CONDITION = "Resizing"
ADDED, REMOVED, RESIZED = "ReplicasAdded", "ReplicasRemoved", "Resized"
RENDEZVOUS_CLOSED = "RendezvousClosed"
CLOSED = "RendezvousClosedError"  # how torchrun ends if a leaving agent closed the rendezvous for all


def known_size(job: Job) -> int:
    """Return the size that an elastic job was last given, within its bounds: somebody may have edited the status."""
    known = job.resource.status.elastic
    return min(max(known.size, 0), job.spec.elastic.max_replicas) if known is not None else 0


def hold_size(kind: Kind, job: Job, pods: tuple[Pod, ...]) -> None:
    """Let a job not grow once a replica has succeeded: the others have done their work, and nobody would join them.

    Where all would restart it does not shrink either. `pods` are all pods of the job, also deleted ones.
    """
    status, role = job.resource.status, kind.elastic_role
    if job.spec.elastic is None or role not in job.roles:
        return
    size = known_size(job)
    if not size or not has_success(job, pods):
        return
    if kind.restarts_to_resize(job) and status.start_time is not None and not job.spec.suspend:
        job.keep(role, size)
    else:
        job.limit(role, size)


def has_success(job: Job, pods: tuple[Pod, ...]) -> bool:
    """Return whether a replica has succeeded; `pods` are all pods of the job, also deleted ones."""
    status = job.resource.status
    recorded = any(one.succeeded_indexes for one in status.replica_statuses.values())
    return recorded or any(has_succeeded(pod) and labels.attempt(pod) >= status.attempt for pod in pods)


def resize(builder: PlanBuilder, replicas: list[ObservedReplica]) -> list[ObservedReplica] | None:
    """Record who trains and who leaves; returns all replicas with a new attempt if they have to restart for it."""
    observed = builder.observed
    role = observed.kind.elastic_role
    if observed.job.spec.elastic is None or not role:
        return None
    before, size = builder.status.elastic or ElasticStatus(), observed.job.count(role)
    leaving = leaving_pods(observed, role)
    restarts_all = observed.kind.restarts_to_resize(observed.job)
    if not restarts_all:
        _end_attempts(builder, role, leaving)
    members = [
        seen.replica.index
        for seen in replicas
        if seen.replica.role == role and not seen.succeeded and replica_status.is_running(seen.current)
    ]
    after = msgspec.structs.replace(
        before,
        size=size,
        members=index_ranges.write(members),
        leaving=index_ranges.write(leaving),
        selector=f"{labels.JOB_NAME}={observed.job.name},{labels.REPLICA_TYPE}={role.lower()}",
    )
    is_resized = observed.job.resource.status.start_time is not None and size != before.size
    if is_resized:
        after = msgspec.structs.replace(after, changes=before.changes + 1)
    if not restarts_all and (leaving or (is_resized and size < before.size)):
        after = msgspec.structs.replace(after, shrunk_in_attempt=builder.status.attempt)
    builder.set(elastic=after)
    if restarts_all and size != before.size:
        builder.moved = True  # pods know the size, which is in the status before they are made
    if is_resized:
        reason, message = _change(role, before.size, size)
        if restarts_all:
            return _restart_resized(builder, replicas, reason, message)
        message += ", the others go on"
        _tell(builder, reason, message)
        builder.event("Normal", reason, message)
    if not leaving and all(_has_started(seen) for seen in replicas if seen.replica.role == role):
        builder.condition(CONDITION, False, RESIZED, f"{role} has {size} replicas")
    return _restart_closed(builder, replicas)


def stop(builder: PlanBuilder, reason: str) -> None:
    """Nobody trains any more: the job is suspended, or has ended."""
    builder.condition(CONDITION, False, reason)
    if builder.status.elastic is not None:
        builder.set(elastic=msgspec.structs.replace(builder.status.elastic, members="", leaving=""))


def leaving_pods(observed: Observed, role: str) -> dict[int, Pod]:
    """Return the pods of replicas that the job no longer has, by index; by name, since labels can be edited."""
    job, most = observed.job, observed.job.spec.elastic.max_replicas
    wanted = {job.pod_name(replica) for replica in job.replicas()}
    others = {pod.metadata.name: pod for pod in observed.pods if pod.metadata.name not in wanted}
    if not others:
        return {}
    names = {index: job.pod_name(Replica(role, index)) for index in range(job.count(role), most)}
    return {index: others[name] for index, name in names.items() if name in others}


def _end_attempts(builder: PlanBuilder, role: str, leaving: dict[int, Pod]) -> None:
    """Let the pods of removed replicas be of past attempts."""
    if not leaving:
        return
    status = builder.status.replica_statuses.get(role, ReplicaStatus())
    attempts = dict(status.attempts)
    for index, pod in leaving.items():
        following = labels.attempt(pod) + 1 - builder.status.attempt
        attempts[str(index)] = max(following, attempts.get(str(index), 0))
    if attempts != status.attempts:
        new = msgspec.structs.replace(status, attempts=attempts)
        builder.set(replica_statuses={**builder.status.replica_statuses, role: new})


def _change(role: str, before: int, size: int) -> tuple[str, str]:
    """Return reason and message of a resize."""
    number = abs(size - before)
    reason, verb = (ADDED, "added") if size > before else (REMOVED, "removed")
    pods = "1 pod is" if number == 1 else f"{number} pods are"
    return reason, f"{role} is resized from {before} to {size}: {pods} {verb}"


def _tell(builder: PlanBuilder, reason: str, message: str) -> None:
    builder.condition(CONDITION, False, reason)  # so that its time is that of the latest change
    builder.condition(CONDITION, True, reason, message)


def _restart_resized(
    builder: PlanBuilder, replicas: list[ObservedReplica], reason: str, message: str
) -> list[ObservedReplica] | None:
    """Restart all replicas with the new size, unless they restart in this pass anyway: to leave a node."""
    message += ", and all replicas are restarted (not counted as a retry)"
    _tell(builder, reason, message)
    if builder.status.attempt != builder.observed.job.resource.status.attempt:
        builder.event("Normal", reason, message)
        return None
    return restarts.start_over(builder, replicas, reason, message, event="Normal")


def _restart_closed(builder: PlanBuilder, replicas: list[ObservedReplica]) -> list[ObservedReplica] | None:
    """Restart all replicas if one that was removed closed the rendezvous for those that stay.

    torchrun before PyTorch 2.8 does so when it is told to go. It is not a failure of the job, so no retry is counted.
    It is forgiven once for each attempt in which replicas were removed; all other failures are judged as usual.
    """
    elastic = builder.status.elastic
    if elastic is None or elastic.shrunk_in_attempt != builder.status.attempt:
        return None
    if any(seen.succeeded for seen in replicas) or not any(_is_closed(builder, seen) for seen in replicas):
        return None
    message = (
        "a replica that was removed closed the rendezvous of all, as torchrun before PyTorch 2.8 does; "
        "all replicas are restarted (not counted as a retry)"
    )
    return restarts.start_over(builder, replicas, RENDEZVOUS_CLOSED, message)


def _has_started(seen: ObservedReplica) -> bool:
    """Return whether the replica is past its start: what has failed since is no part of the resize."""
    pod = seen.current
    is_there = pod is not None and pod.metadata.deletion_timestamp is None and pod.status.phase not in ("", "Pending")
    return seen.succeeded or is_there


def _is_closed(builder: PlanBuilder, seen: ObservedReplica) -> bool:
    pod = seen.current
    if pod is None or pod.status.phase != "Failed":
        return False
    ended, _ = ending(pod, builder.observed.job.container)
    return ended is not None and CLOSED in ended.message
