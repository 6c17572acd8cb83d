"""What the cache of nodes says to a job: which of its pods' nodes are lost, and whether that is an outage."""

from collections.abc import Iterable
from datetime import datetime

from kubedl.runtime.store import Store
from kubedl.training.policies.outage import Outage, outage
from kubedl.training.snapshot import Settings
from kubedl.wire.core import Node, Pod
from kubedl.wire.meta import Key


class NodeView:
    """Reads the cache. All nodes are counted at most once a second, however many jobs ask."""

    def __init__(self, nodes: Store[Node], settings: Settings) -> None:
        self._nodes = nodes
        self._settings = settings
        self._counted_at: datetime | None = None
        self._outage: Outage | None = None

    def lost(self, pods: Iterable[Pod]) -> dict[str, datetime]:
        """The lost nodes that these pods are on, each with the time since when."""
        lost = {}
        for place in {pod.spec.node_name for pod in pods if pod.spec.node_name}:
            node = self._nodes.get(Key("", place))
            if node is not None and (since := node.lost_since) is not None:
                lost[place] = since
        return lost

    def outage(self, now: datetime) -> Outage | None:
        """Whether too many nodes are lost at once to give up the pods on any of them."""
        if self._counted_at != now:
            settings = self._settings
            self._outage = outage(self._nodes, settings.max_lost_nodes_percent, settings.node_grace, now)
            self._counted_at = now
        return self._outage
