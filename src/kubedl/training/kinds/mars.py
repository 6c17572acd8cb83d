"""MarsJob: schedulers with the state of a computation, workers that run it, and web services that show it."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kubedl.api.replica_spec import Dependency, ReplicaSpecs
from kubedl.api.training import JobSpec, TrainingJob
from kubedl.kube import codec, quantity
from kubedl.kube.codec import RawObject
from kubedl.kube.quantity import Quantity
from kubedl.kube.types.meta import Record
from kubedl.podspec.template import TemplateError
from kubedl.schema.crd import Rule
from kubedl.schema.structural import MAX_INT32
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind

_SCHEDULER_FIRST = (Dependency(upstream="Scheduler", phase="Running"),)
_OF_THE_POD = {
    "MARS_CONTAINER_IP": "status.podIP",
    "MARS_K8S_POD_NAME": "metadata.name",
    "MARS_K8S_POD_NAMESPACE": "metadata.namespace",
}
_Path = Annotated[str, Meta(min_length=1, max_length=4096)]


class MemoryPolicy(Record, frozen=True):
    """Memory settings of the workers."""

    plasma_store: Annotated[
        str, Meta(max_length=4096, description="The directory of the shared memory of a worker's processes.")
    ] = "/dev/shm"  # noqa: S108 - where shared memory is by convention
    lock_free_file_io: Annotated[
        bool, Meta(description="Whether spillDirs are on disks that no other program writes to.")
    ] = msgspec.field(name="lockFreeFileIO", default=True)
    spill_dirs: Annotated[
        tuple[_Path, ...],
        Meta(max_length=32, description="Directories for data that does not fit into memory; each is a volume."),
    ] = ()
    worker_cache_percentage: (
        Annotated[
            int, Meta(ge=0, le=MAX_INT32, description="The percentage of a worker's memory that is used as cache.")
        ]
        | None
    ) = None
    worker_cache_size: Annotated[
        int | str | None,
        Meta(
            description="The size of a worker's cache; has precedence over the percentage.",
            extra_json_schema={"pattern": quantity.PATTERN},
        ),
    ] = None


class MarsJobSpec(JobSpec, frozen=True, kw_only=True):
    """The spec of a MarsJob."""

    replica_specs: ReplicaSpecs = msgspec.field(name="marsReplicaSpecs")
    worker_memory_tuning_policy: MemoryPolicy | None = None
    web_host: (
        Annotated[str, Meta(max_length=253, description="Not supported yet: create an Ingress yourself.")] | None
    ) = None


class MarsJob(TrainingJob, frozen=True):
    """A Mars job: distributed tensors and data frames."""

    spec: MarsJobSpec


class Mars(Kind):
    """Mars reads MARS_*. Only schedulers cannot be replaced, as their state exists nowhere else."""

    kind = "MarsJob"
    plural = "marsjobs"
    short_names = ("mars",)
    type = MarsJob
    replicas_field = "marsReplicaSpecs"
    roles = (
        Role("Scheduler", restart_policy="Never", required=True),
        Role("WebService", restart_policy="Always", after=_SCHEDULER_FIRST, fatal=False),
        Role("Worker", after=_SCHEDULER_FIRST, fatal=False),
    )
    container = "mars"
    port_name = "mars-port"
    port = 11111
    # Workers and web services do not exit by themselves; KubeDL 0.5 left them running after the schedulers had ended.
    clean_pod_policy = "Running"
    rules = (
        Rule(
            "!has(self.webHost)",
            "webHost is not supported yet (no Ingress is created); remove the field and create one yourself, "
            "for a Service that selects the label replica-type=webservice of the job",
            field=".webHost",
            at="spec",
            reason="FieldValueForbidden",
        ),
    )

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """The addresses of schedulers and web services, the resources of this pod, and memory settings of workers."""
        cpu, memory, _ = _resources(job, replica.role)
        task: dict[str, Any] = {"type": replica.role.lower(), "index": replica.index}
        if replica.role == "Worker":
            task["resources"] = {"cpu_procs": cpu, "phy_mem": memory}
        return {
            "MARS_CPU_TOTAL": str(cpu),
            "MARS_MEMORY_TOTAL": str(memory),
            "MARS_CPU_USE_PROCESS_STAT": "1",
            "MARS_MEM_USE_CGROUP_STAT": "1",
            "MARS_BIND_PORT": str(job.port(replica.role)),
            "MARS_K8S_GROUP_LABELS": "job-name",
            "MARS_CLUSTER_DETAIL": codec.encode({"cluster": _cluster(job), "task": task}).decode(),
            **(_memory(job, memory) if replica.role == "Worker" else {}),
        }

    def adapt(self, job: Job, replica: Replica, template: dict[str, Any]) -> None:
        """Environment variables from the downward API, and volumes for a worker's cache and spill directories."""
        spec = template["spec"]
        for container in spec["containers"]:
            if container["name"] == job.container:
                given = container.get("env") or []
                names = {variable.get("name") for variable in given}
                added = [
                    {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
                    for name, path in _OF_THE_POD.items()
                    if name not in names
                ]
                container["env"] = [*added, *given]
                if replica.role == "Worker":
                    _mount(spec, container, _volumes(job))

    def succeeded(self, job: Job, done: Done) -> bool:
        """The job succeeds when all schedulers have, which exit with the computation."""
        return len(done.get("Scheduler", ())) >= max(1, job.count("Scheduler"))


class _Resources(Record, frozen=True):
    requests: Mapping[str, Quantity] | None = None
    limits: Mapping[str, Quantity] | None = None


class _Container(Record, frozen=True):
    name: str
    resources: _Resources | None = None


class _Spec(Record, frozen=True):
    containers: tuple[_Container, ...]


class _Template(Record, frozen=True):
    spec: _Spec


def _resources(job: Job, role: str) -> tuple[int, int, int]:
    """Return CPUs, bytes of memory and bytes of disk of a role's container: its requests, else its limits, else 0."""
    return _asked(role, job.roles[role].template, job.container)


@lru_cache(maxsize=64)  # the same for every replica of a role
def _asked(role: str, template: RawObject, main: str) -> tuple[int, int, int]:
    try:
        containers = codec.decode(template.json, _Template).spec.containers
        resources = (
            next((container.resources for container in containers if container.name == main), None) or _Resources()
        )
        amounts = {**(resources.limits or {}), **(resources.requests or {})}
        cpu, memory, disk = (quantity.whole(amounts.get(name, 0)) for name in ("cpu", "memory", "ephemeral-storage"))
    except (*codec.UNREADABLE, ValueError) as error:
        raise TemplateError(f"the template of {role}: resources: {error}") from error
    return cpu, memory, disk


@lru_cache(maxsize=64)  # the same for every replica of a job
def _cluster(job: Job) -> dict[str, list[str]]:
    cluster: dict[str, list[str]] = {}
    for replica in job.replicas():
        if replica.role != "Worker":
            cluster.setdefault(replica.role.lower(), []).append(f"{job.host(replica)}:{job.port(replica.role)}")
    return cluster


def _policy(job: Job) -> MemoryPolicy:
    return job.spec.worker_memory_tuning_policy or MemoryPolicy()


def _cache_size(policy: MemoryPolicy, memory: int) -> int:
    if policy.worker_cache_size is not None:
        try:
            return quantity.whole(policy.worker_cache_size)
        except ValueError as error:
            raise TemplateError(f"workerMemoryTuningPolicy.workerCacheSize: {error}") from error
    return memory * min(policy.worker_cache_percentage or 0, 100) // 100


def _memory(job: Job, memory: int) -> dict[str, str]:
    policy = _policy(job)
    cache = _cache_size(policy, memory)
    return {
        **({"MARS_SPILL_DIRS": ",".join(policy.spill_dirs)} if policy.spill_dirs else {}),
        **({"MARS_PLASMA_DIRS": policy.plasma_store} if policy.plasma_store else {}),
        "MARS_LOCK_FREE_FILEIO": str(int(policy.lock_free_file_io)),
        **({"MARS_CACHE_MEM_SIZE": str(cache)} if cache else {}),
    }


def _volumes(job: Job) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the volumes by mount path: name and emptyDir of each."""
    policy, (_, memory, disk) = _policy(job), _resources(job, "Worker")
    share = {"sizeLimit": str(disk // len(policy.spill_dirs))} if disk and policy.spill_dirs else {}
    wanted = {path: (f"mars-empty-dir-{number}", share) for number, path in enumerate(policy.spill_dirs)}
    cache = _cache_size(policy, memory)
    if cache and policy.plasma_store:
        wanted[policy.plasma_store] = ("mars-shared-cache", {"medium": "Memory", "sizeLimit": str(cache)})
    return wanted


def _mount(spec: dict[str, Any], container: dict[str, Any], wanted: Mapping[str, tuple[str, dict[str, str]]]) -> None:
    """Add the mounts for paths where the user mounts nothing."""
    mounts, volumes = container.get("volumeMounts") or [], spec.get("volumes") or []
    taken = [mount.get("mountPath") for mount in mounts]
    added = {path: volume for path, volume in wanted.items() if path not in taken}
    container["volumeMounts"] = [*mounts, *({"name": name, "mountPath": path} for path, (name, _) in added.items())]
    spec["volumes"] = [*volumes, *({"name": name, "emptyDir": content} for name, content in added.values())]
