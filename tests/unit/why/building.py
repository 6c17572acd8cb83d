"""Evidence for tests, as the API server would have it: jobs, pods, events and what belongs to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from kubedl.why.evidence import DeniedError, Evidence, Part

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
Object = dict[str, Any]
CPU_NODE = {"cpu": "16", "memory": "64Gi"}


@dataclass(frozen=True)
class Case:
    """What is known, and the first line that must come of it."""

    first: str
    manifest: Object
    parts: Mapping[str, Any] = field(default_factory=dict)

    def evidence(self) -> Evidence:
        return Evidence(NOW, self.manifest, absent, dict(self.parts))


def absent(_: Evidence, part: Part) -> Any:  # noqa: ANN401 - never returns
    """The source of parts that a test does not have."""
    raise DeniedError("not there")


def ago(**passed: float) -> str:
    return f"{NOW - timedelta(**passed):%Y-%m-%dT%H:%M:%SZ}"


def condition(kind: str, status: str = "True", reason: str = "", message: str = "", **passed: float) -> Object:
    when = ago(**(passed or {"minutes": 5}))
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": when}


def job(state: str, *conditions: Object, **parts: Any) -> Object:  # noqa: ANN401 - fields of spec, status, metadata
    """A PyTorchJob `bert` in namespace `team`, with a master and three workers."""
    template = {
        "spec": {"containers": [{"name": "pytorch", "image": "team/torch:2", "resources": parts.pop("wants", {})}]}
    }
    roles = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 3, "template": template}}
    status = {"state": state, "conditions": [condition("Created"), *conditions], "ready": parts.pop("ready", "0/4")}
    metadata = {"name": "bert", "namespace": "team", "uid": "u1", "generation": 1, "creationTimestamp": ago(minutes=14)}
    return {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": metadata | parts.pop("metadata", {}),
        "spec": {"pytorchReplicaSpecs": roles, **parts.pop("spec", {})},
        "status": {k: v for k, v in (status | parts.pop("status", {})).items() if v is not None},
    }


def waits(reason: str, message: str, state: str = "Created", **parts: Any) -> Object:  # noqa: ANN401
    """A job that says what it waits for."""
    return job(state, condition("PodsReady", "False", reason, message), **parts)


def queued(message: str, reason: str = "QuotaPending") -> Object:
    """A job in the queue `team-a`."""
    return job(
        "Queuing",
        condition("PodsReady", "False", reason, message),
        condition("Suspended", "True", reason, message, minutes=14),
        metadata={"labels": {"kueue.x-k8s.io/queue-name": "team-a"}},
        status={"queueName": "team-a"},
    )


def workload(message: str = "", reason: str = "Pending", **parts: Any) -> Object:  # noqa: ANN401
    conditions = [condition("QuotaReserved", "False", reason, message), *parts.pop("conditions", [])]
    container = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
    sets = [{"count": 4, "template": {"spec": {"containers": [container]}}}]
    return {
        "metadata": {"name": "job-bert"},
        "spec": {"podSets": sets, **parts.pop("spec", {})},
        "status": {"conditions": conditions, **parts},
    }


def pod(role: str = "worker", index: int = 0, phase: str = "Pending", **parts: Any) -> Object:  # noqa: ANN401
    """A pod of the job."""
    name = f"bert-{role}-{index}"
    labels = {f"training.kubedl.io/{k}": v for k, v in {"replica-type": role, "replica-index": str(index)}.items()}
    container = {"name": "pytorch", "image": "team/torch:2", "resources": parts.pop("wants", {})}
    spec = {"containers": [container], "nodeName": parts.pop("node", ""), **parts.pop("spec", {})}
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", "labels": labels}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase, **parts}}


def unplaced(message: str, index: int = 0, **parts: Any) -> Object:  # noqa: ANN401
    """A pod that the scheduler cannot place."""
    said = condition("PodScheduled", "False", "Unschedulable", message)
    return pod("worker", index, conditions=[said], **parts)


def waiting(reason: str, message: str = "", **parts: Any) -> Object:  # noqa: ANN401
    """A pod whose container waits."""
    state = {"waiting": {"reason": reason, "message": message}}
    return pod(containerStatuses=[{"name": "pytorch", "state": state}], node="gpu-04", **parts)


def ended(code: int, reason: str = "Error", message: str = "", index: int = 2, **passed: float) -> Object:
    """A pod that failed."""
    done = {"exitCode": code, "reason": reason, "message": message, "finishedAt": ago(**(passed or {"minutes": 3}))}
    statuses = [{"name": "pytorch", "state": {"terminated": done}}]
    return pod("worker", index, "Failed", node="gpu-04", containerStatuses=statuses)


def running(index: int = 0, role: str = "worker") -> Object:
    """A pod that is ready."""
    state = [{"name": "pytorch", "ready": True, "state": {"running": {"startedAt": ago(hours=2)}}}]
    ready = [condition("Ready")]
    return pod(role, index, "Running", node=f"gpu-0{index}", containerStatuses=state, conditions=ready)


def failure(**fields: Any) -> Object:  # noqa: ANN401
    """The last failure of a status."""
    known = {"role": "Worker", "index": 2, "pod": "bert-worker-2", "node": "gpu-04", "container": "pytorch"}
    return {"lastFailure": known | {"time": ago(minutes=3)} | fields}


def restarting(**fields: Any) -> Object:  # noqa: ANN401
    """A job that restarts after a failure."""
    said = condition(
        "Restarting", "True", "JobRestarting", "bert-worker-2 failed; all 4 replicas are restarted (retry 1)"
    )
    spec = {"backoffLimit": 3}
    return job(
        "Restarting", said, spec=spec, status=failure(**fields) | {"retries": 1}, wants={"limits": {"memory": "64Gi"}}
    )


def failed(because: str, said: str, /, **fields: Any) -> Object:  # noqa: ANN401
    """A job that has failed."""
    spec = {"backoffLimit": 3, "activeDeadlineSeconds": 3600}
    status = (failure(**fields) if fields else {}) | {"retries": 4}
    return job("Failed", condition("Failed", "True", because, said), spec=spec, status=status)


def event(name: str, reason: str, message: str, **passed: float) -> Object:
    when = ago(**(passed or {"minutes": 3}))
    return {
        "involvedObject": {"kind": "Pod", "name": name},
        "reason": reason,
        "message": message,
        "type": "Warning",
        "lastTimestamp": when,
    }


def node(name: str, *, ready: str = "True", cordoned: bool = False, **parts: Any) -> Object:  # noqa: ANN401
    """A node as the collector keeps it."""
    return {
        "name": name,
        "labels": parts.get("labels", {}),
        "taints": parts.get("taints", []),
        "unschedulable": cordoned,
        "allocatable": parts.get("allocatable", CPU_NODE),
        "ready": ready,
    }


def version(reason: str, message: str) -> Object:
    """A ModelVersion that has no image."""
    return {
        "kind": "ModelVersion",
        "metadata": {"name": "bert-v1", "namespace": "team", "uid": "v1", "creationTimestamp": ago(hours=1)},
        "spec": {"imageRepo": "registry.example/team/bert", "imageTag": "v1"},
        "status": {"attempts": 2, "conditions": [condition("Ready", "False", reason, message)]},
    }


def inference(*conditions: Object, **predictor: Any) -> Object:  # noqa: ANN401
    """An Inference with one predictor."""
    status = {"name": "main", "replicas": 2, "readyReplicas": 0, "modelVersion": "flowers-v2", **predictor}
    return {
        "kind": "Inference",
        "metadata": {"name": "flowers", "namespace": "team", "uid": "i1", "creationTimestamp": ago(hours=1)},
        "spec": {"predictors": [{"name": "main", "replicas": predictor.get("replicas", 2)}]},
        "status": {
            "conditions": [condition("Ready", "False", "PodsNotReady"), *conditions],
            "predictorStatuses": [status],
        },
    }


def cron(reason: str, message: str) -> Object:
    """A Cron that starts no run."""
    return {
        "kind": "Cron",
        "metadata": {"name": "nightly", "namespace": "team", "uid": "c1", "creationTimestamp": ago(days=1)},
        "spec": {"schedule": "0 3 * * *"},
        "status": {"conditions": [condition("Ready", "False", reason, message)]},
    }


def lease(**passed: float) -> Object:
    when = f"{NOW - timedelta(**passed):%Y-%m-%dT%H:%M:%S.%fZ}"
    return {
        "metadata": {"name": "kubedl-operator", "namespace": "kubedl"},
        "spec": {"renewTime": when, "holderIdentity": "op-1"},
    }
