"""Finds why a predictor is not ready: the most specific cause in its pods or its Deployment. Pure."""

from collections.abc import Sequence

from kubedl.kube.types.apps import Deployment
from kubedl.kube.types.core import ContainerStatus, Pod
from kubedl.serving.loader.verify import MISSING
from kubedl.serving.observed import Problem
from kubedl.serving.workload import model_init_container

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
# On a busy node; the kubelet retries.
PASSING = ("context deadline exceeded", "DeadlineExceeded", "is reserved for")
LOST_MODEL = (
    "the pod was created without the model's image volume: the cluster, or an admission policy, strips image volumes "
    "from pods; set loader to InitCopy or Auto"
)
NOT_SUPPORTED = (
    "; image volumes need containerd 2.1 or CRI-O 1.31 on the node: upgrade it, or set loader to InitCopy or Auto"
)


def diagnose(pods: Sequence[Pod], deployment: Deployment | None, endpoints: int) -> Problem | None:
    """Return the problem, or None."""
    problem = next(filter(None, map(_pod_problem, pods)), None)
    if problem is not None:
        return problem
    if endpoints:
        return None
    failed = (
        next((condition for condition in deployment.status.conditions if condition.type == "ReplicaFailure"), None)
        if deployment
        else None
    )
    if failed is not None and failed.status == "True":
        return Problem(failed.reason or "PodsRefused", f"cannot create its pods: {failed.message}")
    wanted = deployment.spec.replicas if deployment is not None else 0
    return Problem("PodsNotReady", f"none of {wanted} pods is ready")


def cannot_mount(pods: Sequence[Pod]) -> bool:
    """Return whether a pod was created without its image volume, or a node's runtime cannot mount one."""
    return any(_lost_its_model(pod) or _not_supported(pod) for pod in pods)


def cannot_pull(pods: Sequence[Pod]) -> bool:
    """Return whether an image of a pod cannot be pulled."""
    statuses = (
        container for pod in pods for container in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    reasons = {one.state.waiting.reason for one in statuses if one.state.waiting is not None}
    return bool(reasons & {"ErrImagePull", "ImagePullBackOff"})


def _lost_its_model(pod: Pod) -> bool:
    notes = model_init_container.termination_message(pod)
    return notes is not None and notes.reason == MISSING


def _not_supported(pod: Pod) -> bool:
    """An older runtime cannot create the loader, the first container that mounts the image."""
    waiting = model_init_container.waiting(pod)
    return (
        waiting is not None
        and waiting.reason in NOT_CREATED
        and not any(message in waiting.message for message in PASSING)
    )


def _pod_problem(pod: Pod) -> Problem | None:
    notes = model_init_container.termination_message(pod)
    if notes is not None:
        return Problem("ModelNotLoaded", LOST_MODEL if notes.reason == MISSING else f"{notes.reason}: {notes.message}")
    scheduled = pod.condition("PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return Problem("Unschedulable", f"a pod cannot be scheduled: {scheduled.message or scheduled.reason}")
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        problem = _waiting(pod, status)
        if problem is not None:
            return problem
    return None


def _waiting(pod: Pod, status: ContainerStatus) -> Problem | None:
    waiting = status.state.waiting
    if waiting is None or waiting.reason not in TELLING:
        return None
    final = status.last_state.terminated
    ended = f" (exit code {final.exit_code}: {final.message.strip()[-256:]})" if final is not None else ""
    hint = NOT_SUPPORTED if status.name == model_init_container.CONTAINER and _not_supported(pod) else ""
    return Problem(waiting.reason, f"{status.name} in pod {pod.metadata.name}: {waiting.message}{ended}{hint}")
