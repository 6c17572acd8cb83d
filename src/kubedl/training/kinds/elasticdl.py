"""ElasticDLJob: a Master, which makes its own workers and parameter servers through the API server."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedl.api.training import JobSpec, ReplicaSpecs, TrainingJob
from kubedl.api.training_rules import LONGEST_NAME
from kubedl.schema.crd import Rule
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind

_NAME = "elasticdl-{}-master"
_LONGEST = LONGEST_NAME - len(_NAME.format(""))


class ElasticDLJobSpec(JobSpec, frozen=True, kw_only=True):
    """What an ElasticDLJob runs."""

    replica_specs: ReplicaSpecs = msgspec.field(name="elasticdlReplicaSpecs")


class ElasticDLJob(TrainingJob, frozen=True):
    """An ElasticDL job."""

    spec: ElasticDLJobSpec


class ElasticDLView(Job):
    """ElasticDL finds its master by name: what the master makes is owned by the pod of that name."""

    def pod_name(self, replica: Replica) -> str:
        """Without an index, because there is one."""
        return _NAME.format(self.name) + (f"-{replica.index}" if replica.index else "")


class ElasticDL(Kind):
    """The master is told everything by its command line."""

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
            f"the master's pod is named {_NAME.format('{job}')}, which may have at most {LONGEST_NAME} characters: "
            f"the name of the job may have {_LONGEST}",
            field=".metadata.name",
        ),
    )

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """Nothing: there is nobody whom it would have to be told about."""
        return {}

    def adapt(self, job: Job, replica: Replica, template: dict[str, Any]) -> None:
        """It talks to the API server, with the account that the namespace gives it unless the user names one."""
        template["spec"].setdefault("automountServiceAccountToken", True)

    def succeeded(self, job: Job, done: Done) -> bool:
        """The master decides."""
        return bool(done.get("Master"))
