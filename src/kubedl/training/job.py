"""A job as its kind sees it: roles in the kind's order, with defaults, and the names of its replicas.

Names are computed, not looked up, so a replica can get the names of others that do not exist yet.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

from kubedl.api.replica_spec import (
    Dependency,
    ExitCodes,
    OomPolicy,
    ReplicaSpec,
    RestartPolicy,
    SpotReplicaSpec,
)
from kubedl.api.training import TrainingJob
from kubedl.kube.codec import RawObject
from kubedl.training import template
from kubedl.training.policies.network_mode import network_mode

HOST_IP = "KUBEDL_HOST_IP"  # variable with the address of the node, in pods on the host network


@dataclass(frozen=True)
class Role:
    """A role of a kind."""

    name: str
    restart_policy: RestartPolicy = "ExitCode"
    after: tuple[Dependency, ...] = ()  # default dependsOn
    fatal: bool = True  # default failurePolicy: whether a permanently failed replica fails the job
    required: bool = False  # whether at least one replica is required
    at_most: int | None = None  # maximum number of replicas


@dataclass(frozen=True, order=True, slots=True)
class Replica:
    """One replica of a job."""

    role: str
    index: int


@dataclass(frozen=True)
class JobRole:
    """A role of one job: the user's settings over the kind's defaults."""

    name: str
    replicas: int
    template: RawObject
    restart_policy: RestartPolicy
    exit_codes: ExitCodes | None
    oom_policy: OomPolicy | None
    depends_on: tuple[Dependency, ...]
    fatal: bool
    has_default_order: bool  # depends_on is that of the kind
    spot: SpotReplicaSpec | None
    first_spot: int  # index; of the replicas that the user asked for, not of those that a queue has admitted


class Job:
    """One job of a known kind."""

    def __init__(self, resource: TrainingJob, roles: Mapping[str, Role], container: str, port: tuple[str, int]) -> None:
        self.resource = resource
        self.name = resource.metadata.name
        self.namespace = resource.metadata.namespace
        self.uid = resource.metadata.uid
        self.spec: Any = resource.spec
        self.container = container
        self.port_name, self._default_port = port
        self._ports: dict[str, int] = {}
        written = {key.lower(): spec for key, spec in resource.spec.replica_specs.items()}
        present = [role for role in roles.values() if role.name.lower() in written]
        self.roles = {role.name: self._role(role, written[role.name.lower()]) for role in present}
        self.size = sum(role.replicas for role in self.roles.values())
        self.starts_together = False
        self.network_mode = network_mode(resource)
        self._asked: dict[str, int] = {}  # replicas of roles that keep more of them for a while
        self.host_ports: dict[str, int] = {}  # of pods on the host network, by name

    def __contains__(self, role: str) -> bool:
        return role in self.roles and self.roles[role].replicas > 0

    def replicas(self) -> Iterator[Replica]:
        """Return all replicas, in the kind's order of roles."""
        for role in self.roles.values():
            for index in range(role.replicas):
                yield Replica(role.name, index)

    def count(self, role: str) -> int:
        """Return the number of replicas of a role; 0 if the job does not have the role."""
        return self.roles[role].replicas if role in self.roles else 0

    @cached_property
    def leader(self) -> Replica:
        """Return the first replica, the rendezvous of a collective."""
        return next(self.replicas())

    def start_together(self) -> None:
        """Let no role wait by default for another one to be Running, since all pods start at once (a gang).

        That order only avoids failed connections at the start.
        """
        self.starts_together = True
        for role in self.roles.values():
            if role.has_default_order:
                kept = tuple(dependency for dependency in role.depends_on if dependency.phase != "Running")
                self.roles[role.name] = replace(role, depends_on=kept)

    def limit(self, role: str, replicas: int) -> None:
        """Give a role fewer replicas than the user asked for."""
        self.roles[role] = replace(self.roles[role], replicas=min(replicas, self.roles[role].replicas))
        self.size = sum(one.replicas for one in self.roles.values())

    def keep(self, role: str, replicas: int) -> None:
        """Give a role another number of replicas than the user asks for now: those that it had, until they may go."""
        self._asked[role] = self.roles[role].replicas
        self.roles[role] = replace(self.roles[role], replicas=replicas)
        self.size = sum(one.replicas for one in self.roles.values())

    def asked_replicas(self, role: str) -> int:
        """Return the number of replicas of a role that the user asks for."""
        return self._asked.get(role, self.count(role))

    def rank(self, replica: Replica) -> int:
        """Return the rank of a replica among all, in the kind's order of roles; the leader has 0."""
        before = takewhile(lambda role: role != replica.role, self.roles)
        return sum(map(self.count, before)) + replica.index

    def pod_name(self, replica: Replica) -> str:
        """Return the name of the pod, which is also its host name."""
        return f"{self.name}-{replica.role.lower()}-{replica.index}"

    def host(self, replica: Replica) -> str:
        """Return the DNS name of the pod."""
        return f"{self.pod_name(replica)}.{self.name}.{self.namespace}.svc"

    def endpoint(self, replica: Replica, at: Replica) -> tuple[str, int]:
        """Return host and port of a replica as the replica `at` must know them: to connect, or to listen itself.

        On the host network a replica listens at a port of its node, which differs from that of its Service.
        """
        if replica == at and self.host_ports:
            return f"$({HOST_IP})", self.host_ports[self.pod_name(replica)]
        return self._peer(replica)

    def address(self, replica: Replica, at: Replica | None = None) -> str:
        """Return the endpoint, as others or the replica `at` must know it, as `host:port`.

        The host is always a name, since an IPv6 address would need brackets.
        """
        host, port = self._peer(replica)
        if replica == at and self.host_ports:
            host, port = self.host(replica), self.host_ports[self.pod_name(replica)]
        return f"{host}:{port}"

    def _peer(self, replica: Replica) -> tuple[str, int]:
        name = self.pod_name(replica)
        if self.network_mode == "Host":  # the name of its Service
            return f"{name}.{self.namespace}.svc", self.port(replica.role)
        if self.network_mode == "HostDirect" and self.host_ports:
            return self.host(replica), self.host_ports[name]
        return self.host(replica), self.port(replica.role)

    def auxiliary_name(self, what: str) -> str:
        """Return the name of an auxiliary object, unique to this job by its uid."""
        return f"{self.name}-{what}-{self.uid[:8]}"

    def port(self, role: str) -> int:
        """Return the port: the container port in this role with the kind's port name, else the kind's default."""
        if role not in self._ports:
            given = template.port(role, self.roles[role].template, self.container, self.port_name)
            self._ports[role] = self._default_port if given is None else given
        return self._ports[role]

    def _role(self, role: Role, spec: ReplicaSpec) -> JobRole:
        spot = spec.spot_replica_spec
        return JobRole(
            name=role.name,
            replicas=spec.replicas,
            template=spec.template,
            restart_policy=spec.restart_policy or role.restart_policy,
            exit_codes=spec.exit_codes,
            oom_policy=spec.oom_policy,
            depends_on=role.after if spec.depends_on is None else spec.depends_on,
            has_default_order=spec.depends_on is None,
            fatal=role.fatal if spec.failure_policy is None else spec.failure_policy == "FailJob",
            spot=spot,
            first_spot=spec.replicas - (spot.spot_replica_number if spot is not None else 0),
        )
