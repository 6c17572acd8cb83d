"""A job as its kind sees it: roles in the kind's order, defaults filled in, and the names of its replicas.

Names are functions of the job and never looked up, so a replica can be told of others that do not exist yet.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from kubedl.api.training import Dependency, ExitCodes, OomPolicy, ReplicaSpec, RestartPolicy, TrainingJob
from kubedl.training import template
from kubedl.wire.codec import Opaque


@dataclass(frozen=True)
class Role:
    """One part that a replica can play."""

    name: str
    restart_policy: RestartPolicy = "ExitCode"
    after: tuple[Dependency, ...] = ()  # what it waits for unless the user says otherwise
    fatal: bool = True  # whether one replica that fails for good fails the job
    required: bool = False  # whether a job without a replica of it is refused
    at_most: int | None = None  # replicas; more are refused


@dataclass(frozen=True, order=True, slots=True)
class Replica:
    """One process of a job, or the pod that runs it."""

    role: str
    index: int


@dataclass(frozen=True)
class JobRole:
    """A role of one job: what the user wrote over what the kind declares."""

    name: str
    replicas: int
    template: Opaque
    restart_policy: RestartPolicy
    exit_codes: ExitCodes | None
    oom_policy: OomPolicy | None
    depends_on: tuple[Dependency, ...]
    fatal: bool


class Job:
    """One job of a known kind."""

    def __init__(self, made: TrainingJob, roles: Mapping[str, Role], container: str, port: tuple[str, int]) -> None:
        self.made = made
        self.name = made.metadata.name
        self.namespace = made.metadata.namespace
        self.uid = made.metadata.uid
        self.spec: Any = made.spec
        self.container = container
        self.port_name, self._default_port = port
        self._ports: dict[str, int] = {}
        written = {key.lower(): spec for key, spec in made.spec.replica_specs.items()}
        present = [role for role in roles.values() if role.name.lower() in written]
        self.roles = {role.name: self._role(role, written[role.name.lower()]) for role in present}

    def __contains__(self, role: str) -> bool:
        return role in self.roles and self.roles[role].replicas > 0

    def replicas(self) -> Iterator[Replica]:
        """All replicas, in the kind's order of roles."""
        for role in self.roles.values():
            for index in range(role.replicas):
                yield Replica(role.name, index)

    def count(self, role: str) -> int:
        """How many replicas a role has; 0 if the job has no such role."""
        return self.roles[role].replicas if role in self.roles else 0

    @cached_property
    def size(self) -> int:
        """How many replicas there are in all."""
        return sum(role.replicas for role in self.roles.values())

    @cached_property
    def leader(self) -> Replica:
        """The first of all replicas, at which the others of a collective meet."""
        return next(self.replicas())

    def rank(self, replica: Replica) -> int:
        """Its place among all replicas, in the kind's order of roles; the leader's is 0."""
        before = takewhile(lambda role: role != replica.role, self.roles)
        return sum(map(self.count, before)) + replica.index

    def pod_name(self, replica: Replica) -> str:
        """Also its host name."""
        return f"{self.name}-{replica.role.lower()}-{replica.index}"

    def host(self, replica: Replica) -> str:
        """The name by which other pods of the cluster find it."""
        return f"{self.pod_name(replica)}.{self.name}.{self.namespace}.svc"

    def companion_name(self, what: str) -> str:
        """The name of an object beside the pods; no other job, earlier or later, has one of that name."""
        return f"{self.name}-{what}-{self.uid[:8]}"

    def port(self, role: str) -> int:
        """The port that the user gave the kind's port name in this role, else the kind's."""
        if role not in self._ports:
            given = template.port(role, self.roles[role].template, self.container, self.port_name)
            self._ports[role] = self._default_port if given is None else given
        return self._ports[role]

    def _role(self, role: Role, spec: ReplicaSpec) -> JobRole:
        return JobRole(
            name=role.name,
            replicas=spec.replicas,
            template=spec.template,
            restart_policy=spec.restart_policy or role.restart_policy,
            exit_codes=spec.exit_codes,
            oom_policy=spec.oom_policy,
            depends_on=role.after if spec.depends_on is None else spec.depends_on,
            fatal=role.fatal if spec.failure_policy is None else spec.failure_policy == "FailJob",
        )
