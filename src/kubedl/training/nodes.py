"""Lost nodes of a job's pods, and outages, from the informer cache of nodes."""

from collections.abc import Iterable
from datetime import datetime

from kubedl.kube.types.core import Node, Pod
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.store import Store
from kubedl.training.observed import Settings
from kubedl.training.policies.node_outage import Outage, outage


class NodeView:
    """Reads the cache. All nodes are counted at most once a second, for all jobs."""

    def __init__(self, nodes: Store[Node], settings: Settings) -> None:
        self._nodes = nodes
        self._settings = settings
        self._counted_at: datetime | None = None
        self._outage: Outage | None = None

    def lost(self, pods: Iterable[Pod]) -> dict[str, datetime]:
        """Return the lost nodes of these pods, with the time since when."""
        lost = {}
        for place in {pod.spec.node_name for pod in pods if pod.spec.node_name}:
            node = self._nodes.get(ObjectKey("", place))
            if node is not None and (since := node.not_ready_since) is not None:
                lost[place] = since
        return lost

    def outage(self, now: datetime) -> Outage | None:
        """Return whether too many nodes are lost at once to replace the pods on any of them."""
        if self._counted_at != now:
            settings = self._settings
            self._outage = outage(self._nodes, settings.max_lost_nodes_percent, settings.node_grace, now)
            self._counted_at = now
        return self._outage
