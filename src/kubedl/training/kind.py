"""What a training framework declares. CRD, RBAC, watches and the whole life of a job follow from it.

A kind is one file with one subclass of `Kind`, registered under the entry-point group `kubedl.kinds`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from kubedl.api.training import GROUP, VERSION, CleanPodPolicy, RestartScope, TrainingJob
from kubedl.api.training_rules import job_columns, job_rules, number_rules
from kubedl.schema.crd import CustomResource, Rule, Scale
from kubedl.schema.rbac import Grant
from kubedl.training.job import Job, Replica, Role
from kubedl.wire.meta import Resource

View = type[Job]
Done = Mapping[str, frozenset[int]]  # role → the indexes that have succeeded


@dataclass(frozen=True)
class Companion:
    """An object that a job's pods need beside their Service. Made once and never read again, so nobody watches it."""

    resource: Resource[Any]
    name: str  # a `Job.companion_name`: whoever finds it taken knows that this very job has it already
    content: Mapping[str, Any]  # beside apiVersion, kind and metadata


class Kind(ABC):
    """A framework. Subclasses set the class variables and say what a replica must know and when the job is done."""

    kind: ClassVar[str]
    plural: ClassVar[str]
    short_names: ClassVar[tuple[str, ...]] = ()
    type: ClassVar[type[TrainingJob]]
    replicas_field: ClassVar[str]  # where the spec has its roles, as users write it
    roles: ClassVar[tuple[Role, ...]]
    container: ClassVar[str]
    container_field: ClassVar[str] = ""  # where a spec may name another one, as users write it
    any_container: ClassVar[bool] = False  # whether users may call the container that does the work as they like
    port_name: ClassVar[str]
    port: ClassVar[int]
    clean_pod_policy: ClassVar[CleanPodPolicy] = "Running"
    rules: ClassVar[tuple[Rule, ...]] = ()
    scale: ClassVar[Scale | None] = None
    grants: ClassVar[tuple[Grant, ...]] = ()  # what the operator may do for this kind alone
    view: ClassVar[View] = Job  # a subclass where replicas have other names

    @abstractmethod
    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """What the processes of this replica must know about the others."""

    @abstractmethod
    def succeeded(self, job: Job, done: Done) -> bool:
        """Whether the job is done when these replicas are."""

    def restart_scope(self, job: Job) -> RestartScope:
        """What one death costs, unless the user says otherwise."""
        return "Replica"

    def main_container(self, made: TrainingJob) -> str:
        """The container that does the work."""
        return self.container

    def companions(self, job: Job) -> Iterable[Companion]:
        """What is made before the Service, in this order; asked for only then, so it may hold what is new each time."""
        return ()

    def adapt(self, job: Job, replica: Replica, template: dict[str, Any]) -> None:  # noqa: B027 - most add nothing
        """Add to the user's pod what variables alone cannot say, before the engine adds its own part.

        `template` is a fresh copy with `metadata` (`labels`, `annotations`) and `spec`. Raises TemplateError if what
        the user wrote does not allow it.
        """

    @cached_property
    def resource(self) -> Resource[TrainingJob]:
        """The kind as the API server knows it."""
        return Resource(self.type, self.kind, self.plural, VERSION, GROUP)

    @cached_property
    def custom_resource(self) -> CustomResource:
        """From which its CRD is generated."""
        return CustomResource(
            resource=self.resource,
            short_names=self.short_names,
            columns=job_columns(),
            rules=(*self._common_rules(), *self.rules),
            scale=self.scale,
        )

    def job(self, made: TrainingJob) -> Job:
        """A view of one job of this kind, with the kind's defaults filled in."""
        roles = {role.name: role for role in self.roles}
        return self.view(made, roles, self.main_container(made), (self.port_name, self.port))

    def _common_rules(self) -> tuple[Rule, ...]:
        place, container = self.replicas_field, None if self.any_container else self.container
        order = {role.name: [dependency.upstream for dependency in role.after] for role in self.roles}
        required = [role.name for role in self.roles if role.required]
        bounds = {role.name: role.at_most for role in self.roles if role.at_most is not None}
        return (
            *job_rules(place, list(order), container, order, self.container_field),
            *number_rules(place, required, bounds),
        )
