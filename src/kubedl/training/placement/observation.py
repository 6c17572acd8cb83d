"""Which wishes of a job no node of the cluster can satisfy. A node may come, so pods are created all the same."""

from collections.abc import Iterator
from datetime import datetime

from kubedl.api.placement import NodePool
from kubedl.api.training import TrainingJob
from kubedl.training.formatting import shorten
from kubedl.training.nodes import NodeView
from kubedl.training.placement.wish import is_requested, wishes

Reason = tuple[str, str]  # reason and message

LONGEST = 256  # characters of a pool's labels
KEY_NOT_FOUND, POOL_EMPTY = "TopologyKeyNotFound", "NodePoolEmpty"


def observe_placement(resource: TrainingJob, nodes: NodeView, now: datetime) -> tuple[Reason, ...]:
    """What no node can satisfy; nothing if the job has no wish, or the operator may not read nodes."""
    return tuple(dict.fromkeys(_unmet(resource, nodes, now))) if is_requested(resource) and nodes.are_known else ()


def _unmet(resource: TrainingJob, nodes: NodeView, now: datetime) -> Iterator[Reason]:
    for wish in wishes(resource).values():
        placement = wish.placement
        if placement.strategy is not None and not nodes.have_label(placement.key, now):
            effect = "the pods wait" if placement.is_required else f"strategy {placement.strategy} has no effect"
            yield KEY_NOT_FOUND, f"no node has the label {placement.key}: {effect}"
        for pool in placement.node_pools:
            if not nodes.have_labels(pool.node_selector, now):
                yield POOL_EMPTY, f"no node is in the pool {pool.name} ({_text(pool)})"


def _text(pool: NodePool) -> str:
    return shorten(", ".join(f"{key}={value}" for key, value in sorted(pool.node_selector.items())), LONGEST)
