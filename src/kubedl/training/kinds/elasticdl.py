"""ElasticDLJob: a Master, which creates its own workers and parameter servers through the API server."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedl.api.replica_spec import ReplicaSpecs
from kubedl.api.training import JobSpec, TrainingJob
from kubedl.api.validation.training import LONGEST_NAME
from kubedl.kube import codec
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import Record
from kubedl.schema.crd import Rule
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind

_NAME = "elasticdl-{}-master"
_LONGEST = LONGEST_NAME - len(_NAME.format(""))


class ElasticDLJobSpec(JobSpec, frozen=True, kw_only=True):
    """The spec of an ElasticDLJob."""

    replica_specs: ReplicaSpecs = msgspec.field(name="elasticdlReplicaSpecs")


class ElasticDLJob(TrainingJob, frozen=True):
    """An ElasticDL job: a master that creates its own workers."""

    spec: ElasticDLJobSpec


class ElasticDLView(Job):
    """ElasticDL finds its master by name: the master's pod owns the pods that it creates."""

    def pod_name(self, replica: Replica) -> str:
        """Return a name without an index, as there is only one master."""
        return _NAME.format(self.name) + (f"-{replica.index}" if replica.index else "")


class ElasticDL(Kind):
    """The master gets its settings from the command line."""

    kind = "ElasticDLJob"
    plural = "elasticdljobs"
    short_names = ("edl",)
    type = ElasticDLJob
    replicas_field = "elasticdlReplicaSpecs"
    roles = (Role("Master", required=True, at_most=1),)
    container = "elasticdl"
    any_container = True  # ElasticDL's own tool names the container after the pod
    port_name = "elasticdl-port"
    port = 11111
    view = ElasticDLView
    rules = (
        Rule(
            f"size(self.metadata.name) <= {_LONGEST}",
            f"the pod of the master is named {_NAME.format('{job}')}, which may have at most {LONGEST_NAME} "
            f"characters: the name of the job may have {_LONGEST}",
            field=".metadata.name",
        ),
    )

    def main_container(self, resource: TrainingJob) -> str:
        """Return the container of that name, else the first one."""
        for role in resource.spec.replica_specs.values():
            names = _containers(role.template)
            if names and self.container not in names:
                return names[0]
        return self.container

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """None: there are no other replicas."""
        return {}

    def adapt(self, job: Job, replica: Replica, template: dict[str, Any]) -> None:
        """Use the service account of the namespace, unless the user names one: the master calls the API server."""
        if template["spec"].get("automountServiceAccountToken") is None:
            template["spec"]["automountServiceAccountToken"] = True

    def succeeded(self, job: Job, done: Done) -> bool:
        """The job succeeds when the master does."""
        return bool(done.get("Master"))


class _Container(Record, frozen=True):
    name: str


class _Spec(Record, frozen=True):
    containers: tuple[_Container, ...]


class _Template(Record, frozen=True):
    spec: _Spec


def _containers(template: RawObject) -> tuple[str, ...]:
    """Return the names of a template's containers; none if they cannot be read, which is refused with its pod."""
    try:
        return tuple(one.name for one in codec.decode(template.json, _Template).spec.containers)
    except codec.UNREADABLE:
        return ()
