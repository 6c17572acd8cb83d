"""JAXJob: equal processes that run one program; worker 0 is also the coordinator.

There is one role, because JAX has one: its coordinator is a thread of process 0, which runs the same program as the
others. A separate role would be a second template to keep in sync with the first.
"""

from collections.abc import Mapping

import msgspec

from kubedl.api.replica_spec import ReplicaSpecs
from kubedl.api.training import JobSpec, RestartScope, TrainingJob
from kubedl.schema.crd import Scale
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind


class JAXJobSpec(JobSpec, frozen=True, kw_only=True):
    """The spec of a JAXJob."""

    replica_specs: ReplicaSpecs = msgspec.field(name="jaxReplicaSpecs")


class JAXJob(TrainingJob, frozen=True):
    """A distributed JAX job."""

    spec: JAXJobSpec


class JAX(Kind):
    """`jax.distributed` reads the coordinator's address; the script passes the number of processes and its id."""

    kind = "JAXJob"
    plural = "jaxjobs"
    short_names = ("jax",)
    type = JAXJob
    replicas_field = "jaxReplicaSpecs"
    roles = (Role("Worker"),)
    container = "jax"
    port_name = "jaxjob-port"
    port = 1234
    host_network = True
    elastic_role = "Worker"
    clean_pod_policy = "None"
    scale = Scale(
        ".spec.jaxReplicaSpecs.Worker.replicas", ".status.replicaStatuses.Worker.active", ".status.elastic.selector"
    )

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """The address of process 0, the number of processes, and the id of this one."""
        return {
            "JAX_COORDINATOR_ADDRESS": job.address(job.leader, replica),
            "JAX_NUM_PROCESSES": str(job.size),
            "JAX_PROCESS_ID": str(job.rank(replica)),
            "PYTHONUNBUFFERED": "1",
        }

    def succeeded(self, job: Job, done: Done) -> bool:
        """The job succeeds when all replicas have."""
        return len(done.get("Worker", ())) >= job.count("Worker")

    def restart_scope(self, job: Job) -> RestartScope:
        """All replicas restart together, as one collective."""
        return "Job"
