"""dependsOn: a role starts when every replica of the roles before it has come far enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubedl.api.training import Dependency, Phase


@dataclass(frozen=True)
class Progress:
    """How many replicas of a role have come how far; one that succeeded has come all the way."""

    replicas: int
    running: int
    ready: int
    succeeded: int

    def reached(self, phase: Phase) -> bool:
        """Whether all of them have."""
        return {"Running": self.running, "Ready": self.ready, "Succeeded": self.succeeded}[phase] >= self.replicas


def waits_for(dependencies: Sequence[Dependency], progress: Mapping[str, Progress]) -> Dependency | None:
    """The first dependency that is not met yet. A role that the job does not have is no obstacle."""
    by_name = {role.lower(): reached for role, reached in progress.items()}
    for dependency in dependencies:
        upstream = by_name.get(dependency.upstream.lower())
        if upstream is not None and not upstream.reached(dependency.phase):
            return dependency
    return None
