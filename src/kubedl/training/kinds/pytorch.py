"""PyTorchJob: torch.distributed with one Master and Workers, started directly or with torchrun."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from kubedl.api.replica_spec import Dependency, ReplicaSpecs
from kubedl.api.training import JobSpec, RestartScope, TrainingJob
from kubedl.schema.crd import Rule, Scale
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind

# How often torchrun starts its processes again by itself. It does so whenever a member leaves; more than a few times a
# program that always fails should end its pod, so that the failure counts.
RESTARTS_BY_TORCHRUN = "100"
# Seconds: a rendezvous waits so long for the smallest size, and then for more members.
RENDEZVOUS = "join_timeout=3600,last_call_timeout=5"


class PyTorchJobSpec(JobSpec, frozen=True, kw_only=True):
    """The spec of a PyTorchJob."""

    replica_specs: ReplicaSpecs = msgspec.field(name="pytorchReplicaSpecs")
    nproc_per_node: Annotated[
        int, Meta(ge=1, le=1024, description="The number of processes that torchrun starts in each pod.")
    ] = 1


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
    resizes_in_place = True
    clean_pod_policy = "None"
    rules = (
        Rule(
            "!self.exists(role, role.lowerAscii() == 'aimaster')",
            "AIMaster is not supported (elastic training); remove the role to train with a fixed number of workers",
            at="spec.pytorchReplicaSpecs",
            reason="FieldValueForbidden",
        ),
    )
    scale = Scale(
        ".spec.pytorchReplicaSpecs.Worker.replicas", ".status.replicaStatuses.Worker.active", ".status.elastic.selector"
    )

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """RANK and WORLD_SIZE count pods; torchrun sets both again for each of its processes."""
        address, number = job.endpoint(job.leader, replica)
        port, rank = str(number), str(job.rank(replica))
        if job.spec.elastic is not None and not self.restarts_to_resize(job):
            return self._elastic_environment(job, replica, address, port)
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

    def _elastic_environment(self, job: Job, replica: Replica, address: str, port: str) -> Mapping[str, str]:
        """Nothing in it depends on the number of replicas: RANK and WORLD_SIZE come from torchrun alone.

        The agent of the first replica keeps the store of the rendezvous: that one is never removed by a resize, and the
        loss of any replica restarts all of them. Each attempt of the job has a rendezvous of its own.
        """
        bounds, fixed = job.spec.elastic, job.size - job.count(self.elastic_role)
        is_host = int(replica == job.leader)
        return {
            "MASTER_ADDR": address,
            "MASTER_PORT": port,
            "PYTHONUNBUFFERED": "1",
            "PET_NNODES": f"{bounds.min_replicas + fixed}:{bounds.max_replicas + fixed}",
            "PET_NPROC_PER_NODE": str(job.spec.nproc_per_node),
            "PET_RDZV_BACKEND": "c10d",
            "PET_RDZV_ENDPOINT": f"{address}:{port}",
            "PET_RDZV_ID": f"{job.uid[:8]}-{job.resource.status.attempt}",
            "PET_RDZV_CONF": f"is_host={is_host},{RENDEZVOUS}",
            "PET_MAX_RESTARTS": RESTARTS_BY_TORCHRUN,
            # Else processes would share the store of the rendezvous, with keys of earlier rounds.
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        }

    def succeeded(self, job: Job, done: Done) -> bool:
        """The job succeeds when all replicas have."""
        return all(len(done.get(role, ())) >= job.count(role) for role in job.roles)

    def restart_scope(self, job: Job) -> RestartScope:
        """All replicas restart together, as one collective."""
        return "Job"
