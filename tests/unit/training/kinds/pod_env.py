"""What one pod of a job is given, for tests of kinds."""

from typing import Any

from kubedl.training import pods
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from tests.training_builders import JobBuilder


def environment(job: JobBuilder, role: str, index: int = 0) -> dict[str, str]:
    """The variables of one replica."""
    return dict(job.kind.environment(job.kind.job(job.build()), Replica(role, index)))


def pod(job: JobBuilder, role: str, index: int = 0) -> Any:  # noqa: ANN401 - JSON
    """One replica's pod as it is created."""
    view = job.kind.job(job.build())
    scope = job.kind.restart_scope(view)
    return pods.render(job.kind, view, Replica(role, index), 0, scope=scope, settings=Settings())


def is_done(job: JobBuilder, **indexes: set[int]) -> bool:
    """Whether the job is done when these are."""
    finished = {role: frozenset(members) for role, members in indexes.items()}
    return job.kind.succeeded(job.kind.job(job.build()), finished)


def order(job: JobBuilder) -> dict[str, tuple[str, list[str]]]:
    """Each role's restart policy and whom it waits for, in the order of the kind."""
    roles = job.kind.job(job.build()).roles.values()
    return {role.name: (role.restart_policy, [one.upstream for one in role.depends_on]) for role in roles}
