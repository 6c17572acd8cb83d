"""Why a predictor does not answer: the nearest cause that its pods or its Deployment tell. Pure."""

from collections.abc import Sequence

from kubedl.serving import loading
from kubedl.serving.loader.mounted import MISSING
from kubedl.serving.objects import Deployment
from kubedl.serving.sight import Trouble
from kubedl.wire.core import ContainerStatus, Pod

TELLING = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ImageVolumeMountFailed",
    "RunContainerError",
    "CrashLoopBackOff",
)
NOT_CREATED = ("CreateContainerError", "ImageVolumeMountFailed")
# Of a busy node; the kubelet tries again.
PASSING = ("context deadline exceeded", "DeadlineExceeded", "is reserved for")
LOST_MODEL = (
    "the pod was created without the model's image volume: the cluster, or an admission policy, strips image volumes "
    "from pods; set loader to InitCopy or Auto"
)
NOT_SUPPORTED = (
    "; image volumes need containerd 2.1 or CRI-O 1.31 on the node: upgrade it, or set loader to InitCopy or Auto"
)


def trouble_of(pods: Sequence[Pod], found: Deployment | None, endpoints: int) -> Trouble | None:
    """What is wrong; None if nothing is."""
    told = next((trouble for pod in pods if (trouble := _told(pod)) is not None), None)
    if told is not None:
        return told
    if endpoints:
        return None
    failed = next((one for one in found.status.conditions if one.type == "ReplicaFailure"), None) if found else None
    if failed is not None and failed.status == "True":
        return Trouble(failed.reason or "PodsRefused", f"its pods cannot be made: {failed.message}")
    wanted = found.spec.replicas if found is not None else 0
    return Trouble("PodsNotReady", f"none of {wanted} pods is ready")


def cannot_mount(pods: Sequence[Pod]) -> bool:
    """Whether a pod was created without its image volume, or a node's runtime cannot mount one."""
    return any(_lost_its_model(pod) or _not_supported(pod) for pod in pods)


def cannot_pull(pods: Sequence[Pod]) -> bool:
    """Whether an image of a pod cannot be pulled."""
    statuses = (one for pod in pods for one in (*pod.status.init_container_statuses, *pod.status.container_statuses))
    reasons = {one.state.waiting.reason for one in statuses if one.state.waiting is not None}
    return bool(reasons & {"ErrImagePull", "ImagePullBackOff"})


def _lost_its_model(pod: Pod) -> bool:
    words = loading.last_words(pod)
    return words is not None and words.reason == MISSING


def _not_supported(pod: Pod) -> bool:
    """An older runtime cannot create the loader, which is the first container that mounts the image."""
    said = loading.waiting(pod)
    return said is not None and said.reason in NOT_CREATED and not any(words in said.message for words in PASSING)


def _told(pod: Pod) -> Trouble | None:
    words = loading.last_words(pod)
    if words is not None:
        return Trouble("ModelNotLoaded", LOST_MODEL if words.reason == MISSING else f"{words.reason}: {words.message}")
    scheduled = pod.condition("PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return Trouble("Unschedulable", f"no node takes a pod: {scheduled.message or scheduled.reason}")
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        trouble = _waiting(pod, status)
        if trouble is not None:
            return trouble
    return None


def _waiting(pod: Pod, status: ContainerStatus) -> Trouble | None:
    waiting = status.state.waiting
    if waiting is None or waiting.reason not in TELLING:
        return None
    final = status.last_state.terminated
    ended = f" (it ended with code {final.exit_code}: {final.message.strip()[-256:]})" if final is not None else ""
    hint = NOT_SUPPORTED if status.name == loading.CONTAINER and _not_supported(pod) else ""
    return Trouble(waiting.reason, f"{status.name} in pod {pod.metadata.name}: {waiting.message}{ended}{hint}")
