"""The pods of a job as replicas: state, node, restarts, and which of them failed first."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from kubedl.kube.types.core import ContainerStatus, Pod, PodSpec, PodStatus
from kubedl.kube.types.meta import ObjectMeta, Record

JOB_NAME = "training.kubedl.io/job-name"
JOB_UID = "training.kubedl.io/job-uid"
REPLICA_TYPE = "training.kubedl.io/replica-type"
REPLICA_INDEX = "training.kubedl.io/replica-index"
ATTEMPT = "training.kubedl.io/attempt"
LEADERS = ("master", "launcher", "chief")  # what Kubeflow calls the master of a job
LAST = datetime.max.replace(tzinfo=UTC)
_KILLED = 128  # an exit code above it is a signal


@dataclass(frozen=True)
class Replica:
    """One replica of a job and its pod."""

    name: str  # worker-0
    pod: Pod

    @property
    def metadata(self) -> ObjectMeta:
        """Return the metadata of the pod, where Kubeflow's client has it."""
        return self.pod.metadata

    @property
    def spec(self) -> PodSpec:
        """Return the spec of the pod, where Kubeflow's client has it."""
        return self.pod.spec

    @property
    def status(self) -> PodStatus:
        """Return the status of the pod, where Kubeflow's client has it."""
        return self.pod.status

    @property
    def role(self) -> str:
        """Return the role: worker."""
        return self.name.rpartition("-")[0]

    @property
    def index(self) -> int:
        """Return the index within the role."""
        return _number(self.pod)

    @property
    def pod_name(self) -> str:
        """Return the name of the pod."""
        return self.pod.metadata.name

    @property
    def state(self) -> str:
        """Return the phase of the pod; Terminating while it is being deleted."""
        return "Terminating" if self.pod.metadata.deletion_timestamp is not None else self.pod.status.phase

    @property
    def node(self) -> str:
        """Return the node."""
        return self.pod.spec.node_name

    @property
    def restarts(self) -> int:
        """Return how often its containers were restarted in place."""
        return sum(status.restart_count for status in self.pod.status.container_statuses)

    @property
    def created(self) -> datetime:
        """Return when the pod was created."""
        return self.pod.metadata.creation_timestamp or LAST

    def has_name(self, name: str) -> bool:
        """Return whether a name means this replica: worker-0, the name of its pod, or of its role."""
        return name in (self.name, self.pod_name, self.name.rpartition("-")[0])

    @property
    def message(self) -> str:
        """Return why it does not run, or how it ended; empty if there is nothing to say."""
        if (ended := _ending(self.pod)) is not None:
            status, code = ended
            if self.pod.status.reason:
                return self.pod.status.message or self.pod.status.reason
            reason = status.state.terminated.reason if status.state.terminated is not None else ""
            return f"exit code {code}" + (f" ({reason})" if reason not in ("", "Error") else "")
        from kubedl.training.pod_diagnostics import diagnose  # noqa: PLC0415 - only for what is not well

        cause = diagnose(self.pod, datetime.now(UTC))
        return f"{cause.reason}: {cause.message}" if cause is not None and cause.reason else ""


def replicas_of(pods: Iterable[Pod]) -> list[Replica]:
    """Return the replicas of pods, by role and index."""
    found = [Replica(f"{_label(pod, REPLICA_TYPE)}-{_label(pod, REPLICA_INDEX)}", pod) for pod in pods]
    return sorted(found, key=lambda one: (_label(one.pod, REPLICA_TYPE), _number(one.pod), one.created))


def first_failure(found: Iterable[Replica]) -> tuple[Replica, int] | None:
    """Return the replica that failed first, with its exit code: a kill explains ordinary exits, then time counts."""
    failed = [(replica, ended) for replica in found if (ended := _ending(replica.pod)) is not None and ended[1]]
    if not failed:
        return None
    replica, (_, code) = min(failed, key=lambda one: (one[1][1] <= _KILLED, _finished(one[1][0])))
    return replica, code


def _ending(pod: Pod) -> tuple[ContainerStatus, int] | None:
    """Return the container that ended a failed pod, with its exit code."""
    if pod.status.phase != "Failed":
        return None
    statuses = [one for one in pod.status.container_statuses if one.state.terminated is not None]
    failed = [one for one in statuses if one.state.terminated is not None and one.state.terminated.exit_code]
    found = min(failed, key=_finished, default=None)
    if found is None or found.state.terminated is None:
        return None
    return found, found.state.terminated.exit_code


def _finished(status: ContainerStatus) -> datetime:
    ended = status.state.terminated
    return ended.finished_at or LAST if ended is not None else LAST


def _label(pod: Pod, name: str) -> str:
    return pod.metadata.labels.get(name, "")


def _number(pod: Pod) -> int:
    text = _label(pod, REPLICA_INDEX)
    return int(text) if text.isdecimal() and len(text) < 10 else 0


class InvolvedObject(Record, frozen=True):
    """The object that an event is about."""

    kind: str = ""
    name: str = ""
    uid: str = ""


class Event(Record, frozen=True):
    """Something that happened to a job or one of its pods."""

    reason: str = ""
    message: str | None = ""
    type: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    first_timestamp: datetime | None = None
    involved_object: InvolvedObject = InvolvedObject()

    @property
    def time(self) -> datetime | None:
        """Return when it happened last."""
        return self.last_timestamp or self.event_time or self.first_timestamp
