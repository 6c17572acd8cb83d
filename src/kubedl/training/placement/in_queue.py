"""Wishes of jobs in a queue of Kueue, which chooses flavors in its own order, and nodes where flavors have a topology.

A wish that the queue would not honour is refused before the job has quota. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from kubedl.api.placement import NodePool
from kubedl.api.training import TrainingJob
from kubedl.training import labels
from kubedl.training.kueue.types import ResourceFlavor
from kubedl.training.placement.wish import Wish, wishes

Body = dict[str, Any]
Reason = tuple[str, str]  # reason and message
Flavors = Sequence[
    Sequence[ResourceFlavor]
]  # of a ClusterQueue by resource group, in the order in which they are tried

ORDER, SPREAD, TOGETHER = "NodePoolOrder", "SpreadNotPossible", "PackNotPossible"


def conflict(resource: TrainingJob, flavors: Flavors) -> Reason | None:
    """Why a queue with these flavors would not honour a wish of the job; None if it would."""
    return next(_conflicts(resource, flavors), None)


def has_levels(flavors: Flavors) -> bool:
    """Whether Kueue chooses the nodes: all flavors have a topology."""
    return any(flavors) and all(flavor.spec.topology_name for group in flavors for flavor in group)


def topology_requests(resource: TrainingJob, flavors: Flavors) -> dict[str, Body]:
    """What to ask of Kueue for the pods of each role that is packed; nothing if Kueue does not choose nodes."""
    if not has_levels(flavors):
        return {}
    packed = ((role, wish) for role, wish in wishes(resource).items() if wish.placement.strategy == "Pack")
    return {role: _request(resource, wish) for role, wish in packed}


def _request(resource: TrainingJob, wish: Wish) -> Body:
    placement = wish.placement
    request: Body = {"required" if placement.is_required else "preferred": placement.key}
    if placement.is_required and len(_sizes(resource, wish)) > 1:
        return {**request, "podSetGroupName": wish.roles[0]}
    return {**request, "podIndexLabel": labels.REPLICA_INDEX}


def _conflicts(resource: TrainingJob, flavors: Flavors) -> Iterator[Reason]:
    levels = has_levels(flavors)
    for wish in wishes(resource).values():
        for group in flavors:
            yield from _order(group, wish.placement.node_pools)
        if levels and wish.placement.strategy == "Spread":
            yield SPREAD, "the flavors of the queue have a topology: Kueue chooses the nodes, and does not spread pods"
        sizes = _sizes(resource, wish)
        packed = wish.placement.strategy == "Pack" and wish.placement.is_required
        if levels and packed and len(sizes) > 1 and (len(sizes) > 2 or min(sizes.values()) > 1):
            message = "Kueue packs the pods of one role, or of two of which one has a single pod"
            yield TOGETHER, f"{message}: give the roles a placement each, or set whenUnsatisfiable to ScheduleAnyway"


def _order(group: Sequence[ResourceFlavor], pools: Sequence[NodePool]) -> Iterator[Reason]:
    """Whether a queue tries a flavor of a later pool before one of an earlier pool."""
    places = [(place, flavor) for flavor in group if (place := _place(flavor, pools)) is not None]
    for (before, first), (after, second) in pairwise(places):
        if before > after:
            names = f"{first.metadata.name} before {second.metadata.name}"
            wanted = f"{pools[after].name} before {pools[before].name}"
            yield ORDER, f"the queue tries flavor {names}, and the job asks for node pool {wanted}"


def _place(flavor: ResourceFlavor, pools: Sequence[NodePool]) -> int | None:
    """The first pool that the nodes of a flavor are in; None if its labels do not say so."""
    given: Mapping[str, str] = flavor.spec.node_labels
    places = enumerate(pools)
    return next((place for place, pool in places if pool.node_selector.items() <= given.items()), None)


def _sizes(resource: TrainingJob, wish: Wish) -> dict[str, int]:
    """The roles of a wish that have pods."""
    found = ((name.lower(), spec.replicas) for name, spec in resource.spec.replica_specs.items())
    return {role: number for role, number in found if role in wish.roles and number}
