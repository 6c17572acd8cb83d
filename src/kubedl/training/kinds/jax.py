"""JAXJob: equal processes that run one program; worker 0 is the coordinator too.

One role, because JAX has one: its coordinator is a thread of process 0, which runs the same program as the others. A
role of its own would be a second template to keep equal to the first.
"""

from collections.abc import Mapping

import msgspec

from kubedl.api.training import JobSpec, ReplicaSpecs, RestartScope, TrainingJob
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind


class JAXJobSpec(JobSpec, frozen=True, kw_only=True):
    """What a JAXJob runs."""

    replica_specs: ReplicaSpecs = msgspec.field(name="jaxReplicaSpecs")


class JAXJob(TrainingJob, frozen=True):
    """A JAX job."""

    spec: JAXJobSpec


class JAX(Kind):
    """`jax.distributed` reads the coordinator's address by itself; a script hands it the two numbers."""

    kind = "JAXJob"
    plural = "jaxjobs"
    short_names = ("jax",)
    type = JAXJob
    replicas_field = "jaxReplicaSpecs"
    roles = (Role("Worker"),)
    container = "jax"
    port_name = "jaxjob-port"
    port = 1234
    clean_pod_policy = "None"

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """Where process 0 listens, how many processes there are, and which of them this is."""
        return {
            "JAX_COORDINATOR_ADDRESS": f"{job.host(job.leader)}:{job.port(job.leader.role)}",
            "JAX_NUM_PROCESSES": str(job.size),
            "JAX_PROCESS_ID": str(job.rank(replica)),
            "PYTHONUNBUFFERED": "1",
        }

    def succeeded(self, job: Job, done: Done) -> bool:
        """Everybody is needed to the end."""
        return len(done.get("Worker", ())) >= job.count("Worker")

    def restart_scope(self, job: Job) -> RestartScope:
        """A collective dies together."""
        return "Job"
