"""Finds why a pod is not running or not ready: one cause per pod, with the message of scheduler or kubelet. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from kubedl.kube.types.core import ContainerStatus, Pod, PodCondition, Terminated
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.safe_time import LONG_AGO, later

# The kubelet alternates between the two; users search for the second.
PULLING = {"ErrImagePull": "ImagePullBackOff"}
IMAGE = frozenset(
    {
        "ErrImageNeverPull",
        "ErrImagePull",
        "ErrPullImage",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
CRASHING = "CrashLoopBackOff"
EARLY = ("", "ContainerCreating", "PodInitializing")  # reasons of the kubelet without information
LONGEST_REASON = 64
LONGEST_ENDING = 256  # characters of a container's termination message
UNSEEN = timedelta(seconds=10)  # time that scheduling or termination may take before it is reported
ASK_AFTER = timedelta(seconds=5)  # time that a pod may take to start before the kubelet's Events are read


class Rank(IntEnum):
    """The order in which causes take effect: a lower one hides higher ones."""

    SCHEDULING = 0
    IMAGE = 1
    CONFIG = 2
    VOLUME = 3
    INIT = 4
    CRASH = 5
    ENDING = 6
    UNREADY = 7
    STARTING = 8


@dataclass(frozen=True)
class KubeletEvent:
    """The kubelet's Events about one pod."""

    pod: str  # uid
    again: datetime  # when to read them again
    reason: str = ""
    message: str = ""
    is_warning: bool = False


@dataclass(frozen=True)
class Cause:
    """Why one pod is not ready."""

    rank: Rank
    reason: str = ""  # empty: unknown
    message: str = ""
    since: datetime | None = None


STARTING = Cause(Rank.STARTING)  # nothing is known yet: every pod is in this state for a moment


def diagnose(
    pod: Pod, now: datetime, lost_since: datetime | None = None, heard: KubeletEvent | None = None
) -> Cause | None:
    """Return the first cause; None if the pod is ready or has ended. `heard` may be about another pod."""
    if pod.status.phase in ENDED:
        return None
    if lost_since is not None:
        message = f"node {pod.spec.node_name} is unreachable"
        return Cause(Rank.SCHEDULING, "NodeLost", message, lost_since)
    ending = pod.metadata.deletion_timestamp
    if ending is not None:
        overdue = now >= later(ending, UNSEEN)
        message = "the pod was deleted and has not terminated"
        return Cause(Rank.ENDING, "PodTerminating", message, ending) if overdue else STARTING
    ready = pod.condition("Ready")
    if ready is not None and ready.status == "True":
        return None
    return _unscheduled(pod, now) or _container(pod) or _unready(pod, ready) or _starting(pod, heard)


def asks(pod: Pod, cause: Cause) -> datetime | None:
    """Return from when on the kubelet's Events should be read; None if the pod's status is sufficient."""
    if not pod.spec.node_name or pod.status.phase == "Running" or pod.metadata.deletion_timestamp is not None:
        return None
    if cause.rank not in (Rank.STARTING, Rank.VOLUME):
        return None
    return later(pod.status.start_time or pod.metadata.creation_timestamp or LONG_AGO, ASK_AFTER)


def overdue(pod: Pod) -> datetime | None:
    """Return when silence becomes a cause: of the scheduler about a new pod, of the kubelet about a deleted one."""
    ending, created = pod.metadata.deletion_timestamp, pod.metadata.creation_timestamp
    if ending is not None:
        return later(ending, UNSEEN)
    return later(created, UNSEEN) if created is not None and not pod.spec.node_name else None


def _unscheduled(pod: Pod, now: datetime) -> Cause | None:
    condition = pod.condition("PodScheduled")
    if condition is not None and condition.status == "False":
        reason, message = condition.reason or "Unschedulable", condition.message or "the scheduler gives no reason"
        return Cause(Rank.SCHEDULING, reason[:LONGEST_REASON], message, condition.last_transition_time)
    created = pod.metadata.creation_timestamp
    if condition is None and not pod.spec.node_name and created is not None and now >= later(created, UNSEEN):
        message = "no scheduler has handled the pod; check its schedulerName"
        return Cause(Rank.SCHEDULING, "NotScheduled", message, created)
    return None


def _container(pod: Pod) -> Cause | None:
    if not pod.status.container_statuses and not pod.status.init_container_statuses:
        return None
    causes = [_container_message(pod, status, init=True) for status in pod.status.init_container_statuses]
    causes += [_container_message(pod, status, init=False) for status in pod.status.container_statuses]
    return min((cause for cause in causes if cause is not None), key=lambda cause: cause.rank, default=None)


def _container_message(pod: Pod, status: ContainerStatus, *, init: bool) -> Cause | None:
    waiting, ended = status.state.waiting, status.state.terminated or status.last_state.terminated
    reason = waiting.reason if waiting is not None else ""
    if waiting is not None and reason in IMAGE:
        return Cause(Rank.IMAGE, PULLING.get(reason, reason), waiting.message or reason, _since(pod))
    if waiting is not None and reason not in (*EARLY, CRASHING):
        message = f"container {status.name}: {waiting.message or reason}"
        return Cause(Rank.CONFIG, reason[:LONGEST_REASON], message, _since(pod))
    failed = ended is not None and ended.exit_code != 0
    if init and failed and not status.ready:
        message = f"init container {status.name} {_ending(ended)}"
        return Cause(Rank.INIT, "InitContainerFailed", message, _since(pod))
    if reason == CRASHING or (failed and status.state.terminated is not None):
        return Cause(Rank.CRASH, CRASHING, f"container {status.name} {_ending(ended)}", _since(pod))
    return None


def _ending(ended: Terminated | None) -> str:
    if ended is None:
        return "does not stay up"
    why = f" ({ended.reason})" if ended.reason not in ("", "Error") else ""
    message = ended.message.strip()[-LONGEST_ENDING:]
    return f"failed with exit code {ended.exit_code}{why[:LONGEST_REASON]}" + (f": {message}" if message else "")


def _unready(pod: Pod, condition: PodCondition | None) -> Cause | None:
    if pod.status.phase != "Running" or condition is None:
        return None
    return Cause(
        Rank.UNREADY, "PodsNotReady", condition.message or condition.reason or "the pod is not ready", _since(pod)
    )


def _starting(pod: Pod, heard: KubeletEvent | None) -> Cause:
    if heard is not None and heard.pod == pod.metadata.uid and heard.is_warning:
        return Cause(Rank.VOLUME, heard.reason[:LONGEST_REASON], heard.message, _since(pod))
    if (name := _initializing(pod.status.init_container_statuses)) is not None:
        return Cause(Rank.STARTING, "PodInitializing", f"init container {name} is running", _since(pod))
    if heard is not None and heard.pod == pod.metadata.uid and heard.reason == "Pulling":
        return Cause(Rank.STARTING, "PullingImage", heard.message, _since(pod))
    return STARTING


def _initializing(statuses: Iterable[ContainerStatus]) -> str | None:
    """Return the running init container, without sidecars, which are ready."""
    for status in statuses:
        if status.state.waiting is None and status.state.terminated is None and not status.ready:
            return status.name
    return None


def _since(pod: Pod) -> datetime | None:
    """Return since when the pod is not ready."""
    ready = pod.condition("Ready")
    if ready is not None and ready.last_transition_time is not None:
        return ready.last_transition_time
    return pod.status.start_time or pod.metadata.creation_timestamp
