"""Chooses the gang scheduler of a job, and puts the pods that are created into its groups. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from kubedl.api.scheduling_policy import SchedulingPolicy
from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import Pod
from kubedl.training.formatting import coarse
from kubedl.training.gang.pod_group import pod_groups
from kubedl.training.gang.scheduler import Gang, InstalledScheduler
from kubedl.training.job import Job
from kubedl.training.kind import Kind
from kubedl.training.observed import ObservedReplica, Settings
from kubedl.training.plan import Gate, PlanBuilder
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.safe_time import later

AUTO, NONE = "auto", "none"
NOT_FOUND = "GangSchedulerNotFound"
LOOK_AGAIN, SOON = timedelta(seconds=30), timedelta(seconds=1)
RETRY_AFTER = timedelta(seconds=5)


def chosen(job: Job, settings: Settings) -> InstalledScheduler | str | None:
    """Return the gang scheduler of a job, why there is none although the job needs one, or None."""
    policy = job.spec.scheduling_policy or SchedulingPolicy()
    name, available = policy.gang_scheduler or settings.gang_scheduler, settings.gang_schedulers or {}
    source = "spec.schedulingPolicy.gangScheduler" if policy.gang_scheduler else "--gang-scheduler"
    if name == AUTO and policy.min_available is None and not policy.gang_scheduler:
        return None
    if job.spec.elastic is not None:  # the number of pods in a group is fixed
        return None
    if name == AUTO:
        found = next((one for one in available.values() if one.served is not None), None)
        return found or "the cluster has no gang scheduler that the operator can find; choose one by its name"
    if name == NONE:
        return f"minAvailable needs a gang scheduler ({source} is none)" if policy.min_available is not None else None
    return available.get(name) or f"the cluster has no gang scheduler {name} ({source})"


def job_of(kind: Kind, resource: TrainingJob, settings: Settings) -> Job:
    """Return the job; if it has a gang, without the order of roles that its kind has by default."""
    job = kind.job(resource)
    if chosen(job, settings) is not None:
        job.start_together()
    return job


def assign(builder: PlanBuilder, replicas: Sequence[ObservedReplica]) -> None:
    """Put the pods that are created into their groups; none is created without the scheduler that places them."""
    if not builder.creations:
        return
    job = builder.observed.job
    found = chosen(job, builder.observed.settings)
    if found is None:
        return
    if isinstance(found, str):
        is_known = builder.observed.settings.gang_schedulers is not None
        builder.hold(Gate(NOT_FOUND, found) if is_known else Gate("", ""))
        builder.wake(later(builder.observed.now, LOOK_AGAIN if is_known else SOON))
        return
    groups = {role: group for group in pod_groups(job) for role in group.roles}
    gangs = {role: Gang(found, group) for role, group in groups.items()}
    complete = {role for role, gang in gangs.items() if _members(builder, replicas, gang) >= gang.group.min_member}
    builder.creations = [
        replace(creation, gang=gangs[creation.replica.role]) if creation.replica.role in complete else creation
        for creation in builder.creations
    ]


def explain(builder: PlanBuilder, replicas: Sequence[ObservedReplica]) -> str:
    """Return how many pods of the waiting gang are placed, as the begin of a message; empty if the job has no gang.

    Call it only if a pod is not scheduled. A group that its scheduler does not retry by itself is retried.
    """
    found = chosen(builder.observed.job, builder.observed.settings)
    if found is None or isinstance(found, str):
        return ""
    for group in pod_groups(builder.observed.job):
        members = [seen.current for seen in replicas if seen.replica.role in group.roles and seen.current is not None]
        placed = sum(bool(pod.spec.node_name) for pod in members)
        if members and placed < group.min_member:
            if found.scheduler.is_retried and len(members) >= group.min_member:
                builder.retry = Gang(found, group)
                builder.wake(later(builder.observed.now, RETRY_AFTER))
            waits = _waiting_time(builder, [pod for pod in members if not pod.spec.node_name])
            return f"{placed} of {group.min_member} pods of the gang are placed ({found.scheduler.name}){waits}: "
    return ""


def _waiting_time(builder: PlanBuilder, unplaced: Sequence[Pod]) -> str:
    """Return how long the oldest of these pods has waited, in steps, so that time alone costs few status writes."""
    created = [pod.metadata.creation_timestamp for pod in unplaced if pod.metadata.creation_timestamp is not None]
    if not created:
        return ""
    text, following = coarse(builder.observed.now - min(created))
    builder.wake(later(min(created), following) if following is not None else None)
    return f", waiting over {text}" if text else ""


def _members(builder: PlanBuilder, replicas: Sequence[ObservedReplica], gang: Gang) -> int:
    """Return how many pods a group will have.

    Where others have succeeded, or were created without this group, the last ones may be too few for it: they are
    scheduled alone.
    """
    group = gang.group
    alive = sum(
        seen.current is not None
        and seen.current.status.phase not in ENDED
        and gang.by.scheduler.has_joined(seen.current, group)
        for seen in replicas
        if seen.replica.role in group.roles
    )
    return alive + sum(creation.replica.role in group.roles for creation in builder.creations)
