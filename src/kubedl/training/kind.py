"""The declaration of a training framework. CRD, RBAC, watches and the lifecycle of its jobs are derived from it.

A kind is one module with one subclass of `Kind`, registered under the entry-point group `kubedl.kinds`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from kubedl.api.training import GROUP, VERSION, CleanPodPolicy, RestartScope, TrainingJob
from kubedl.api.validation.elastic import elastic_rules, may_differ
from kubedl.api.validation.policies import network_rules
from kubedl.api.validation.spot import spot_job_rules
from kubedl.api.validation.training import job_columns, job_rules, number_rules
from kubedl.kube.types.meta import Resource
from kubedl.schema.crd import CustomResource, Rule, Scale
from kubedl.schema.grants import Grant
from kubedl.training.job import Job, Replica, Role

View = type[Job]
Done = Mapping[str, frozenset[int]]  # role → indexes of replicas that have succeeded


@dataclass(frozen=True)
class AuxiliaryObject:
    """An object that a job's pods need besides their Service. It is created once and never read or watched."""

    resource: Resource[Any]
    name: str  # a `Job.companion_name`: an existing object with this name belongs to this job
    content: Mapping[str, Any]  # besides apiVersion, kind and metadata


class Kind(ABC):
    """A framework. Subclasses set the class variables, the environment of a replica, and when the job succeeds."""

    kind: ClassVar[str]
    plural: ClassVar[str]
    short_names: ClassVar[tuple[str, ...]] = ()
    type: ClassVar[type[TrainingJob]]
    replicas_field: ClassVar[str]  # JSON name of the spec field with the roles
    roles: ClassVar[tuple[Role, ...]]
    container: ClassVar[str]
    container_field: ClassVar[str] = ""  # JSON name of the spec field that names the main container
    any_container: ClassVar[bool] = False  # whether the main container may have any name
    port_name: ClassVar[str]
    port: ClassVar[int]
    host_network: ClassVar[bool] = False  # whether `environment` uses `Job.endpoint` and `Job.address` throughout
    elastic_role: ClassVar[str] = ""  # whose replicas may change while a job runs
    elastic_fields: ClassVar[tuple[str, ...]] = ("elastic",)  # JSON names of spec fields, one of which says so
    resizes_in_place: ClassVar[bool] = False  # whether the others can stay then; all restart if not
    clean_pod_policy: ClassVar[CleanPodPolicy] = "Running"
    rules: ClassVar[tuple[Rule, ...]] = ()
    scale: ClassVar[Scale | None] = None
    grants: ClassVar[tuple[Grant, ...]] = ()  # permissions of the operator for this kind alone
    view: ClassVar[View] = Job  # a subclass if replicas are named differently

    @abstractmethod
    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """Return the environment variables of this replica."""

    @abstractmethod
    def succeeded(self, job: Job, done: Done) -> bool:
        """Return whether the job succeeds when these replicas have."""

    def restart_scope(self, job: Job) -> RestartScope:
        """Return the default restartScope: whether a failed replica is restarted alone or with all others."""
        return "Replica"

    def restarts_to_resize(self, job: Job) -> bool:
        """Return whether all replicas of an elastic job start again to get another size, or to leave a node."""
        mode = job.spec.elastic.resize if job.spec.elastic is not None else None
        return mode == "Restart" or (mode is None and not self.resizes_in_place)

    def main_container(self, resource: TrainingJob) -> str:
        """Return the name of the main container."""
        return self.container

    def auxiliary_objects(self, job: Job) -> Iterable[AuxiliaryObject]:
        """Return the objects to create before the Service, in order; called only then, so content may be generated."""
        return ()

    def adapt(self, job: Job, replica: Replica, template: dict[str, Any]) -> None:  # noqa: B027 - most add nothing
        """Modify the user's pod beyond environment variables, before the engine adds its own part.

        `template` is a new copy with `metadata` (`labels`, `annotations`) and `spec`. Raises TemplateError if the
        template does not allow it.
        """

    @cached_property
    def resource(self) -> Resource[TrainingJob]:
        """Return the kind as an API resource."""
        return Resource(self.type, self.kind, self.plural, VERSION, GROUP)

    @cached_property
    def custom_resource(self) -> CustomResource:
        """Return the declaration from which the CRD is generated."""
        return CustomResource(
            resource=self.resource,
            short_names=self.short_names,
            columns=job_columns(),
            rules=(*self._common_rules(), *self.rules),
            scale=self.scale,
        )

    def job(self, resource: TrainingJob) -> Job:
        """Return a job of this kind, with the kind's defaults."""
        roles = {role.name: role for role in self.roles}
        return self.view(resource, roles, self.main_container(resource), (self.port_name, self.port))

    def _common_rules(self) -> tuple[Rule, ...]:
        place, container = self.replicas_field, None if self.any_container else self.container
        order = {role.name: [dependency.upstream for dependency in role.after] for role in self.roles}
        required = [role.name for role in self.roles if role.required]
        bounds = {role.name: role.at_most for role in self.roles if role.at_most is not None}
        role, fields = self.elastic_role, self.elastic_fields
        resized = may_differ(role, fields) if role else ""
        return (
            *job_rules(place, list(order), container, order, self.container_field, resized),
            *number_rules(place, required, bounds),
            *network_rules(self.host_network, self.kind),
            *elastic_rules(place, role, self.kind, in_place=self.resizes_in_place, fields=fields),
            *spot_job_rules(place, self.kind, in_place=self.resizes_in_place, has_policy="elasticPolicy" in fields),
        )
