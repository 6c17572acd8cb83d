"""From objects to rows. Pure: time and cluster are passed in."""

from datetime import UTC, datetime
from typing import Any

from kubedl.api.training import GROUP
from kubedl.history import resource_requests, sanitizing
from kubedl.history.creator import creator
from kubedl.history.observation import DELETED, ENDED, OBSERVED, Observation
from kubedl.history.observed import RecordedJob, RecordedMeta, RecordedObject
from kubedl.history.observed_pods import ContainerState, RecordedEvent, RecordedNode, RecordedPod
from kubedl.history.sanitizing import text
from kubedl.kube import codec

ROLE, INDEX, ATTEMPT = f"{GROUP}/replica-type", f"{GROUP}/replica-index", f"{GROUP}/attempt"
QUEUE = "kueue.x-k8s.io/queue-name"
LONGEST_MESSAGE = 1024
LARGEST = 2**31 - 1
# Messages of these events quote what a container printed or was started with.
QUOTING_REASONS = frozenset({"Unhealthy", "ProbeWarning", "FailedPostStartHook", "FailedPreStopHook", "ProbeError"})
POOL_LABELS = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "kubedl.io/node-pool",
)
SPOT_LABELS = {
    "cloud.google.com/gke-spot": "true",
    "cloud.google.com/gke-preemptible": "true",
    "eks.amazonaws.com/capacityType": "SPOT",
    "karpenter.sh/capacity-type": "spot",
    "kubernetes.azure.com/scalesetpriority": "spot",
    "kubedl.io/capacity-type": "spot",
}
INSTANCE_TYPE, ZONE = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"


def job_row(kind: str, job: RecordedJob, *, deleted: bool, now: datetime) -> Observation:
    """Return the row of a job, with its body."""
    status, spec, labels = job.status, job.spec, job.metadata.labels
    roles = list(getattr(spec, "roles", {}).values())
    gpus = sum(resource_requests.of_pod(role.template.spec).gpus * max(role.replicas, 0) for role in roles)
    queue = labels.get(QUEUE) or (spec.scheduling_policy.queue if spec.scheduling_policy is not None else "")
    values = {
        **_common(kind, job.metadata),
        "queue": text(queue, 253),
        "state": text(status.state, 16),
        "reason": text(status.reason, 128),
        "started": status.start_time,
        "finished": status.completion_time,
        "gpus": min(gpus, resource_requests.MOST),
        "restarts": _bounded(status.restarts or 0),
        "model_version": text(status.model_version_name, 253),
        "parent_uid": _parent(job.metadata),
    }
    values |= _ending(job.metadata, deleted=deleted, now=now)
    if deleted and values["state"] not in ENDED:
        values |= {"state": DELETED, "finished": values["finished"] or values["deleted"]}
    return _observation("jobs", job.metadata, values, deleted=deleted, now=now, body=body_of(job))


def object_row(kind: str, obj: RecordedObject, *, deleted: bool, now: datetime) -> Observation:
    """Return the row of a ModelVersion, an Inference, a Cron."""
    status, origin = obj.status, obj.spec.origin
    ready = next((known for known in status.conditions if known.type == "Ready"), None)
    state = status.state or status.image_build_phase
    if not state and ready is not None:
        state = "Ready" if ready.status == "True" else "NotReady"
    values = {
        **_common(kind, obj.metadata),
        "state": text(state, 32),
        "reason": text(ready.reason, 128) if ready is not None else "",
        "finished": status.finish_time,
        "parent_uid": text(origin.job_uid, 36) if origin is not None else _parent(obj.metadata),
        "body": body_of(obj),
        **_ending(obj.metadata, deleted=deleted, now=now),
    }
    return _observation("objects", obj.metadata, values, deleted=deleted, now=now)


def pod_row(pod: RecordedPod, *, deleted: bool, now: datetime) -> Observation:
    """Return the row of a pod of a job."""
    labels, status = pod.metadata.labels, pod.status
    states = [container.state for container in status.container_statuses]
    ends = [state.terminated for state in states if state.terminated is not None]
    failed = next((end for end in ends if end.exit_code), ends[0] if ends else None)
    conditions = {known.type: known for known in status.conditions}
    scheduled = conditions.get("PodScheduled")
    finished = None
    if status.phase in ENDED:
        told = [end.finished_at for end in ends if end.finished_at is not None]
        # Of a pod that its node refused, no container tells; not `now`, which would be later in each of its states.
        changes = [known.last_transition_time for known in status.conditions if known.last_transition_time is not None]
        finished = max(told) if told else min(max(changes, default=now), now)
    values: dict[str, Any] = {
        "namespace": text(pod.metadata.namespace, 63),
        "name": text(pod.metadata.name, 253),
        "job_uid": _parent(pod.metadata),
        "role": text(labels.get(ROLE, ""), 63),
        "replica_index": _bounded(_label_number(labels.get(INDEX, ""))),
        "attempt": _label_number(labels.get(ATTEMPT, "")),
        "phase": text(status.phase, 16),
        "reason": text(status.reason or (failed.reason if failed is not None else ""), 128),
        "exit_code": failed.exit_code if failed is not None else None,
        "node": text(pod.spec.node_name, 253),
        "scheduled": scheduled.last_transition_time if scheduled is not None and scheduled.status == "True" else None,
        "started": _started(states),
        "finished": finished,
        "restarts": _bounded(sum(container.restart_count for container in status.container_statuses)),
        "disrupted": "DisruptionTarget" in conditions and conditions["DisruptionTarget"].status == "True",
        **_ending(pod.metadata, deleted=deleted, now=now),
    }
    requests = resource_requests.of_pod(pod.spec)
    values |= {"cpu_millis": requests.cpu_millis, "memory_bytes": requests.memory_bytes, "gpus": requests.gpus}
    if deleted and values["finished"] is None:
        values["finished"] = values["deleted"]
    return _observation("pods", pod.metadata, values, deleted=deleted, now=now)


