"""Node outages: if many nodes are lost at once, the network or the control plane has failed rather than the machines.

Kubelets that cannot reach the API server keep running their pods. Replacing all of them would end healthy trainings and
start duplicates. The node controller of Kubernetes stops evicting for the same reason.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.kube.types.core import Node
from kubedl.training.policies.safe_time import later

FEWEST = 3  # nodes; as in Kubernetes, fewer are no outage, unless they are all nodes
YOUTH = timedelta(minutes=10)  # a node that is ready so soon after its creation is new, and has not returned


@dataclass(frozen=True)
class Outage:
    """The number of lost nodes, and of all nodes."""

    lost: int
    nodes: int


def outage(nodes: Iterable[Node], percent: float, grace: timedelta, now: datetime) -> Outage | None:
    """Return the outage, if more than this share of all nodes, or all of them, are lost.

    A returned node counts as lost for the grace period: the others will follow, and must not be given up as soon as
    enough are back.
    """
    total = lost = returned = 0
    for node in nodes:
        total += 1
        if node.not_ready_since is not None:
            lost += 1
        elif _has_returned(node, grace, now):
            returned += 1
    affected = lost + returned
    if (
        lost == 0
        or (affected < FEWEST and affected < total)
        or (affected < total and affected * 100 <= total * percent)
    ):
        return None
    return Outage(lost, total)


def _has_returned(node: Node, grace: timedelta, now: datetime) -> bool:
    since = node.ready_since
    if since is None or later(since, grace) <= now:
        return False
    born = node.metadata.creation_timestamp
    return born is None or later(born, YOUTH) <= since
