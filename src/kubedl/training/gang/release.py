"""Gives the placed pods of a job back if the roles that start after them cannot be placed. Pure.

Two jobs with dependsOn can each hold what the other one needs for its next gang, and wait for ever. No job may end the
pods of another one, or users could be harmed by each other; so each decides about its own. It starts over after a time
that differs from job to job and doubles with every attempt. Then it waits a moment, in which the other is placed.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta

from kubedl.api.conditions import find
from kubedl.kube.types.core import Pod
from kubedl.training import restarts
from kubedl.training.gang.pod_group import pod_groups
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import Gate, PlanBuilder
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.safe_time import later

RELEASED = "GangReleased"
MOST_DOUBLINGS = 5


def release(builder: PlanBuilder, replicas: list[ObservedReplica]) -> list[ObservedReplica]:
    """Restart all pods of a job if one of its later gangs was not placed in time; returns the replicas.

    Not if a replica has succeeded, since it would run again. No retry is counted.
    """
    observed = builder.observed
    if not observed.job.starts_together or builder.moved or builder.deletions:
        return replicas
    alive = {
        seen.replica: seen.current
        for seen in replicas
        if seen.current is not None and seen.current.status.phase not in ENDED
    }
    if all(pod.spec.node_name for pod in alive.values()) or any(seen.succeeded for seen in replicas):
        return replicas
    for group in pod_groups(observed.job):
        members = [pod for replica, pod in alive.items() if replica.role in group.roles]
        held = any(pod.spec.node_name for replica, pod in alive.items() if replica.role not in group.roles)
        if not held or len(members) < group.min_member or any(pod.spec.node_name for pod in members):
            continue
        since = _last_created(members, observed.now)
        limit = later(since, _patience(observed))
        builder.wake(limit)
        if observed.now >= limit:
            roles = " and ".join(group.roles)
            message = f"{roles} could not be placed since {since:%H:%M:%S} UTC (dependsOn)"
            consequence = "the pods that wait for it are deleted, so that other jobs can start, and created again later"
            return restarts.start_over(builder, replicas, RELEASED, f"{message}; {consequence} (not a retry)")
    return replicas


def hold(builder: PlanBuilder, replicas: Iterable[ObservedReplica]) -> None:
    """Create no pods of a job that has just given its pods back, so that others can have their room."""
    observed = builder.observed
    if not builder.creations or not observed.job.starts_together:
        return
    condition = find(builder.status.conditions, "Restarting")
    if condition is None or (condition.status, condition.reason) != ("True", RELEASED):
        return
    again = later(condition.last_transition_time or observed.now, _base(observed, builder.status.attempt - 1) / 2)
    leaving = any(seen.pod is not None and seen.current is None for seen in replicas)
    if observed.now < again or leaving:
        message = f"the pods are created again at {again:%H:%M:%S} UTC: {condition.message}"
        builder.gates.append(Gate(RELEASED, message, comes_first=True))
        builder.creations.clear()
        builder.wake(again)


def _last_created(pods: Iterable[Pod], now: datetime) -> datetime:
    return max((pod.metadata.creation_timestamp or now for pod in pods), default=now)


def _base(observed: Observed, attempt: int) -> timedelta:
    factor: int = 2 ** min(max(attempt, 0), MOST_DOUBLINGS)
    return observed.settings.gang_release * factor


def _patience(observed: Observed) -> timedelta:
    """Return how long the job waits: once to twice the base, since jobs that wait equally long would meet again."""
    attempt = observed.job.resource.status.attempt
    share = hashlib.sha256(f"{observed.job.uid}/{attempt}".encode()).digest()[0] / 256
    return _base(observed, attempt) * (1 + share)
