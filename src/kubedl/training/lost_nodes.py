"""Pods on lost nodes: when they are replaced, and what the status says until then.

A pod is replaced when its node has been lost for the administrator's grace period and for as long as the pod tolerates,
but not while too many nodes are lost at once. It is deleted by force, as no kubelet confirms its end.
"""

from datetime import timedelta

from kubedl.api.conditions import find
from kubedl.kube.types.core import Pod
from kubedl.training import labels
from kubedl.training.observed import ObservedReplica
from kubedl.training.plan import PlanBuilder
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.failure_policy import Failure, FailureClass
from kubedl.training.policies.node_toleration import FOR_EVER, NOT_AT_ALL, tolerance
from kubedl.training.policies.safe_time import later

CONDITION = "NodesLost"
LOOK_AGAIN = timedelta(seconds=30)  # after an outage: no event tells a job that other nodes are back


def is_given_up(builder: PlanBuilder, pod: Pod) -> bool:
    """Return whether the pod's node has been lost for too long; if it may come back, schedule another reconcile."""
    observed = builder.observed
    since = observed.lost_nodes.get(pod.spec.node_name)
    if since is None:
        return False
    patience = max(observed.settings.node_grace, _tolerance(builder, pod))
    if patience == FOR_EVER:
        return False
    until = later(since, patience)
    if observed.now < until:
        builder.wake(until)
        return False
    if observed.outage is not None:
        builder.wake(later(observed.now, LOOK_AGAIN))
        return False
    return True


def failure(builder: PlanBuilder, seen: ObservedReplica) -> Failure | None:
    """Return the failure of a replica on a lost node, if it is to be replaced."""
    pod = seen.current
    if pod is None or pod.status.phase in ENDED:
        return None
    since = builder.observed.lost_nodes.get(pod.spec.node_name)
    if since is None:
        return None
    return Failure(seen.replica, FailureClass.DISRUPTION, since, f"was lost with node {pod.spec.node_name}")


def record_outage(builder: PlanBuilder) -> None:
    """Set the condition for pods that stay on lost nodes after the grace period.

    The message is kept from the start: the numbers change by the second, and the status must not.
    """
    left = [pod for pod in builder.observed.pods if _is_left(builder, pod)]
    if not left:
        builder.condition(CONDITION, False, "NodesReturned")
        return
    reason, message = _message(builder, left)
    known = find(builder.status.conditions, CONDITION)
    if known is not None and (known.status, known.reason) == ("True", reason):
        return
    builder.condition(CONDITION, True, reason, message)
    builder.event("Warning", reason, message)


def _message(builder: PlanBuilder, left: list[Pod]) -> tuple[str, str]:
    pods = f"{len(left)} pod{'s' if len(left) > 1 else ''} on lost nodes"
    outage = builder.observed.outage
    if outage is None:
        names = ", ".join(sorted({pod.spec.node_name for pod in left})[:3])
        return (
            "LossTolerated",
            f"{pods} ({names}) not replaced yet: the template tolerates unreachable nodes for longer",
        )
    share = builder.observed.settings.max_lost_nodes_percent
    limit = "all" if outage.lost == outage.nodes else f"the limit is {share:g} %"
    return (
        "TooManyNodesLost",
        f"{outage.lost} of {outage.nodes} nodes are lost ({limit}): {pods} not replaced, because they may still run",
    )


def _is_left(builder: PlanBuilder, pod: Pod) -> bool:
    observed = builder.observed
    since = observed.lost_nodes.get(pod.spec.node_name)
    if since is None or pod.status.phase in ENDED or observed.now < later(since, observed.settings.node_grace):
        return False
    return not is_given_up(builder, pod)


def _tolerance(builder: PlanBuilder, pod: Pod) -> timedelta:
    name = pod.metadata.labels.get(labels.REPLICA_TYPE, "").lower()
    role = next((role for role in builder.observed.job.roles.values() if role.name.lower() == name), None)
    return tolerance(role.template) if role is not None else NOT_AT_ALL
