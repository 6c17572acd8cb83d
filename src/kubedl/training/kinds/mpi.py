"""MPIJob: a Launcher that runs mpirun, and Workers that it reaches by ssh."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kubedl.api.training import (
    MOST,
    CleanPodPolicy,
    Dependency,
    JobSpec,
    ReplicaSpecs,
    RestartScope,
    SchedulingPolicy,
    TrainingJob,
)
from kubedl.api.training_rules import scheduling_rules
from kubedl.schema.crd import Rule
from kubedl.training import ssh
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Companion, Done, Kind
from kubedl.wire.codec import Opaque
from kubedl.wire.meta import Record

HOSTFILE = f"{ssh.FILES}/hostfile"
MOST_BYTES = 240_000  # of a hostfile: a pod's annotations may have 262,144 together
LONGEST_LINE = 26  # of a hostfile, without the job's name: "-worker-9999 slots=65536"
IN_ROLES = "roles stand in mpiReplicaSpecs, each with its replicas and its template"
BY_RESOURCES = "ask for resources in the template of Worker, and say replicas and slotsPerWorker"
OF_OLDER_MPIJOBS = {
    "gpus": BY_RESOURCES,
    "gpusPerNode": BY_RESOURCES,
    "processingUnits": BY_RESOURCES,
    "processingUnitsPerNode": BY_RESOURCES,
    "processingResourceType": BY_RESOURCES,
    "launcherOnMaster": "write a nodeSelector into the template of Launcher",
    "replicas": IN_ROLES,
    "template": IN_ROLES,
}

Refused = Meta(description="Of an older MPIJob; refused, with what to write instead.")


class RunPolicy(Record, frozen=True):
    """The policies of the spec itself, as the first KubeDL has them for this kind; they may stand in either place."""

    clean_pod_policy: Annotated[CleanPodPolicy | None, Meta(description="As in the spec.")] = None
    ttl_seconds_after_finished: Annotated[int, Meta(ge=0, le=MOST, description="As in the spec.")] | None = None
    active_deadline_seconds: Annotated[int, Meta(ge=1, le=MOST, description="As in the spec.")] | None = None
    backoff_limit: Annotated[int, Meta(ge=0, le=MOST, description="As in the spec.")] | None = None
    scheduling_policy: SchedulingPolicy | None = None
    suspend: Annotated[bool | None, Meta(description="Refused here; it stands in the spec.")] = None


RUN_POLICY = {field.name: field.encode_name for field in msgspec.structs.fields(RunPolicy) if field.name != "suspend"}


class MPIJobSpec(JobSpec, frozen=True, kw_only=True):
    """What an MPIJob runs."""

    replica_specs: ReplicaSpecs = msgspec.field(name="mpiReplicaSpecs")
    slots_per_worker: Annotated[int, Meta(ge=1, le=65536, description="How many ranks each worker takes.")] = 1
    main_container: Annotated[
        str, Meta(min_length=1, max_length=63, description="The container that does the work, in every role.")
    ] = "mpi"
    mpi_distribution: Annotated[
        Literal["OpenMPI", "IntelMPI", "MPICH"], Meta(description="Whose mpirun the image of the launcher has.")
    ] = "OpenMPI"
    run_policy: RunPolicy | None = None
    gpus: Annotated[int | None, Refused] = None
    gpus_per_node: Annotated[int | None, Refused] = None
    processing_units: Annotated[int | None, Refused] = None
    processing_units_per_node: Annotated[int | None, Refused] = None
    processing_resource_type: Annotated[str | None, Refused] = None
    launcher_on_master: Annotated[bool | None, Refused] = None
    replicas: Annotated[int | None, Refused] = None
    template: Annotated[Opaque | None, Refused] = None


class MPIJob(TrainingJob, frozen=True):
    """An MPI job."""

    spec: MPIJobSpec


class MPI(Kind):
    """mpirun reads its hosts from a file, and the program that it reaches them with from its environment."""

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
            "an MPIJob has one Launcher, of one replica: the job is done when it is",
            at="spec.mpiReplicaSpecs",
        ),
        Rule(
            "self.spec.mpiReplicaSpecs.all(role, role.lowerAscii() != 'worker' || self.spec.mpiReplicaSpecs[role]"
            f".replicas * (size(self.metadata.name) + {LONGEST_LINE}) <= {MOST_BYTES})",
            f"the list of workers must fit into {MOST_BYTES} bytes: take fewer workers, or a shorter name",
            field=".spec.mpiReplicaSpecs",
        ),
        *(
            Rule(f"!has(self.{field})", f"{field} is of an older MPIJob: {advice}", f".{field}", "spec")
            for field, advice in OF_OLDER_MPIJOBS.items()
        ),
        *(
            Rule(
                f"!has(self.runPolicy) || !has(self.runPolicy.{field}) || !has(self.{field})"
                # CEL takes two objects of the same shape for two types.
                + ("" if field == "schedulingPolicy" else f" || self.runPolicy.{field} == self.{field}"),
                f"{field} stands in the spec too; write it once",
                f".runPolicy.{field}",
                "spec",
            )
            for field in RUN_POLICY.values()
        ),
        Rule("!has(self.suspend)", "suspend stands in the spec, not in its runPolicy", ".suspend", "spec.runPolicy"),
        *scheduling_rules("spec.runPolicy.schedulingPolicy"),
    )

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """Of the launcher: only it has the key, so no worker is made to start others in its place."""
        if replica.role != "Launcher":
            return {}
        slots = str(job.spec.slots_per_worker)
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if "Worker" not in job:
            return allowed
        by_distribution = {
            "OpenMPI": {  # names of version 4, then of version 5
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
        """The launcher decides: workers would wait for ever."""
        return bool(done.get("Launcher"))

    def restart_scope(self, job: Job) -> RestartScope:
        """A collective dies together."""
        return "Job"

    def main_container(self, made: TrainingJob) -> str:
        """The user's choice."""
        return str(made.spec.main_container)

    def job(self, made: TrainingJob) -> Job:
        """The engine reads policies in the spec only."""
        policy = made.spec.run_policy
        if policy is not None:
            given = {name: getattr(policy, name) for name in RUN_POLICY if getattr(policy, name) is not None}
            made = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, **given))
        return super().job(made)

    def companions(self, job: Job) -> Iterable[Companion]:
        """The key to the workers."""
        return (ssh.key_pair(job),)

    def adapt(self, job: Job, replica: Replica, template: dict[str, Any]) -> None:
        """Workers serve; the launcher knows where. A launcher without workers runs its ranks itself."""
        if replica.role == "Worker":
            ssh.serve(job, template, job.port("Worker"))
        elif "Worker" in job:
            separator = " slots=" if job.spec.mpi_distribution == "OpenMPI" else ":"
            names = (job.pod_name(Replica("Worker", index)) for index in range(job.count("Worker")))
            hosts = "".join(f"{name}{separator}{job.spec.slots_per_worker}\n" for name in names)
            ssh.reach_out(job, template, job.port("Worker"), {"hostfile": ssh.File(hosts)})
