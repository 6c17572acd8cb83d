"""Matches pods to replicas, and counts replicas in the status."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from kubedl.api.conditions import Condition
from kubedl.api.training import JobStatus, ReplicaStatus
from kubedl.kube.types.core import ContainerStatus, Pod
from kubedl.training import labels
from kubedl.training.gpus import wanted_gpus
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Done
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import Creation, PlanBuilder
from kubedl.training.policies import index_ranges
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.depends_on import Progress
from kubedl.training.policies.failure_policy import has_succeeded
from kubedl.training.policies.safe_time import LONG_AGO

Conditions = Sequence[Condition]

NONE = ReplicaStatus()


def observe_replicas(observed: Observed, status: JobStatus | None = None) -> list[ObservedReplica]:
    """Return the observed state of every replica; attempts and successes come from `status`."""
    status = status or observed.job.resource.status
    # By name, since labels can be edited.
    pods = {pod.metadata.name: pod for pod in observed.pods}
    deleted: dict[str, list[Pod]] = {}
    for pod in observed.deleted:  # several with one name, if a replica was replaced more than once
        deleted.setdefault(pod.metadata.name, []).append(pod)
    replicas = []
    for role in observed.job.roles.values():
        recorded = status.replica_statuses.get(role.name, NONE)
        finished, attempts = index_ranges.read(recorded.succeeded_indexes), recorded.attempts
        for index in range(role.replicas):
            replica = Replica(role.name, index)
            attempt = status.attempt + (attempts.get(str(index), 0) if attempts else 0)
            name = observed.job.pod_name(replica)
            found = pods.get(name)
            current = found if found is not None and labels.attempt(found) >= attempt else None
            gone = [pod for pod in deleted.get(name, ()) if labels.attempt(pod) >= attempt] if deleted else []
            done = index in finished or has_succeeded(current) or any(map(has_succeeded, gone))
            last = max(gone, key=_age, default=None) if gone else None
            replicas.append(ObservedReplica(replica, attempt, found, current, last, done))
    return replicas


def succeeded(replicas: list[ObservedReplica]) -> Done:
    """Return the replicas that have succeeded."""
    found: dict[str, set[int]] = {}
    for seen in replicas:
        if seen.succeeded:
            found.setdefault(seen.replica.role, set()).add(seen.replica.index)
    return {role: frozenset(members) for role, members in found.items()}


def recorded_succeeded(observed: Observed) -> Done:
    """Return the replicas that have succeeded according to the status alone."""
    return succeeded(observe_replicas(replace(observed, pods=(), deleted=())))


def progress(job: Job, replicas: list[ObservedReplica]) -> dict[str, Progress]:
    """Return the progress of each role."""
    counts = {role: [0, 0, 0] for role in job.roles}
    for seen in replicas:
        count, pod = counts[seen.replica.role], seen.current
        count[0] += seen.succeeded or is_running(pod)
        count[1] += seen.succeeded or (is_running(pod) and _is_ready(pod))
        count[2] += seen.succeeded
    return {role: Progress(job.count(role), *count) for role, count in counts.items()}


def record_success(builder: PlanBuilder, replicas: list[ObservedReplica]) -> None:
    """Record successes in the status, so that they count after the pods are gone."""
    successes = succeeded(replicas)
    if not successes:
        return
    statuses = dict(builder.status.replica_statuses)
    for role, members in successes.items():
        old = statuses.get(role, NONE)
        text = index_ranges.write(members)
        statuses[role] = msgspec.structs.replace(old, succeeded=len(members), succeeded_indexes=text)
    builder.set(replica_statuses=statuses)


def count(builder: PlanBuilder, replicas: list[ObservedReplica], *, ended: bool = False) -> None:
    """Count replicas in the status, including those about to be created. A finished job has no active ones."""
    job, statuses = builder.observed.job, {}
    active, ready, failed = (dict.fromkeys(job.roles, 0) for _ in range(3))
    for creation in builder.creations:
        active[creation.replica.role] += 1
    for seen in replicas:
        pod, role = seen.current, seen.replica.role
        if pod is None or seen.succeeded:
            continue
        failed[role] += pod.status.phase == "Failed"
        if pod.status.phase not in ENDED:
            active[role] += 1
            ready[role] += _is_ready(pod)
    successes = succeeded(replicas)
    for role in job.roles:
        members = successes.get(role, frozenset())
        statuses[role] = msgspec.structs.replace(
            builder.status.replica_statuses.get(role, NONE),
            active=0 if ended else active[role],
            ready=0 if ended else ready[role],
            failed=failed[role],
            succeeded=len(members),
            succeeded_indexes=index_ranges.write(members),
        )
    total = sum(status.ready for status in statuses.values())
    builder.set(replica_statuses=statuses, ready=f"{total}/{job.size}", gpus=wanted_gpus(job))


def uncount(status: JobStatus, creations: Sequence[Creation]) -> JobStatus:
    """Return the status without pods that could not be created, which must not count as deleted later."""
    statuses = dict(status.replica_statuses)
    for role, number in Counter(creation.replica.role for creation in creations).items():
        statuses[role] = msgspec.structs.replace(statuses[role], active=statuses[role].active - number)
    return msgspec.structs.replace(status, replica_statuses=statuses)


def running(replicas: list[ObservedReplica]) -> int:
    """Return how many replicas are running."""
    return sum(not seen.succeeded and is_running(seen.current) for seen in replicas)


def restarts(job: Job, seen: ObservedReplica) -> int:
    """Return how often the kubelet restarted the replica in this attempt; sidecars do not count."""
    pod = seen.current or seen.gone
    if pod is None:
        return 0
    total = 0
    for container in pod.status.container_statuses:
        if container.name == job.container:
            total += container.restart_count
    if pod.status.init_container_statuses:
        sidecars = {one.name for one in pod.spec.init_containers if one.restart_policy == "Always"}
        total += sum(one.restart_count for one in pod.status.init_container_statuses if one.name not in sidecars)
    return total


def counted_containers(job: Job, pod: Pod) -> list[ContainerStatus]:
    """Return the statuses of the containers whose restarts count."""
    sidecars = {one.name for one in pod.spec.init_containers if one.restart_policy == "Always"}
    init = [one for one in pod.status.init_container_statuses if one.name not in sidecars]
    return init + [one for one in pod.status.container_statuses if one.name == job.container]


def forget(builder: PlanBuilder) -> None:
    """Forget deleted pods of older attempts, and those whose success is recorded in the status."""
    if not builder.observed.deleted:
        return
    status = builder.observed.job.resource.status  # as it was read: the write of the new one may fail
    in_writing = {role: index_ranges.read(known.succeeded_indexes) for role, known in status.replica_statuses.items()}
    telling = {
        seen.gone.metadata.uid
        for seen in observe_replicas(builder.observed)
        if seen.gone is not None and seen.replica.index not in in_writing.get(seen.replica.role, ())
    }
    builder.forget = [pod.metadata.uid for pod in builder.observed.deleted if pod.metadata.uid not in telling]


def is_running(pod: Pod | None) -> bool:
    """Return whether a pod runs and is not being deleted."""
    return pod is not None and pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None


def _age(pod: Pod) -> tuple[int, datetime]:
    """Order deleted pods: a restarted operator may have created a second pod of the same attempt."""
    return labels.attempt(pod), pod.metadata.creation_timestamp or LONG_AGO


def _is_ready(pod: Pod | None) -> bool:
    return pod is not None and pod.holding("Ready") is not None
