"""The manifest of `TrainingClient.train`. Pure."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kubedl.client.errors import Invalid, NotSupported

# Kind → the field of its roles, its container, and whether the first replica is a Master.
KINDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", True),
    "JAXJob": ("jaxReplicaSpecs", "jax", False),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboostjob", True),
    "TFJob": ("tfReplicaSpecs", "tensorflow", False),
    "MPIJob": ("mpiReplicaSpecs", "mpi", False),
}
MPI, LAUNCHER = "MPIJob", "Launcher"
PROCESSES = {"PyTorchJob": "nprocPerNode", MPI: "slotsPerWorker"}  # the field with processes of each worker
# What a runtime of Kubeflow begins with, and the kind of jobs that it is here.
RUNTIMES = {
    "torch": "PyTorchJob",
    "jax": "JAXJob",
    "xgboost": "XGBoostJob",
    "tensorflow": "TFJob",
    "mpi": MPI,
}


@dataclass(frozen=True)
class TrainRequest:
    """What `train` was asked for, but for the code."""

    name: str
    image: str
    command: Sequence[str]
    kind: str = "PyTorchJob"
    num_workers: int = 1
    chiefs: int = 0  # of a TFJob, beside its workers
    parameter_servers: int = 0
    num_procs_per_worker: int | str | None = None
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # limits and requests
    env: Sequence[Mapping[str, Any]] = ()
    packages: Sequence[str] = ()
    indexes: Sequence[str] = ()  # of packages; the first replaces pip's own
    data: Mapping[str, str] = field(default_factory=dict)  # path in the container → claim
    volumes: Sequence[Mapping[str, Any]] = ()
    volume_mounts: Sequence[Mapping[str, Any]] = ()
    queue: str | None = None
    priority: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    model: Mapping[str, Any] | None = None
    retries: int = 3


def train_manifest(request: TrainRequest) -> dict[str, Any]:
    """Return the job."""
    if request.kind not in KINDS:
        raise NotSupported(f"train does not make a {request.kind}", f"it makes {', '.join(KINDS)}", ("create_job",))
    where, container, led = KINDS[request.kind]
    roles = _roles(request, led=led)
    spec: dict[str, Any] = {"backoffLimit": request.retries}
    policy = {"queue": request.queue, "priorityClassName": request.priority}
    if any(policy.values()):
        spec["schedulingPolicy"] = {name: value for name, value in policy.items() if value}
    if request.model is not None:
        spec["modelVersion"] = dict(request.model)
    if isinstance(request.num_procs_per_worker, int) and request.kind in PROCESSES:
        spec[PROCESSES[request.kind]] = request.num_procs_per_worker
    spec[where] = {
        role: {"replicas": count, "template": {"spec": _pod(_of_role(request, role), container)}}
        for role, count in roles.items()
        if count
    }
    metadata: dict[str, Any] = {"name": request.name}
    for key, value in (("labels", request.labels), ("annotations", request.annotations)):
        if value:
            metadata[key] = dict(value)
    return {"apiVersion": "training.kubedl.io/v1alpha1", "kind": request.kind, "metadata": metadata, "spec": spec}


def _roles(request: TrainRequest, *, led: bool) -> dict[str, int]:
    """Return how many replicas each role has."""
    if request.num_workers < 1:
        raise Invalid("num_workers must be at least 1")
    if (request.chiefs or request.parameter_servers) and request.kind != "TFJob":
        raise Invalid(f"a {request.kind} has no chiefs and no parameter servers", "", ('job_kind="TFJob"',))
    if request.kind == MPI:
        _check_mpi(request)
        return {LAUNCHER: 1, "Worker": request.num_workers}
    roles = {"Master": 1, "Worker": request.num_workers - 1} if led else {"Worker": request.num_workers}
    return roles | {"Chief": request.chiefs, "PS": request.parameter_servers}


def ranks(num_workers: int, num_procs_per_worker: int | str | None) -> int:
    """Return how many processes of an MPIJob there are."""
    return num_workers * (num_procs_per_worker if isinstance(num_procs_per_worker, int) else 1)


def _check_mpi(request: TrainRequest) -> None:
    """Refuse what an MPIJob cannot honour: its Workers run sshd, and mpirun wants a number of processes."""
    if request.packages:
        why = "workers of an MPIJob run sshd, and what it starts finds what the image has"
        raise NotSupported("packages_to_install in an MPIJob", why, ("an image that has them",))
    if isinstance(request.num_procs_per_worker, str):
        what = f"num_procs_per_worker={request.num_procs_per_worker[:50]!r} in an MPIJob"
        raise Invalid(what, "mpirun starts a number of processes", ("num_procs_per_worker=2",))


def _of_role(request: TrainRequest, role: str) -> TrainRequest:
    """Return what a role is asked for: of an MPIJob the Launcher runs the command, and Workers compute."""
    if request.kind != MPI:
        return request
    if role == LAUNCHER:
        return replace(request, resources={}, data={}, volumes=(), volume_mounts=())
    return replace(request, command=())


def _pod(request: TrainRequest, name: str) -> dict[str, Any]:
    env = list(request.env)
    if isinstance(request.num_procs_per_worker, str) and not request.num_procs_per_worker.isdecimal():
        env.append({"name": "PET_NPROC_PER_NODE", "value": request.num_procs_per_worker})
    container: dict[str, Any] = {"name": name, "image": request.image}
    if command := _command(request):
        container["command"] = command
    claims = enumerate(request.data.items())
    mounts = [{"name": f"data-{number}", "mountPath": path} for number, (path, _) in claims]
    volumes = [
        {"name": f"data-{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, claim in enumerate(request.data.values())
    ]
    mounts, volumes = [*mounts, *map(dict, request.volume_mounts)], [*volumes, *map(dict, request.volumes)]
    resources = {part: dict(amounts) for part, amounts in request.resources.items() if amounts}
    container |= {
        key: value for key, value in (("env", env), ("resources", resources), ("volumeMounts", mounts)) if value
    }
    return {"containers": [container]} | ({"volumes": volumes} if volumes else {})


def _command(request: TrainRequest) -> list[str]:
    if not request.packages:
        return list(request.command)
    if not request.command:
        raise Invalid("packages_to_install without a command", "the image's own command is not known here")
    first, *more = request.indexes or ("",)
    flags = [*(["--index-url", first] if first else []), *(word for url in more for word in ("--extra-index-url", url))]
    install = shlex.join(["python3", "-m", "pip", "install", "--quiet", *flags, *request.packages])
    return ["sh", "-c", f"{install} && exec {shlex.join(request.command)}"]
