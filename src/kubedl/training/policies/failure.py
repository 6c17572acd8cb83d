"""Why a replica is not there any more, and what that costs: nothing, one retry, or the job.

In this order: disruption (nobody's fault, never counted), retryable by the role's policy, permanent.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from kubedl.api.training import RestartScope
from kubedl.training.job import JobRole, Replica
from kubedl.training.policies import exit_codes
from kubedl.training.policies.clean import ENDED
from kubedl.training.policies.moment import LONG_AGO
from kubedl.wire.core import Pod, Terminated

# What a kubelet writes when it ends or refuses a pod for reasons of the node.
NODE_REASONS = frozenset(
    {
        "NodeAffinity",
        "NodeLost",
        "NodeShutdown",
        "Preempting",
        "Shutdown",
        "Terminated",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
    }
)
# A kubelet that evicts because its node is short of something marks the pod with DisruptionTarget. Without that mark
# the pod itself exceeded what it may use: its limit of ephemeral storage, or the sizeLimit of a volume.
EVICTED = "Evicted"
OUT_OF = "OutOf"  # cpu, memory, pods, nvidia.com/gpu: whatever the node promised and has not


class Cost(IntEnum):
    """The lower, the better it explains what happened to the others."""

    NOTHING = 0
    RETRY = 1
    JOB = 2


@dataclass(frozen=True)
class Failure:
    """One replica that must be dealt with."""

    replica: Replica
    cost: Cost
    when: datetime
    text: str  # completes "mnist-worker-1 …"


def judge(replica: Replica, pod: Pod, main: str, role: JobRole, scope: RestartScope) -> Failure | None:
    """What happened to a pod in its last known state; None if it is well or has succeeded.

    How a pod ends that was told to go is not its own doing, and depends on how it takes SIGTERM.
    """
    if pod.metadata.deletion_timestamp is not None and not _ended_before(pod):
        return Failure(replica, Cost.NOTHING, pod.metadata.deletion_timestamp, _taken(pod))
    if pod.status.phase == "Failed":
        ended, where = _ending(pod, main)
        when = ended.finished_at if ended is not None and ended.finished_at is not None else _since(pod)
        cost, text = _failed(pod, ended, where, role, scope)
        return Failure(replica, cost, when, text)
    return None


def has_succeeded(pod: Pod | None) -> bool:
    """Whether the pod came to its end by itself, and well."""
    return pod is not None and pod.status.phase == "Succeeded" and _ended_before(pod)


def _ended_before(pod: Pod) -> bool:
    """Whether the pod had ended when somebody told it to go, if anybody did: only then is its end its own doing.

    The API server gives time to go only to a pod that has not ended. The last word about a pod says nothing of that
    time, and carries a deletion also where the pod had ended and was collected; there the times must tell, in whole
    seconds. What happened in the same one is taken for its own doing, because success must not be undone.
    """
    told_at = pod.metadata.deletion_timestamp
    if told_at is None:
        return True
    if pod.metadata.deletion_grace_period_seconds > 0:
        return False
    endings = [status.state.terminated for status in pod.status.container_statuses]
    times = [ended.finished_at for ended in endings if ended is not None and ended.finished_at is not None]
    return pod.status.phase in ENDED and max(times, default=told_at) <= told_at


def _failed(pod: Pod, ended: Terminated | None, where: str, role: JobRole, scope: RestartScope) -> tuple[Cost, str]:
    target = pod.condition("DisruptionTarget")
    if target is not None and target.status == "True":
        return Cost.NOTHING, _taken(pod)
    if pod.status.reason == EVICTED:
        text = f"was evicted: {pod.status.message or 'it used more storage than it may'}"
        return (Cost.JOB if role.restart_policy == "Never" else Cost.RETRY), text
    if ended is None or ended.exit_code == 0:
        text = f"failed: {pod.status.reason or pod.status.message or 'no container ran'}"
        return (Cost.NOTHING if _by_node(pod) else Cost.JOB), text
    if _by_node(pod):
        return Cost.NOTHING, f"was ended by its node: {pod.status.reason}"
    text = f"failed with exit code {ended.exit_code}"
    if ended.reason not in ("", "Error"):
        text += f" ({ended.reason})"
    text += where
    # Under the scope Job a container that the kubelet restarts in place meets peers that are gone, so the engine takes
    # OnFailure over.
    again = role.restart_policy == "OnFailure" and scope == "Job"
    if again or (role.restart_policy == "ExitCode" and exit_codes.is_retryable(ended, role)):
        return Cost.RETRY, text
    return Cost.JOB, text


def _by_node(pod: Pod) -> bool:
    return pod.status.reason in NODE_REASONS or pod.status.reason.startswith(OUT_OF)


def _taken(pod: Pod) -> str:
    target = pod.condition("DisruptionTarget")
    if target is not None and target.status == "True":
        return f"was disrupted: {target.message or target.reason}"
    return "was deleted"


def _ending(pod: Pod, main: str) -> tuple[Terminated | None, str]:
    """How the pod's main container ended, or whichever failed where the main one did not, and where that was.

    Where an init container fails none of the others has run.
    """
    status = pod.status
    found = [(one.name != main, one.state.terminated, "") for one in status.container_statuses]
    found += [(True, one.state.terminated, f" in init container {one.name}") for one in status.init_container_statuses]
    for _, ended, where in sorted(found, key=lambda item: item[0]):  # the main one first, the others as they come
        if ended is not None and ended.exit_code != 0:
            return ended, where
    return next((ended for other, ended, _ in found if not other), None), ""


def _since(pod: Pod) -> datetime:
    times = [condition.last_transition_time for condition in pod.status.conditions]
    known = [time for time in (*times, pod.metadata.creation_timestamp) if time is not None]
    return max(known, default=LONG_AGO)
