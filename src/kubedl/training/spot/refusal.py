"""Why a job cannot be on spot nodes as it asks: pools that nobody knows, or that its own templates exclude. Pure."""

from collections.abc import Iterator

from kubedl.api.placement import NodePool, Placement
from kubedl.api.replica_spec import ReplicaSpec
from kubedl.kube import codec
from kubedl.kube.codec import RawObject
from kubedl.training.job import Job
from kubedl.training.observed import Settings
from kubedl.training.placement.template_conflicts import conflict
from kubedl.training.placement.wish import Wish
from kubedl.training.spot.pools import Pool, PoolNotFoundError, Pools, pools_of
from kubedl.training.spot.terms import DateError, deadline_of
from kubedl.training.template import Toleration, tolerations

NOT_FOUND, INVALID, EXCLUDED = "PoolNotFound", "SpotInvalid", "PoolExcluded"

Reason = tuple[str, str]  # reason and message


def refusal(job: Job, settings: Settings) -> Reason | None:
    """Return why the job is refused, with what to do; None if it is not."""
    return next(_refusals(job, settings), None)


def _refusals(job: Job, settings: Settings) -> Iterator[Reason]:
    spec = job.spec
    if spec.spot is None:
        return
    if getattr(spec, "elastic_policy", None) is not None:
        yield INVALID, "spec.spot cannot be used with elasticPolicy: write the bounds as elastic, or remove spot"
    if spec.elastic is None:
        yield INVALID, "spec.spot is for elastic jobs: set elastic.minReplicas and elastic.maxReplicas"
        return
    try:
        pools = pools_of(spec.spot, settings.pools)
    except PoolNotFoundError as error:
        yield NOT_FOUND, str(error)
        return
    yield from _without_on_demand(job, pools)
    try:
        has_deadline = deadline_of(spec.spot, None) is not None or spec.spot.deadline_seconds is not None
    except DateError as error:
        yield INVALID, str(error)
        return
    if has_deadline and (spec.elastic.checkpoint is None or spec.spot.work is None):
        yield INVALID, "spec.spot: a deadline needs work.seconds and elastic.checkpoint"
    for role, given in spec.replica_specs.items():
        if message := excluded(role, given, (*pools.spot, *pools.on_demand)):
            yield EXCLUDED, message


def _without_on_demand(job: Job, pools: Pools) -> Iterator[Reason]:
    if pools.on_demand:
        return
    spot, why = job.spec.spot, ""
    if spot.deadline is not None or spot.deadline_seconds is not None:
        why = "a deadline"
    elif spot.min_on_demand:
        why = "minOnDemand"
    elif spot.max_wait_seconds is not None and spot.on_max_wait in (None, "OnDemand"):
        why = "onMaxWait OnDemand"
    if why:
        yield INVALID, f"spec.spot: {why} needs a pool of on-demand nodes, and all pools of the job are spot"


def excluded(role: str, given: ReplicaSpec, pools: tuple[Pool, ...]) -> str | None:
    """Return what in the template of a role keeps its pods out of any of these pools."""
    asked = tuple(NodePool(name=pool.name, node_selector=pool.node_selector) for pool in pools)
    found = conflict(role, given.template, Wish(Placement(node_pools=asked), (role.lower(),)), {})
    return found or _tolerated_otherwise(role, given.template, pools)


def _tolerated_otherwise(role: str, template: RawObject, pools: tuple[Pool, ...]) -> str | None:
    """Return whether the template tolerates a taint of a pool for another time: only one of both can hold."""
    own = tolerations(template)
    try:
        of_pools = {pool.name: [codec.decode(one.json, Toleration) for one in pool.tolerations] for pool in pools}
    except codec.UNREADABLE:
        return None
    for name, of_pool in of_pools.items():
        for one in of_pool:
            same = (other for other in own if _taint(other) == _taint(one))
            if any(one.toleration_seconds != other.toleration_seconds for other in same):
                return f"the template of {role} tolerates {one.key} for another time than the pool {name}: remove it"
    return None


def _taint(one: Toleration) -> tuple[str, str, str, str]:
    """Return what it tolerates."""
    return one.key or "", one.operator or "Equal", one.value or "", one.effect or ""
