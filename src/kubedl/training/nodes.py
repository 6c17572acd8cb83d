"""Lost nodes of a job's pods, outages, and labels, from the informer cache of nodes."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from kubedl.kube.types.core import Node, Pod
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.store import Store
from kubedl.training.elastic.notices import Notice, notice
from kubedl.training.observed import Settings
from kubedl.training.policies.node_outage import Outage, outage


class NodeView:
    """Reads the cache. All nodes are counted at most once a second, for all jobs; so is each set of labels."""

    def __init__(self, nodes: Store[Node], settings: Settings) -> None:
        self._nodes = nodes
        self._settings = settings
        self._counted_at: datetime | None = None
        self._outage: Outage | None = None
        self._labels_at: datetime | None = None
        self._labels: dict[frozenset[tuple[str, str | None]], bool] = {}

    @property
    def are_known(self) -> bool:
        """Whether the cluster has nodes that the operator may read."""
        return len(self._nodes) > 0

    def lost(self, pods: Iterable[Pod]) -> dict[str, datetime]:
        """Return the lost nodes of these pods, with the time since when."""
        lost = {}
        for place in {pod.spec.node_name for pod in pods if pod.spec.node_name}:
            node = self._nodes.get(ObjectKey("", place))
            if node is not None and (since := node.not_ready_since) is not None:
                lost[place] = since
        return lost

    def notices(self, names: Iterable[str]) -> dict[str, Notice]:
        """Return which of these nodes will be taken, by name: what is recorded about them has an order."""
        known = ((name, self._nodes.get(ObjectKey("", name))) for name in sorted(set(names)) if name)
        given = ((name, notice(node, self._settings.reclaim_notices)) for name, node in known if node is not None)
        return {name: found for name, found in given if found is not None}

    def outage(self, now: datetime) -> Outage | None:
        """Return whether too many nodes are lost at once to replace the pods on any of them."""
        if self._counted_at != now:
            settings = self._settings
            self._outage = outage(self._nodes, settings.max_lost_nodes_percent, settings.node_grace, now)
            self._counted_at = now
        return self._outage

    def have_label(self, key: str, now: datetime) -> bool:
        """Return whether any node has a label, with any value."""
        return self._any({key: None}, now)

    def have_labels(self, labels: Mapping[str, str], now: datetime) -> bool:
        """Return whether any node has all these labels."""
        return self._any(labels, now)

    def _any(self, labels: Mapping[str, str | None], now: datetime) -> bool:
        if self._labels_at != now:
            self._labels, self._labels_at = {}, now
        asked = frozenset(labels.items())
        if asked not in self._labels:
            self._labels[asked] = any(_has(node.metadata.labels, labels) for node in self._nodes)
        return self._labels[asked]


def _has(given: Mapping[str, str], labels: Mapping[str, str | None]) -> bool:
    """Whether labels have these values; None stands for any."""
    return all(key in given and value in (None, given[key]) for key, value in labels.items())