def event_row(event: RecordedEvent, *, now: datetime) -> Observation:
    """Return the row of an event."""
    about, series = event.involved_object, event.series
    last = (series.last_observed_time if series is not None else None) or event.last_timestamp or event.event_time
    message = "" if event.reason in QUOTING_REASONS else sanitizing.message(event.message, LONGEST_MESSAGE)
    values = {
        "namespace": text(event.metadata.namespace, 63),
        "object_kind": text(about.kind, 63),
        "object_name": text(about.name, 253),
        "object_uid": text(about.uid, 36),
        "type": text(event.type, 16),
        "reason": text(event.reason, 128),
        "message": message,
        "reporter": text(event.reporting_component or event.source.component, 128),
        "count": _bounded((series.count if series is not None else 0) or event.count or 1),
        "last_seen": last or event.metadata.creation_timestamp or now,
    }
    return _observation("events", event.metadata, values, deleted=False, now=now)


def node_row(node: RecordedNode, *, deleted: bool, now: datetime) -> Observation:
    """Return the row of a node: what it offers, and the labels that prices depend on."""
    labels = node.metadata.labels
    offered = resource_requests.of_amounts(node.status.allocatable)
    values = {
        "name": text(node.metadata.name, 253),
        "pool": text(next((labels[label] for label in POOL_LABELS if label in labels), ""), 253),
        "spot": any(labels.get(label) == value for label, value in SPOT_LABELS.items()),
        "instance_type": text(labels.get(INSTANCE_TYPE, ""), 63),
        "zone": text(labels.get(ZONE, ""), 63),
        "cpu_millis": offered.cpu_millis,
        "memory_bytes": offered.memory_bytes,
        "gpus": offered.gpus,
        **_ending(node.metadata, deleted=deleted, now=now),
    }
    return _observation("nodes", node.metadata, values, deleted=deleted, now=now)


def _observation(
    table: str,
    metadata: RecordedMeta,
    values: dict[str, Any],
    *,
    deleted: bool,
    now: datetime,
    body: dict[str, Any] | None = None,
) -> Observation:
    created = metadata.creation_timestamp or datetime.fromtimestamp(0, UTC)
    values["recorded"] = now
    return Observation(table, metadata.uid, created, int(metadata.resource_version or 0), values, body, deleted)


def _common(kind: str, metadata: RecordedMeta) -> dict[str, Any]:
    user, source, client = creator(metadata)
    return {
        "namespace": text(metadata.namespace, 63),
        "kind": text(kind, 63),
        "name": text(metadata.name, 253),
        "user_name": user,
        "user_source": source,
        "client": client,
    }


def _ending(metadata: RecordedMeta, *, deleted: bool, now: datetime) -> dict[str, Any]:
    if not deleted:
        return {"deleted": None, "deletion": ""}
    # A deletionTimestamp lies in the future while a pod has time to shut down.
    asked = metadata.deletion_timestamp
    return {"deleted": min(asked, now) if asked is not None else now, "deletion": OBSERVED}


def body_of(obj: RecordedJob | RecordedObject) -> dict[str, Any]:
    """Return what is stored of spec and status."""
    body: dict[str, Any] = sanitizing.body(codec.plain({"spec": obj.spec, "status": obj.status}))
    return body


def _parent(metadata: RecordedMeta) -> str:
    owner = metadata.controller
    return text(owner.uid, 36) if owner is not None else ""


def _started(states: list[ContainerState]) -> datetime | None:
    begun = [state.running.started_at for state in states if state.running is not None]
    begun += [state.terminated.started_at for state in states if state.terminated is not None]
    return min((moment for moment in begun if moment is not None), default=None)


def _label_number(label: str) -> int:
    return int(label) if label.isdecimal() and label.isascii() and len(label) <= 18 else 0


def _bounded(number: int) -> int:
    return max(-LARGEST, min(number, LARGEST))
