"""MPIJob: a Launcher that runs mpirun, and Workers that it reaches by ssh."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kubedl.api.cron import CronPolicy
from kubedl.api.replica_spec import Dependency, ReplicaSpecs
from kubedl.api.scheduling_policy import SchedulingPolicy
from kubedl.api.training import CleanPodPolicy, JobSpec, RestartScope, TrainingJob
from kubedl.api.validation.training import schedule_rule, scheduling_rules
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import Record
from kubedl.schema.crd import Rule
from kubedl.schema.structural import MAX_INT32
from kubedl.training import ssh
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import AuxiliaryObject, Done, Kind

HOSTFILE = f"{ssh.FILES}/hostfile"
MOST_BYTES = 240_000  # of a hostfile: a pod's annotations may have 262,144 bytes in total
LONGEST_LINE = 26  # of a hostfile line, without the job's name: "-worker-9999 slots=65536"
COUNTS = ("gpus", "gpusPerNode", "processingUnits", "processingUnitsPerNode", "processingResourceType")
OF_OLDER_MPIJOBS = {
    **dict.fromkeys(COUNTS, "set resources in the template of Worker, and set replicas and slotsPerWorker"),
    "launcherOnMaster": "set a nodeSelector in the template of Launcher",
    **dict.fromkeys(("replicas", "template"), "use mpiReplicaSpecs, with replicas and template of each role"),
}

Refused = Meta(
    description="A field of an older MPIJob. Not supported: a job that sets it is rejected, with the field to use "
    "instead."
)


class RunPolicy(Record, frozen=True):
    """Policies of the job, in a nested field as in KubeDL 0.5. Each may be set here or in the spec."""

    clean_pod_policy: Annotated[CleanPodPolicy | None, Meta(description="As in the spec.")] = None
    ttl_seconds_after_finished: Annotated[int, Meta(ge=0, le=MAX_INT32, description="As in the spec.")] | None = None
    active_deadline_seconds: Annotated[int, Meta(ge=1, le=MAX_INT32, description="As in the spec.")] | None = None
    backoff_limit: Annotated[int, Meta(ge=0, le=MAX_INT32, description="As in the spec.")] | None = None
    scheduling_policy: SchedulingPolicy | None = None
    cron_policy: CronPolicy | None = None
    suspend: Annotated[
        bool | None, Meta(description="Not supported here: set it in the spec. A job that sets it is rejected.")
    ] = None


OBJECTS = ("schedulingPolicy", "cronPolicy")
RUN_POLICY = {field.name: field.encode_name for field in msgspec.structs.fields(RunPolicy) if field.name != "suspend"}


class MPIJobSpec(JobSpec, frozen=True, kw_only=True):
    """The spec of an MPIJob."""

    replica_specs: ReplicaSpecs = msgspec.field(name="mpiReplicaSpecs")
    slots_per_worker: Annotated[int, Meta(ge=1, le=65536, description="The number of ranks of each worker.")] = 1
    main_container: Annotated[
        str, Meta(min_length=1, max_length=63, description="The name of the main container, in every role.")
    ] = "mpi"
    mpi_distribution: Annotated[
        Literal["OpenMPI", "IntelMPI", "MPICH"], Meta(description="The MPI implementation in the launcher's image.")
    ] = "OpenMPI"
    run_policy: RunPolicy | None = None
    gpus: Annotated[int | None, Refused] = None
    gpus_per_node: Annotated[int | None, Refused] = None
    processing_units: Annotated[int | None, Refused] = None
    processing_units_per_node: Annotated[int | None, Refused] = None
    processing_resource_type: Annotated[str | None, Refused] = None
    launcher_on_master: Annotated[bool | None, Refused] = None
    replicas: Annotated[int | None, Refused] = None
    template: Annotated[RawObject | None, Refused] = None


class MPIJob(TrainingJob, frozen=True):
    """An MPI job: a launcher and its workers."""

    spec: MPIJobSpec


class MPI(Kind):
    """mpirun reads its hosts from a file, and its remote shell agent from the environment."""

    kind = "MPIJob"
    plural = "mpijobs"
    short_names = ("mpi",)
    type = MPIJob
    replicas_field = "mpiReplicaSpecs"
    roles = (
        Role("Worker", restart_policy="Never", fatal=False),
        Role("Launcher", restart_policy="Never", after=(Dependency(upstream="Worker", phase="Ready"),)),
    )
    container = "mpi"
    container_field = "mainContainer"
    port_name = "mpi-port"
    port = 2222
    grants = (ssh.GRANT,)
    rules = (
        Rule(
            "self.exists_one(role, role.lowerAscii() == 'launcher' && self[role].replicas == 1)",
            "an MPIJob needs exactly one Launcher, with one replica",
            at="spec.mpiReplicaSpecs",
        ),
        Rule(
            "self.spec.mpiReplicaSpecs.all(role, role.lowerAscii() != 'worker' || self.spec.mpiReplicaSpecs[role]"
            f".replicas * (size(self.metadata.name) + {LONGEST_LINE}) <= {MOST_BYTES})",
            f"the list of workers must fit into {MOST_BYTES} bytes: use fewer workers or a shorter name",
            field=".spec.mpiReplicaSpecs",
        ),
        *(
            Rule(f"!has(self.{field})", f"{field} belongs to an older MPIJob: {advice}", f".{field}", "spec")
            for field, advice in OF_OLDER_MPIJOBS.items()
        ),
        *(
            Rule(
                f"!has(self.runPolicy) || !has(self.runPolicy.{field}) || !has(self.{field})"
                # In CEL, two objects of the same shape have different types.
                + ("" if field in OBJECTS else f" || self.runPolicy.{field} == self.{field}"),
                f"{field} is also set in the spec; set it once",
                f".runPolicy.{field}",
                "spec",
            )
            for field in RUN_POLICY.values()
        ),
        schedule_rule("runPolicy"),
        Rule("!has(self.suspend)", "set suspend in the spec, not in runPolicy", ".suspend", "spec.runPolicy"),
        *scheduling_rules("spec.runPolicy.schedulingPolicy"),
    )

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """Only for the launcher: only it has the key, so workers cannot start others in its place."""
        if replica.role != "Launcher":
            return {}
        slots = str(job.spec.slots_per_worker)
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if "Worker" not in job:
            return allowed
        by_distribution = {
            "OpenMPI": {  # names in version 4, then in version 5
                "OMPI_MCA_orte_default_hostfile": HOSTFILE,
                "OMPI_MCA_plm_rsh_agent": ssh.AGENT,
                "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
                "PRTE_MCA_prte_default_hostfile": HOSTFILE,
                "PRTE_MCA_plm_ssh_agent": ssh.AGENT,
                "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
                **allowed,
            },
            "IntelMPI": {
                "I_MPI_HYDRA_HOST_FILE": HOSTFILE,
                "I_MPI_HYDRA_BOOTSTRAP": "ssh",
                "I_MPI_HYDRA_BOOTSTRAP_EXEC": ssh.AGENT,
                "I_MPI_HYDRA_BRANCH_COUNT": "0",
                "I_MPI_PERHOST": slots,
            },
            "MPICH": {"HYDRA_HOST_FILE": HOSTFILE, "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": ssh.AGENT},
        }
        return by_distribution[job.spec.mpi_distribution]

    def succeeded(self, job: Job, done: Done) -> bool:
        """The job succeeds when the launcher does; workers wait forever."""
        return bool(done.get("Launcher"))

    def restart_scope(self, job: Job) -> RestartScope:
        """All replicas restart together, as one collective."""
        return "Job"

    def main_container(self, resource: TrainingJob) -> str:
        """Return the user's choice."""
        return str(resource.spec.main_container)

    def job(self, resource: TrainingJob) -> Job:
        """Move the policies into the spec, where the engine reads them."""
        policy = resource.spec.run_policy
        if policy is not None:
            given = {name: getattr(policy, name) for name in RUN_POLICY if getattr(policy, name) is not None}
            resource = msgspec.structs.replace(resource, spec=msgspec.structs.replace(resource.spec, **given))
        return super().job(resource)

    def auxiliary_objects(self, job: Job) -> Iterable[AuxiliaryObject]:
        """The key pair for ssh."""
        return (ssh.key_pair(job),)

    def adapt(self, job: Job, replica: Replica, template: dict[str, Any]) -> None:
        """Workers run sshd; the launcher gets the list of hosts. A launcher without workers runs its ranks itself."""
        if replica.role == "Worker":
            ssh.serve(job, template, job.port("Worker"))
        elif "Worker" in job:
            separator = " slots=" if job.spec.mpi_distribution == "OpenMPI" else ":"
            names = (job.pod_name(Replica("Worker", index)) for index in range(job.count("Worker")))
            hosts = "".join(f"{name}{separator}{job.spec.slots_per_worker}\n" for name in names)
            ssh.reach_out(job, template, job.port("Worker"), {"hostfile": ssh.File(hosts)})
