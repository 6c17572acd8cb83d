"""PyTorchJob: torch.distributed with one Master and Workers, started directly or with torchrun."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from kubedl.api.elastic_policy import ElasticPolicy
from kubedl.api.replica_spec import Dependency, ReplicaSpecs
from kubedl.api.training import JobSpec, RestartScope, TrainingJob
from kubedl.api.validation.elastic_policy import elastic_policy_rules
from kubedl.schema.crd import Rule, Scale
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind
from kubedl.training.policies import elastic_policy


class PyTorchJobSpec(JobSpec, frozen=True, kw_only=True):
    """The spec of a PyTorchJob."""

    replica_specs: ReplicaSpecs = msgspec.field(name="pytorchReplicaSpecs")
    nproc_per_node: Annotated[
        int, Meta(ge=1, le=1024, description="The number of processes that torchrun starts in each pod.")
    ] = 1
    elastic_policy: Annotated[
        ElasticPolicy | None,
        Meta(
            description="Resize the job while it runs, with the fields of Kubeflow's training-operator. `elastic` is "
            "the field of this operator; a job has one of them."
        ),
    ] = None


class PyTorchJob(TrainingJob, frozen=True):
    """A distributed PyTorch job."""

    spec: PyTorchJobSpec


class PyTorch(Kind):
    """torch.distributed reads MASTER_ADDR, RANK and WORLD_SIZE; torchrun reads PET_* for all its flags."""

    kind = "PyTorchJob"
    plural = "pytorchjobs"
    short_names = ("pt",)
    type = PyTorchJob
    replicas_field = "pytorchReplicaSpecs"
    roles = (
        Role("Master", at_most=1),
        Role("Worker", restart_policy="OnFailure", after=(Dependency(upstream="Master", phase="Running"),)),
    )
    container = "pytorch"
    port_name = "pytorchjob-port"
    port = 23456
    host_network = True
    elastic_role = "Worker"
    elastic_fields = ("elastic", "elasticPolicy")
    resizes_in_place = True
    clean_pod_policy = "None"
    rules = (
        Rule(
            "!self.exists(role, role.lowerAscii() == 'aimaster')",
            "AIMaster is not supported (elastic training); remove the role to train with a fixed number of workers",
            at="spec.pytorchReplicaSpecs",
            reason="FieldValueForbidden",
        ),
        *elastic_policy_rules("pytorchReplicaSpecs", "Worker", "Master"),
    )
    scale = Scale(
        ".spec.pytorchReplicaSpecs.Worker.replicas", ".status.replicaStatuses.Worker.active", ".status.elastic.selector"
    )

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """RANK and WORLD_SIZE count pods; torchrun sets both again for each of its processes."""
        address, number = job.endpoint(job.leader, replica)
        if job.spec.elastic is not None and not self.restarts_to_resize(job):
            return self._elastic_environment(job, replica, address, number)
        port, rank = str(number), str(job.rank(replica))
        return {
            "MASTER_ADDR": address,
            "MASTER_PORT": port,
            "RANK": rank,
            "WORLD_SIZE": str(job.size),
            "PYTHONUNBUFFERED": "1",
            "PET_NNODES": str(job.size),
            "PET_NPROC_PER_NODE": str(job.spec.nproc_per_node),
            "PET_NODE_RANK": rank,
            "PET_MASTER_ADDR": address,
            "PET_MASTER_PORT": port,
        }

    def _elastic_environment(self, job: Job, replica: Replica, address: str, port: int) -> Mapping[str, str]:
        """Nothing in it depends on the number of replicas: RANK and WORLD_SIZE come from torchrun alone.

        The agent of the first replica keeps the store of the rendezvous: that one is never removed by a resize, and the
        loss of any replica restarts all of them.
        """
        bounds, fixed = job.spec.elastic, job.size - job.count(self.elastic_role)
        return {
            "MASTER_ADDR": address,
            "MASTER_PORT": str(port),
            "PYTHONUNBUFFERED": "1",
            "PET_NNODES": f"{bounds.min_replicas + fixed}:{bounds.max_replicas + fixed}",
            "PET_NPROC_PER_NODE": str(job.spec.nproc_per_node),
            **elastic_policy.rendezvous(job.resource, address, port, is_host=replica == job.leader),
        }

    def job(self, resource: TrainingJob) -> Job:
        """Move an elasticPolicy to where the engine reads it."""
        return super().job(elastic_policy.understood(resource, self.elastic_role))

    def succeeded(self, job: Job, done: Done) -> bool:
        """The job succeeds when all replicas have."""
        return all(len(done.get(role, ())) >= job.count(role) for role in job.roles)

    def restart_scope(self, job: Job) -> RestartScope:
        """All replicas restart together, as one collective."""
        return "Job"
