"""Which pods of a job are scheduled together. Pure.

Roles that start at the same time form one group: those without dependsOn, and those with the same dependsOn. A role
that starts later is never in the group of a role that it waits for, since that group would wait for its pods.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kubedl.kube.codec import RawObject
from kubedl.training.job import Job
from kubedl.training.placement.wish import is_requested, wishes

# Characters of the job's name: the name of a group is also a label value, of at most 63, some with an attempt.
LONGEST_PREFIX = 38


@dataclass(frozen=True)
class Members:
    """The pods of one role in a group."""

    role: str
    least: int  # how many of them are scheduled at once
    template: RawObject


@dataclass(frozen=True)
class PodGroup:
    """Pods of which at least `min_member` are scheduled at once, or none."""

    name: str
    roles: tuple[str, ...]
    size: int  # the number of pods
    min_member: int
    queue: str = ""
    priority_class: str = ""
    topology_key: str = ""  # node label of which all pods of the group must have the same value
    attempt: int = 0  # how often all pods of the job were restarted
    members: tuple[Members, ...] = field(default=(), compare=False, repr=False)


def pod_groups(job: Job) -> Iterator[PodGroup]:
    """Return the groups of a job, in the order in which they start.

    minAvailable counts pods of the whole job: of a later group only what the earlier ones leave must start at once.
    """
    policy = job.spec.scheduling_policy
    needed = job.size if policy is None or policy.min_available is None else policy.min_available
    for stage, roles in enumerate(_stages(job)):
        size = sum(job.count(role) for role in roles)
        least = min(size, needed)
        needed -= least
        if least:
            key = _topology_key(job, roles)
            # The key of a group is immutable, and the job may be edited.
            suffix = f"-{zlib.crc32(key.encode()):08x}" if key else ""
            prefix = job.name[: LONGEST_PREFIX - len(suffix)].rstrip("-")
            name = f"{prefix}-{stage}-{least}-{job.uid[:8]}{suffix}"
            queue, priority = (policy.queue, policy.priority_class_name) if policy is not None else ("", "")
            attempt, members = job.resource.status.attempt, tuple(_members(job, roles, least))
            yield PodGroup(name, roles, size, least, queue, priority, key, attempt, members)


def _members(job: Job, roles: tuple[str, ...], needed: int) -> Iterator[Members]:
    """Return how many pods of each role make up the least that is needed, in the order of roles."""
    for role in roles:
        least = min(job.count(role), needed)
        needed -= least
        if least:
            yield Members(role, least, job.roles[role].template)


def _topology_key(job: Job, roles: Sequence[str]) -> str:
    """Return the node label by which the placement packs all these roles together; empty if it does not."""
    wish = wishes(job.resource).get(roles[0].lower()) if is_requested(job.resource) else None
    if wish is None or wish.placement.strategy != "Pack" or not wish.placement.is_required:
        return ""
    return wish.placement.key if all(role.lower() in wish.roles for role in roles) else ""


def _stages(job: Job) -> list[tuple[str, ...]]:
    """Return the roles that start together, upstream roles first."""
    names = {name.lower(): name for name in job.roles if job.count(name)}
    upstream = {
        name: frozenset(
            (names[one.upstream.lower()], one.phase) for one in role.depends_on if one.upstream.lower() in names
        )
        for name, role in job.roles.items()
        if job.count(name)
    }
    stages, started = list[tuple[str, ...]](), set[str]()
    while ready := [
        name for name, waits in upstream.items() if name not in started and {on for on, _ in waits} <= started
    ]:
        together: dict[frozenset[tuple[str, str]], list[str]] = {}
        for name in ready:
            together.setdefault(upstream[name], []).append(name)
        stages += map(tuple, together.values())
        started |= set(ready)
    return stages
