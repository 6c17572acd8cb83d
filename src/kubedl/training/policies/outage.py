"""Losing many nodes at once: a fault of the network or the control plane rather than of so many machines.

Kubelets that cannot reach the API server still run their pods. To replace all of these would end trainings that are
well, and start second ones beside them. Kubernetes' own node controller stops evicting for the same reason.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.training.policies.moment import later
from kubedl.wire.core import Node

FEWEST = 3  # nodes; as in Kubernetes, fewer are no outage, unless they are all that there are
YOUTH = timedelta(minutes=10)  # a node that becomes ready this soon after its creation is new, and does not return


@dataclass(frozen=True)
class Outage:
    """How many nodes are lost, of how many."""

    lost: int
    nodes: int


def outage(nodes: Iterable[Node], percent: float, grace: timedelta, now: datetime) -> Outage | None:
    """Whether more than this share of all nodes is lost, or all of them are.

    A node that has returned counts as lost until it has been back for the grace: the others follow, and must not be
    given up in the moment in which enough are back.
    """
    total = lost = returned = 0
    for node in nodes:
        total += 1
        if node.lost_since is not None:
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
