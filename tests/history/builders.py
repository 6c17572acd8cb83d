"""Objects as the API server sends them, for tests of the history."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from kubedl.history import rows
from kubedl.history.observation import Observation
from kubedl.history.observed import RecordedJob, resource_of_jobs
from kubedl.history.observed_pods import PODS, RecordedPod
from kubedl.kube import codec
from kubedl.training.kinds import all_kinds

NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)
PYTORCH = next(kind for kind in all_kinds() if kind.kind == "PyTorchJob")
JOBS = resource_of_jobs(PYTORCH.resource, PYTORCH.replicas_field)

_numbers = itertools.count(1)


def uid() -> str:
    """A new uid."""
    return f"00000000-0000-4000-8000-{next(_numbers):012d}"


def moment(when: datetime) -> str:
    """A time as Kubernetes writes it."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def job(  # noqa: PLR0913
    name: str = "bert",
    *,
    identity: str = "",
    version: int = 10,
    created: datetime = NOW,
    state: str = "Running",
    namespace: str = "team-a",
    user: str = "",
    workers: int = 2,
    gpus: int = 4,
    **status: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """A PyTorchJob."""
    container = {
        "name": "pytorch",
        "image": "registry.example/train:1",
        "env": [{"name": "TOKEN", "value": "canary-env"}],
        "args": ["--password=canary-args"],
        "resources": {"limits": {"nvidia.com/gpu": gpus, "cpu": "2", "memory": "4Gi"}},
    }
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": identity or uid(),
            "resourceVersion": str(version),
            "creationTimestamp": moment(created),
            "annotations": {
                **({"kubedl.io/user": user} if user else {}),
                "kubectl.kubernetes.io/last-applied-configuration": "canary-annotation",
            },
            "managedFields": [{"manager": "kubectl-create", "time": moment(created)}],
        },
        "spec": {
            PYTORCH.replicas_field: {
                "Worker": {"replicas": workers, "template": {"spec": {"containers": [container]}}}
            },
            "codeSource": {"repository": "https://user:canary-url@git.example/code.git", "revision": "main"},
        },
        "status": {"state": state, "startTime": moment(created + timedelta(seconds=30)), **status},
    }


def pod(
    owner: dict[str, Any], *, index: int = 0, version: int = 11, phase: str = "Running", identity: str = ""
) -> dict[str, Any]:
    """A pod of a job."""
    metadata = owner["metadata"]
    began = datetime.fromisoformat(metadata["creationTimestamp"])
    state: dict[str, Any] = {"running": {"startedAt": moment(began + timedelta(seconds=40))}}
    if phase in ("Succeeded", "Failed"):
        ended = {"exitCode": int(phase == "Failed"), "message": "canary-termination", "reason": "Error"}
        state = {
            "terminated": {**ended, "startedAt": moment(began), "finishedAt": moment(began + timedelta(minutes=9))}
        }
    return {
        "metadata": {
            "name": f"{metadata['name']}-worker-{index}",
            "namespace": metadata["namespace"],
            "uid": identity or uid(),
            "resourceVersion": str(version),
            "creationTimestamp": metadata["creationTimestamp"],
            "labels": {"training.kubedl.io/replica-type": "worker", "training.kubedl.io/replica-index": str(index)},
            "ownerReferences": [
                {
                    "apiVersion": "training.kubedl.io/v1alpha1",
                    "kind": "PyTorchJob",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "controller": True,
                }
            ],
        },
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "pytorch", "env": [{"name": "TOKEN", "value": "canary-env"}]}],
        },
        "status": {"phase": phase, "containerStatuses": [{"name": "pytorch", "state": state}]},
    }


def decoded_job(obj: dict[str, Any]) -> RecordedJob:
    """The recorded fields of a job."""
    return JOBS.decoder.decode(codec.encode(obj))


def decoded_pod(obj: dict[str, Any]) -> RecordedPod:
    """The recorded fields of a pod."""
    return PODS.decoder.decode(codec.encode(obj))


def job_row(obj: dict[str, Any], *, deleted: bool = False, now: datetime = NOW) -> Observation:
    """The observation of a job."""
    return rows.job_row("PyTorchJob", decoded_job(obj), deleted=deleted, now=now)


def pod_row(obj: dict[str, Any], *, deleted: bool = False, now: datetime = NOW) -> Observation:
    """The observation of a pod."""
    return rows.pod_row(decoded_pod(obj), deleted=deleted, now=now)
