"""The manifest of `TrainingClient.train`. Pure."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubedl.client.errors import Invalid, NotSupported

GPU = "nvidia.com/gpu"
_WORDS = {"gpu": GPU, "cpu": "cpu", "memory": "memory"}
# Kind → the field of its roles, its container, and whether the first replica is a Master.
KINDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", True),
    "JAXJob": ("jaxReplicaSpecs", "jax", False),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboostjob", True),
    "TFJob": ("tfReplicaSpecs", "tensorflow", False),
}
# What Kubeflow calls a runtime.
RUNTIMES = {"torch": "PyTorchJob", "jax": "JAXJob", "xgboost": "XGBoostJob", "tensorflow": "TFJob"}


@dataclass(frozen=True)
class TrainRequest:
    """What `train` was asked for, but for the code."""

    name: str
    image: str
    command: Sequence[str]
    kind: str = "PyTorchJob"
    num_workers: int = 1
    num_procs_per_worker: int | str | None = None
    resources: Mapping[str, str | int] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    packages: Sequence[str] = ()
    data: Mapping[str, str] = field(default_factory=dict)  # path in the container → claim
    queue: str | None = None
    priority: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    model: Mapping[str, Any] | None = None
    retries: int = 3


def kind_of_runtime(runtime: str) -> str:
    """Return the kind for a runtime of Kubeflow, such as torch-distributed."""
    for word, kind in RUNTIMES.items():
        if runtime.startswith(word):
            return kind
    raise NotSupported(f"there is no runtime {runtime} here", "jobs have kinds and images", ("job_kind=, image=",))


def train_manifest(request: TrainRequest) -> dict[str, Any]:
    """Return the job."""
    if request.kind not in KINDS:
        raise NotSupported(f"train does not make a {request.kind}", f"it makes {', '.join(KINDS)}", ("create_job",))
    if request.num_workers < 1:
        raise Invalid("num_workers must be at least 1")
    where, container, led = KINDS[request.kind]
    roles = {"Master": 1, "Worker": request.num_workers - 1} if led else {"Worker": request.num_workers}
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
    metadata: dict[str, Any] = {"name": request.name} | ({"labels": dict(request.labels)} if request.labels else {})
    return {"apiVersion": "training.kubedl.io/v1alpha1", "kind": request.kind, "metadata": metadata, "spec": spec}


def _pod(request: TrainRequest, name: str) -> dict[str, Any]:
    env = [{"name": key, "value": value} for key, value in request.env.items()]
    if isinstance(request.num_procs_per_worker, str) and not request.num_procs_per_worker.isdecimal():
        env.append({"name": "PET_NPROC_PER_NODE", "value": request.num_procs_per_worker})
    resources = {_WORDS.get(key, key): str(value) for key, value in request.resources.items()}
    container: dict[str, Any] = {"name": name, "image": request.image, "command": _command(request)}
    if env:
        container["env"] = env
    if resources:
        requests = {key: value for key, value in resources.items() if "/" not in key}
        container["resources"] = {"limits": resources} | ({"requests": requests} if requests else {})
    spec: dict[str, Any] = {"containers": [container]}
    if request.data:
        container["volumeMounts"] = [{"name": f"data-{n}", "mountPath": path} for n, path in enumerate(request.data)]
        spec["volumes"] = [
            {"name": f"data-{n}", "persistentVolumeClaim": {"claimName": claim}}
            for n, claim in enumerate(request.data.values())
        ]
    return spec


def _command(request: TrainRequest) -> list[str]:
    if not request.packages:
        return list(request.command)
    install = shlex.join(["python3", "-m", "pip", "install", "--quiet", *request.packages])
    return ["sh", "-c", f"{install} && exec {shlex.join(request.command)}"]
