"""dependsOn: a role starts when every replica of its upstream roles has reached a phase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubedl.api.replica_spec import Dependency, Phase


@dataclass(frozen=True)
class Progress:
    """The number of replicas of a role by phase; a succeeded replica has reached all phases."""

    replicas: int
    running: int
    ready: int
    succeeded: int

    def reached(self, phase: Phase) -> bool:
        """Return whether all replicas have reached the phase."""
        return {"Running": self.running, "Ready": self.ready, "Succeeded": self.succeeded}[phase] >= self.replicas


def waits_for(dependencies: Sequence[Dependency], progress: Mapping[str, Progress]) -> Dependency | None:
    """Return the first dependency that is not met. A role that the job does not have counts as met."""
    by_name = {role.lower(): reached for role, reached in progress.items()}
    for dependency in dependencies:
        upstream = by_name.get(dependency.upstream.lower())
        if upstream is not None and not upstream.reached(dependency.phase):
            return dependency
    return None
