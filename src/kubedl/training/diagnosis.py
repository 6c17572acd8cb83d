"""Why a pod that should run does not: one cause per pod, in the words of the scheduler or the kubelet. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from kubedl.training.policies.clean import ENDED
from kubedl.training.policies.moment import LONG_AGO, later
from kubedl.wire.core import ContainerStatus, Pod, Terminated

# The kubelet goes back and forth between the two; people look for the second.
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
EARLY = ("", "ContainerCreating", "PodInitializing")  # the kubelet's reasons that say nothing
LONGEST_REASON = 64
LONGEST_ENDING = 256  # characters of what a container said last
UNSEEN = timedelta(seconds=10)  # that a scheduler or a pod's end may take before it is worth a word
ASK_AFTER = timedelta(seconds=5)  # that a pod may take to start before the kubelet's Events are read


class Rank(IntEnum):
    """The order in which causes take effect: the lower hides the higher."""

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
class Heard:
    """What the kubelet's Events said about one pod."""

    pod: str  # uid
    again: datetime  # when it is worth asking again
    reason: str = ""
    message: str = ""
    is_warning: bool = False


@dataclass(frozen=True)
class Cause:
    """Why one pod is not ready."""

    rank: Rank
    reason: str = ""  # empty: nothing that anybody has said
    words: str = ""
    since: datetime | None = None


def diagnose(pod: Pod, now: datetime, lost_since: datetime | None = None, heard: Heard | None = None) -> Cause | None:
    """The first cause that holds; None if the pod is ready or has ended. `heard` may be about another pod."""
    if pod.status.phase in ENDED:
        return None
    if lost_since is not None:
        words = f"node {pod.spec.node_name} does not answer"
        return Cause(Rank.SCHEDULING, "NodeLost", words, lost_since)
    ending = pod.metadata.deletion_timestamp
    if ending is not None:
        overdue = now >= later(ending, UNSEEN)
        words = "the pod was deleted and has not ended"
        return Cause(Rank.ENDING, "PodTerminating", words, ending) if overdue else Cause(Rank.STARTING)
    ready = pod.condition("Ready")
    if ready is not None and ready.status == "True":
        return None
    return _unscheduled(pod, now) or _container(pod) or _unready(pod) or _starting(pod, heard)


def asks(pod: Pod, cause: Cause) -> datetime | None:
    """From when on the kubelet's Events should be read; None if the pod's status says enough."""
    silent = cause.rank in (Rank.STARTING, Rank.VOLUME) and pod.metadata.deletion_timestamp is None
    if not silent or not pod.spec.node_name or pod.status.phase == "Running":
        return None
    return later(pod.status.start_time or pod.metadata.creation_timestamp or LONG_AGO, ASK_AFTER)


def overdue(pod: Pod) -> datetime | None:
    """When silence becomes a cause: of the scheduler about a new pod, of the kubelet about one that was deleted."""
    ending, created = pod.metadata.deletion_timestamp, pod.metadata.creation_timestamp
    if ending is not None:
        return later(ending, UNSEEN)
    return later(created, UNSEEN) if created is not None and not pod.spec.node_name else None


def _unscheduled(pod: Pod, now: datetime) -> Cause | None:
    said = pod.condition("PodScheduled")
    if said is not None and said.status == "False":
        reason, words = said.reason or "Unschedulable", said.message or "the scheduler gives no reason"
        return Cause(Rank.SCHEDULING, reason[:LONGEST_REASON], words, said.last_transition_time)
    created = pod.metadata.creation_timestamp
    if said is None and not pod.spec.node_name and created is not None and now >= later(created, UNSEEN):
        words = "no scheduler has looked at the pod; check its schedulerName"
        return Cause(Rank.SCHEDULING, "NotScheduled", words, created)
    return None


def _container(pod: Pod) -> Cause | None:
    found = [_told(pod, status, init=True) for status in pod.status.init_container_statuses]
    found += [_told(pod, status, init=False) for status in pod.status.container_statuses]
    return min((cause for cause in found if cause is not None), key=lambda cause: cause.rank, default=None)


def _told(pod: Pod, status: ContainerStatus, *, init: bool) -> Cause | None:
    waiting, ended = status.state.waiting, status.state.terminated or status.last_state.terminated
    reason = waiting.reason if waiting is not None else ""
    if waiting is not None and reason in IMAGE:
        return Cause(Rank.IMAGE, PULLING.get(reason, reason), waiting.message or reason, _since(pod))
    if waiting is not None and reason not in (*EARLY, CRASHING):
        words = f"container {status.name}: {waiting.message or reason}"
        return Cause(Rank.CONFIG, reason[:LONGEST_REASON], words, _since(pod))
    failed = ended is not None and ended.exit_code != 0
    if init and failed and not status.ready:
        words = f"init container {status.name} {_ending(ended)}"
        return Cause(Rank.INIT, "InitContainerFailed", words, _since(pod))
    if reason == CRASHING or (failed and status.state.terminated is not None):
        return Cause(Rank.CRASH, CRASHING, f"container {status.name} {_ending(ended)}", _since(pod))
    return None


def _ending(ended: Terminated | None) -> str:
    if ended is None:
        return "does not stay up"
    why = f" ({ended.reason})" if ended.reason not in ("", "Error") else ""
    said = ended.message.strip()[-LONGEST_ENDING:]
    return f"failed with exit code {ended.exit_code}{why[:LONGEST_REASON]}" + (f": {said}" if said else "")


def _unready(pod: Pod) -> Cause | None:
    said = pod.condition("Ready")
    if pod.status.phase != "Running" or said is None:
        return None
    return Cause(Rank.UNREADY, "PodsNotReady", said.message or said.reason or "the pod is not ready", _since(pod))


def _starting(pod: Pod, heard: Heard | None) -> Cause:
    if heard is not None and heard.pod == pod.metadata.uid and heard.is_warning:
        return Cause(Rank.VOLUME, heard.reason[:LONGEST_REASON], heard.message, _since(pod))
    if (name := _initializing(pod.status.init_container_statuses)) is not None:
        return Cause(Rank.STARTING, "PodInitializing", f"init container {name} runs", _since(pod))
    if heard is not None and heard.pod == pod.metadata.uid and heard.reason == "Pulling":
        return Cause(Rank.STARTING, "PullingImage", heard.message, _since(pod))
    return Cause(Rank.STARTING)


def _initializing(statuses: Iterable[ContainerStatus]) -> str | None:
    """The init container that runs now; a sidecar, which is ready, is not waited for."""
    for status in statuses:
        if status.state.waiting is None and status.state.terminated is None and not status.ready:
            return status.name
    return None


def _since(pod: Pod) -> datetime | None:
    """Since when the pod is not ready."""
    ready = pod.condition("Ready")
    if ready is not None and ready.last_transition_time is not None:
        return ready.last_transition_time
    return pod.status.start_time or pod.metadata.creation_timestamp
