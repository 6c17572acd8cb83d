"""Pods on lost nodes: when they are given up and replaced, and what people are told while they are not.

A pod is given up when its node has been lost for the administrator's grace and for as long as the pod tolerates, and
not while too many nodes are lost at once. Whoever is given up is deleted by force: nobody is there to end it.
"""

from datetime import timedelta

from kubedl.api.conditions import find
from kubedl.training import labels
from kubedl.training.plan import Draft
from kubedl.training.policies.clean import ENDED
from kubedl.training.policies.failure import Cost, Failure
from kubedl.training.policies.moment import later
from kubedl.training.policies.toleration import FOR_EVER, NOT_AT_ALL, tolerance
from kubedl.training.snapshot import Sighting
from kubedl.wire.core import Pod

CONDITION = "NodesLost"
LOOK_AGAIN = timedelta(seconds=30)  # after nodes that were lost together: no event tells a job of other nodes' return


def is_given_up(draft: Draft, pod: Pod) -> bool:
    """Whether the pod's node has been lost for too long; if it may come back, look again when that can change."""
    snapshot = draft.snapshot
    since = snapshot.lost_nodes.get(pod.spec.node_name)
    if since is None:
        return False
    patience = max(snapshot.settings.node_grace, _tolerance(draft, pod))
    if patience == FOR_EVER:
        return False
    until = later(since, patience)
    if snapshot.now < until:
        draft.wake(until)
        return False
    if snapshot.outage is not None:
        draft.wake(later(snapshot.now, LOOK_AGAIN))
        return False
    return True


def failure(draft: Draft, sighting: Sighting) -> Failure | None:
    """The loss of a replica whose pod runs on a lost node, given up or not."""
    pod = sighting.current
    if pod is None or pod.status.phase in ENDED:
        return None
    since = draft.snapshot.lost_nodes.get(pod.spec.node_name)
    if since is None:
        return None
    return Failure(sighting.replica, Cost.NOTHING, since, f"was lost with node {pod.spec.node_name}")


def tell(draft: Draft) -> None:
    """Say why pods are left on lost nodes after the grace, as long as some are.

    The words stay what they were when it began: counts change by the second, and statuses must not.
    """
    left = [pod for pod in draft.snapshot.pods if _is_left(draft, pod)]
    if not left:
        draft.condition(CONDITION, False, "NodesReturned")
        return
    reason, message = _words(draft, left)
    known = find(draft.status.conditions, CONDITION)
    if known is not None and (known.status, known.reason) == ("True", reason):
        return
    draft.condition(CONDITION, True, reason, message)
    draft.event("Warning", reason, message)


def _words(draft: Draft, left: list[Pod]) -> tuple[str, str]:
    pods = f"{len(left)} pod{'s' if len(left) > 1 else ''} on lost nodes"
    outage = draft.snapshot.outage
    if outage is None:
        names = ", ".join(sorted({pod.spec.node_name for pod in left})[:3])
        return (
            "LossTolerated",
            f"{pods} ({names}) not replaced yet: the template tolerates unreachable nodes for longer",
        )
    share = draft.snapshot.settings.max_lost_nodes_percent
    limit = "all" if outage.lost == outage.nodes else f"the limit is {share:g} %"
    return (
        "TooManyNodesLost",
        f"{outage.lost} of {outage.nodes} nodes are lost ({limit}): {pods} not replaced, because they may still run",
    )


def _is_left(draft: Draft, pod: Pod) -> bool:
    snapshot = draft.snapshot
    since = snapshot.lost_nodes.get(pod.spec.node_name)
    if since is None or pod.status.phase in ENDED or snapshot.now < later(since, snapshot.settings.node_grace):
        return False
    return not is_given_up(draft, pod)


def _tolerance(draft: Draft, pod: Pod) -> timedelta:
    name = pod.metadata.labels.get(labels.REPLICA_TYPE, "").lower()
    role = next((role for role in draft.snapshot.job.roles.values() if role.name.lower() == name), None)
    return tolerance(role.template) if role is not None else NOT_AT_ALL
