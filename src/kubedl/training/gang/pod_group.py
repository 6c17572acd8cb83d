"""Which pods of a job are scheduled together. Pure.

Roles that start at the same time form one group: those without dependsOn, and those with the same dependsOn. A role
that starts later is never in the group of a role that it waits for, since that group would wait for its pods.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kubedl.training.job import Job

LONGEST_PREFIX = 44  # characters of the job's name: the name of a group is also a label value, of at most 63


@dataclass(frozen=True)
class PodGroup:
    """Pods of which at least `min_member` are scheduled at once, or none."""

    name: str
    roles: tuple[str, ...]
    size: int  # the number of pods
    min_member: int
    queue: str = ""
    priority_class: str = ""


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
            name = f"{job.name[:LONGEST_PREFIX].rstrip('-')}-{stage}-{least}-{job.uid[:8]}"
            queue, priority = (policy.queue, policy.priority_class_name) if policy is not None else ("", "")
            yield PodGroup(name, roles, size, least, queue, priority)


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
