"""The manifest of `TrainingClient.train`. Pure."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubedl.client.errors import Invalid, NotSupported

# Kind → the field of its roles, its container, and whether the first replica is a Master.
KINDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", True),
    "JAXJob": ("jaxReplicaSpecs", "jax", False),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboostjob", True),
    "TFJob": ("tfReplicaSpecs", "tensorflow", False),
}
# What a runtime of Kubeflow begins with, and the kind of jobs that it is here.
RUNTIMES = {"torch": "PyTorchJob", "jax": "JAXJob", "xgboost": "XGBoostJob", "tensorflow": "TFJob"}


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
    if request.num_workers < 1:
        raise Invalid("num_workers must be at least 1")
    where, container, led = KINDS[request.kind]
    if (request.chiefs or request.parameter_servers) and request.kind != "TFJob":
        raise Invalid(f"a {request.kind} has no chiefs and no parameter servers", "", ('job_kind="TFJob"',))
    roles = {"Master": 1, "Worker": request.num_workers - 1} if led else {"Worker": request.num_workers}
    roles |= {"Chief": request.chiefs, "PS": request.parameter_servers}
    spec: dict[str, Any] = {"backoffLimit": request.retries}
    policy = {"queue": request.queue, "priorityClassName": request.priority}
    if any(policy.values()):
        spec["schedulingPolicy"] = {name: value for name, value in policy.items() if value}
    if request.model is not None:
        spec["modelVersion"] = dict(request.model)
    if isinstance(request.num_procs_per_worker, int) and request.kind == "PyTorchJob":
        spec["nprocPerNode"] = request.num_procs_per_worker
    spec[where] = {
        role: {"replicas": count, "template": {"spec": _pod(request, container)}}
        for role, count in roles.items()
        if count
    }
    metadata: dict[str, Any] = {"name": request.name}
    for key, value in (("labels", request.labels), ("annotations", request.annotations)):
        if value:
            metadata[key] = dict(value)
    return {"apiVersion": "training.kubedl.io/v1alpha1", "kind": request.kind, "metadata": metadata, "spec": spec}


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
