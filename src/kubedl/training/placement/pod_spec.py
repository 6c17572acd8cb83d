"""A wish as fields of a pod: topology spread constraints, pod affinity, node affinity, tolerations. Pure.

What the template has is kept: node affinities are combined so that a node must satisfy both, everything else is added.
"""

from typing import Any

from kubedl.api.placement import HOSTNAME, NodePool, Placement
from kubedl.training.placement.wish import Wish

Body = dict[str, Any]

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
SPREAD = "topologySpreadConstraints"
MOST_WEIGHT = 100  # of a preference


def place(spec: Body, wish: Wish, uid: str) -> None:
    """Add a wish to the spec of a pod of the job with this uid."""
    placement, selector = wish.placement, wish.selector(uid)
    if placement.strategy == "Spread":
        spec[SPREAD] = [*(spec.get(SPREAD) or ()), _even(placement, selector)]
    elif placement.strategy == "Pack":
        _pack(spec, placement, selector)
    use_pools(spec, placement)
    if placement.strategy == "Pack" or len(placement.node_pools) > 1:
        spec[SPREAD] = spec.get(SPREAD) or [_indifferent()]


def use_pools(spec: Body, placement: Placement) -> None:
    """Let a pod use the nodes of the pools and no others, the first ones preferably."""
    pools = placement.node_pools
    if not pools:
        return
    affinity = _part(_part(spec, "affinity"), "nodeAffinity")
    # Of several terms one suffices. An empty one of a template holds nowhere, and must not become one of a whole pool.
    given = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms")
    terms = [term for term in given if any(term.values())] if given else [{}]
    affinity[REQUIRED] = {"nodeSelectorTerms": [_both(term, pool) for pool in pools for term in terms] or given}
    preferred = [
        {"weight": MOST_WEIGHT * (len(pools) - place) // (len(pools) - 1), "preference": _both({}, pool)}
        for place, pool in enumerate(pools[:-1], start=1)
    ]
    if preferred:
        affinity[PREFERRED] = [*(affinity.get(PREFERRED) or ()), *preferred]
    tolerations = [one.unpack() for pool in pools for one in pool.tolerations]
    if tolerations:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *tolerations]


def _even(placement: Placement, selector: Body) -> Body:
    return {
        "maxSkew": 1,
        "topologyKey": placement.key,
        "whenUnsatisfiable": placement.when_unsatisfiable or "ScheduleAnyway",
        "labelSelector": selector,
        "nodeTaintsPolicy": "Honor",  # a node that the pods do not tolerate would count as an empty place forever
    }


def _indifferent() -> Body:
    """A constraint that counts no pods, and keeps the scheduler's default ones away.

    Those spread pods that a Service selects, and outweigh other preferences the more pods a node has.
    """
    return {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"}


def _pack(spec: Body, placement: Placement, selector: Body) -> None:
    affinity = _part(_part(spec, "affinity"), "podAffinity")
    term: Body = {"topologyKey": placement.key, "labelSelector": selector}
    if placement.is_required:  # the scheduler lets the first pod of a group that selects itself go anywhere
        affinity[REQUIRED] = [*(affinity.get(REQUIRED) or ()), term]
    else:
        weighted = {"weight": MOST_WEIGHT, "podAffinityTerm": term}
        affinity[PREFERRED] = [*(affinity.get(PREFERRED) or ()), weighted]


def _both(term: Body, pool: NodePool) -> Body:
    """A node selector term that is the given one, within a pool."""
    labels = [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(pool.node_selector.items())]
    return {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), *labels]}


def _part(parent: Body, name: str) -> Body:
    """A field of an object, as an object of its own."""
    parent[name] = dict(parent.get(name) or {})
    part: Body = parent[name]
    return part
