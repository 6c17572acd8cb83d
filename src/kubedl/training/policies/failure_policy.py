"""Classifies the failure of a replica and its cost: none, one retry, or the job.

In this order: disruption (never counted), retryable by the role's policy, permanent.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from kubedl.api.training import RestartScope
from kubedl.kube.types.core import Pod, Terminated
from kubedl.training.job import JobRole, Replica
from kubedl.training.policies import exit_codes
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.safe_time import LONG_AGO

# The kubelet's reasons for ending or rejecting a pod because of the node.
NODE_REASONS = frozenset(
    {
        "NodeAffinity",
        "NodeLost",
        "NodePorts",
        "NodeShutdown",
        "Preempting",
        "Shutdown",
        "TaintToleration",
        "Terminated",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
    }
)
DISRUPTED = "DisruptionTarget"  # condition of a pod that Kubernetes evicts
# A kubelet that evicts for node pressure sets this condition. Without it, the pod itself exceeded a limit: ephemeral
# storage, or the sizeLimit of a volume.
EVICTED = "Evicted"
# YuniKorn gave up a gang that it could not place in time; no container ran.
NOT_PLACED = "ResourceReservationTimeout"
OUT_OF = "OutOf"  # cpu, memory, pods, nvidia.com/gpu: any resource that the node turned out not to have


class FailureClass(IntEnum):
    """Lower values explain the failures of others better."""

    DISRUPTION = 0
    RETRYABLE = 1
    PERMANENT = 2


@dataclass(frozen=True)
class Failure:
    """A failed replica."""

    replica: Replica
    cost: FailureClass
    when: datetime
    text: str  # completes "mnist-worker-1 …"


def classify(replica: Replica, pod: Pod, main: str, role: JobRole, scope: RestartScope) -> Failure | None:
    """Classify a pod in its last known state; None if it is healthy or has succeeded.

    The exit of a deleted pod is not its own failure, and depends on how it handles SIGTERM.
    """
    if pod.metadata.deletion_timestamp is not None and not _ended_before(pod):
        return Failure(replica, FailureClass.DISRUPTION, pod.metadata.deletion_timestamp, _taken(pod))
    if pod.status.phase == "Failed":
        ended, where = ending(pod, main)
        when = ended.finished_at if ended is not None and ended.finished_at is not None else _since(pod)
        cost, text = _failed(pod, ended, where, role, scope)
        return Failure(replica, cost, when, text)
    return None


def has_succeeded(pod: Pod | None) -> bool:
    """Return whether the pod succeeded by itself."""
    return pod is not None and pod.status.phase == "Succeeded" and _ended_before(pod)


def _ended_before(pod: Pod) -> bool:
    """Return whether the pod had ended before it was deleted: only then is its result its own.

    The API server grants a grace period only to pods that have not ended. The last state of a pod does not show it, and
    has a deletion timestamp even if the pod had ended and was garbage-collected; then timestamps decide, in whole
    seconds. A tie counts as its own result, because a success must not be undone.
    """
    message_written_at = pod.metadata.deletion_timestamp
    if message_written_at is None:
        return True
    if pod.metadata.deletion_grace_period_seconds > 0:
        return False
    endings = [status.state.terminated for status in pod.status.container_statuses]
    times = [ended.finished_at for ended in endings if ended is not None and ended.finished_at is not None]
    return pod.status.phase in ENDED and max(times, default=message_written_at) <= message_written_at


def _failed(
    pod: Pod, ended: Terminated | None, where: str, role: JobRole, scope: RestartScope
) -> tuple[FailureClass, str]:
    if pod.holding(DISRUPTED) is not None:
        return FailureClass.DISRUPTION, _taken(pod)
    if pod.status.reason == EVICTED:
        text = f"was evicted: {pod.status.message or 'it exceeded its storage limit'}"
        return (FailureClass.PERMANENT if role.restart_policy == "Never" else FailureClass.RETRYABLE), text
    if ended is None or ended.exit_code == 0:
        text = f"failed: {pod.status.reason or pod.status.message or 'no container ran'}"
        lost = _by_node(pod) or pod.status.reason == NOT_PLACED
        return (FailureClass.DISRUPTION if lost else FailureClass.PERMANENT), text
    if _by_node(pod):
        return FailureClass.DISRUPTION, f"was ended by its node: {pod.status.reason}"
    text = f"failed with exit code {ended.exit_code}"
    if ended.reason not in ("", "Error"):
        text += f" ({ended.reason})"
    text += where
    # With restartScope Job, a container restarted in place would find no peers, so the engine handles OnFailure itself.
    again = role.restart_policy == "OnFailure" and scope == "Job"
    if again or (role.restart_policy == "ExitCode" and exit_codes.is_retryable(ended, role)):
        return FailureClass.RETRYABLE, text
    return FailureClass.PERMANENT, text


def _by_node(pod: Pod) -> bool:
    return pod.status.reason in NODE_REASONS or pod.status.reason.startswith(OUT_OF)


def _taken(pod: Pod) -> str:
    target = pod.holding(DISRUPTED)
    return f"was disrupted: {target.message or target.reason}" if target is not None else "was deleted"


def ending(pod: Pod, main: str) -> tuple[Terminated | None, str]:
    """Return how the main container ended, else any container that failed, and where.

    If an init container fails, no other container has run.
    """
    status = pod.status
    found = [(container.name != main, container.state.terminated, "") for container in status.container_statuses]
    found += [(True, one.state.terminated, f" in init container {one.name}") for one in status.init_container_statuses]
    for _, ended, where in sorted(found, key=lambda item: item[0]):  # the main one first, then the others in order
        if ended is not None and ended.exit_code != 0:
            return ended, where
    return next((ended for other, ended, _ in found if not other), None), ""


def _since(pod: Pod) -> datetime:
    times = [condition.last_transition_time for condition in pod.status.conditions]
    known = [time for time in (*times, pod.metadata.creation_timestamp) if time is not None]
    return max(known, default=LONG_AGO)
