"""Which replicas are where: pods matched to the replicas that the job should have, and the counts in its status."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from kubedl.api.conditions import Condition
from kubedl.api.training import JobStatus, ReplicaStatus
from kubedl.training import labels
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Done
from kubedl.training.plan import Creation, Draft
from kubedl.training.policies import indexes
from kubedl.training.policies.clean import ENDED
from kubedl.training.policies.dependencies import Progress
from kubedl.training.policies.failure import has_succeeded
from kubedl.training.policies.moment import LONG_AGO
from kubedl.training.snapshot import Sighting, Snapshot
from kubedl.wire.core import Pod

Conditions = Sequence[Condition]

NONE = ReplicaStatus()


def look(snapshot: Snapshot, status: JobStatus | None = None) -> list[Sighting]:
    """Every replica that the job should have, as it was found; attempts and successes as in `status`."""
    status = status or snapshot.job.made.status
    sightings = []
    for role in snapshot.job.roles.values():
        recorded = status.replica_statuses.get(role.name, NONE)
        finished = indexes.read(recorded.succeeded_indexes)
        for index in range(role.replicas):
            replica = Replica(role.name, index)
            attempt = status.attempt + (recorded.attempts.get(str(index), 0) if recorded.attempts else 0)
            name = snapshot.job.pod_name(replica)
            pod = snapshot.pod_by_name.get(name)
            current = pod if pod is not None and labels.attempt(pod) >= attempt else None
            deleted = [pod for pod in snapshot.deleted_by_name.get(name, ()) if labels.attempt(pod) >= attempt]
            succeeded = index in finished or any(map(has_succeeded, (current, *deleted)))
            gone = max(deleted, key=_age, default=None)
            sightings.append(Sighting(replica, attempt, pod, current, gone, succeeded))
    return sightings


def done(sightings: list[Sighting]) -> Done:
    """Which replicas have succeeded."""
    found: dict[str, set[int]] = {}
    for sighting in sightings:
        if sighting.succeeded:
            found.setdefault(sighting.replica.role, set()).add(sighting.replica.index)
    return {role: frozenset(members) for role, members in found.items()}


def written(snapshot: Snapshot) -> Done:
    """Which replicas have succeeded by the status alone, whatever becomes of their pods."""
    return done(look(replace(snapshot, pods=(), deleted=())))


def progress(job: Job, sightings: list[Sighting]) -> dict[str, Progress]:
    """How far each role has come."""
    counts = {role: [0, 0, 0] for role in job.roles}
    for sighting in sightings:
        count, pod = counts[sighting.replica.role], sighting.current
        count[0] += sighting.succeeded or is_running(pod)
        count[1] += sighting.succeeded or (is_running(pod) and _is_ready(pod))
        count[2] += sighting.succeeded
    return {role: Progress(job.count(role), *count) for role, count in counts.items()}


def record_success(draft: Draft, sightings: list[Sighting]) -> None:
    """Write down who has succeeded, so that it counts after its pod is gone."""
    statuses = dict(draft.status.replica_statuses)
    for role, members in done(sightings).items():
        old = statuses.get(role, NONE)
        text = indexes.write(members)
        statuses[role] = msgspec.structs.replace(old, succeeded=len(members), succeeded_indexes=text)
    draft.set(replica_statuses=statuses)


def count(draft: Draft, sightings: list[Sighting], *, ended: bool = False) -> None:
    """Count replicas into the status: those found, and those about to be created. At the end nobody is active."""
    job, statuses = draft.snapshot.job, {}
    coming = {creation.replica for creation in draft.creations}
    successes = done(sightings)
    for role in job.roles:
        mine = [sighting for sighting in sightings if sighting.replica.role == role]
        pods = [sighting.current for sighting in mine if sighting.current is not None and not sighting.succeeded]
        active = [pod for pod in pods if pod.status.phase not in ENDED]
        members = successes.get(role, frozenset())
        statuses[role] = msgspec.structs.replace(
            draft.status.replica_statuses.get(role, NONE),
            active=0 if ended else len(active) + sum(sighting.replica in coming for sighting in mine),
            ready=0 if ended else sum(map(_is_ready, active)),
            failed=sum(pod.status.phase == "Failed" for pod in pods),
            succeeded=len(members),
            succeeded_indexes=indexes.write(members),
        )
    ready = sum(status.ready for status in statuses.values())
    draft.set(replica_statuses=statuses, ready=f"{ready}/{job.size}")


def uncount(status: JobStatus, creations: Sequence[Creation]) -> JobStatus:
    """The status without pods that could not be made: nobody may take their absence for a death."""
    statuses = dict(status.replica_statuses)
    for role, number in Counter(creation.replica.role for creation in creations).items():
        statuses[role] = msgspec.structs.replace(statuses[role], active=statuses[role].active - number)
    return msgspec.structs.replace(status, replica_statuses=statuses)


def running(sightings: list[Sighting]) -> int:
    """How many replicas are running now."""
    return sum(not sighting.succeeded and is_running(sighting.current) for sighting in sightings)


def restarts(job: Job, sighting: Sighting) -> int:
    """How often its kubelet has restarted a replica in place, in this attempt; sidecars and helpers are no replica."""
    pod = sighting.current or sighting.gone
    if pod is None:
        return 0
    sidecars = {one.name for one in pod.spec.init_containers if one.restart_policy == "Always"}
    counted = [one for one in pod.status.init_container_statuses if one.name not in sidecars]
    counted += [one for one in pod.status.container_statuses if one.name == job.container]
    return sum(one.restart_count for one in counted)


def forget(draft: Draft) -> None:
    """Forget deleted pods that tell nothing new: of older attempts, or whose success the cluster has in writing."""
    if not draft.snapshot.deleted:
        return
    status = draft.snapshot.job.made.status  # as it was read: what is drafted now may still fail to be written
    in_writing = {role: indexes.read(known.succeeded_indexes) for role, known in status.replica_statuses.items()}
    telling = {
        sighting.gone.metadata.uid
        for sighting in look(draft.snapshot)
        if sighting.gone is not None and sighting.replica.index not in in_writing.get(sighting.replica.role, ())
    }
    draft.forget = [pod.metadata.uid for pod in draft.snapshot.deleted if pod.metadata.uid not in telling]


def is_running(pod: Pod | None) -> bool:
    """Whether a pod's containers have been started and not all ended."""
    return pod is not None and pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None


def _age(pod: Pod) -> tuple[int, datetime]:
    """The same attempt may have been made twice: by an operator that knew nothing of the first one's end."""
    return labels.attempt(pod), pod.metadata.creation_timestamp or LONG_AGO


def _is_ready(pod: Pod | None) -> bool:
    condition = pod.condition("Ready") if pod is not None else None
    return condition is not None and condition.status == "True"
