"""Which pool each replica belongs to. Replicas have ranks; the first one, which keeps the rendezvous, has rank 0. Pure.

A replica for which the scheduler has found no node changes its pool at once; one that it has not looked at yet may get
one where it is. One that trains leaves its node only if the choice allows it, after a checkpoint; back to spot they go
step by step, and no further while spot has no node for those that went before.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from msgspec import Struct

from kubedl.api.spot import MOST_POOLS
from kubedl.training.policies import index_ranges
from kubedl.training.policies.safe_time import later
from kubedl.training.spot.choosing import Choice, Mode
from kubedl.training.spot.pools import Pools

PATIENCE = timedelta(seconds=600)  # for a node of one pool, before the next pool of the same sort is tried

Assigned = tuple[str, ...]  # names of pools, by rank


class State(StrEnum):
    """How far a replica has come."""

    ABSENT = "absent"  # without a pod
    WAITING = "waiting"  # without a node
    STARTING = "starting"
    TRAINING = "training"
    DONE = "done"


TO_COME = (State.ABSENT, State.WAITING, State.STARTING)


class Placed(Struct, frozen=True):
    """One replica."""

    state: State
    since: datetime | None = None  # when its pod was made
    is_free: bool = False  # the scheduler has found no node for it, or it belongs to no pool yet


def read(pools: Mapping[str, str], size: int) -> tuple[str | None, ...]:
    """Return the pool of each rank as the status has it; None if it has none. The cost is bounded for any status."""
    found: dict[int, str] = {}
    for name, ranks in islice(pools.items(), MOST_POOLS):
        for rank in index_ranges.read(ranks):
            if rank < size:
                found.setdefault(rank, name)
    return tuple(found.get(rank) for rank in range(size))


def write(assigned: Assigned) -> dict[str, str]:
    """Return the pools as the status has them."""
    ranks: dict[str, list[int]] = {}
    for rank, name in enumerate(assigned):
        ranks.setdefault(name, []).append(rank)
    return {name: index_ranges.write(of_pool) for name, of_pool in sorted(ranks.items())}


def begin(known: Sequence[str | None], pools: Pools, least: int, mode: Mode) -> Assigned:
    """Return the pool of each rank; one that has none, or one that the job no longer names, gets the first one."""
    on_demand = pools.on_demand or pools.spot
    spot = (pools.spot or pools.on_demand) if mode is not Mode.LAST else on_demand
    return tuple(
        name if name is not None and name in pools.names else (on_demand if rank < least else spot)[0].name
        for rank, name in enumerate(known)
    )


def place(
    assigned: Assigned, seen: Sequence[Placed], choice: Choice, pools: Pools, *, min_size: int, least: int
) -> Assigned:
    """Return the pool of each rank by a choice."""
    if not pools.on_demand or not pools.spot:
        return assigned
    there = [rank for rank, name in enumerate(assigned) if pools.is_on_demand(name)]
    missing = choice.on_demand - len(there)
    if missing > 0:
        return _to_on_demand(assigned, seen, choice, pools, missing)
    if choice.mode is Mode.SPOT and missing < 0:
        movable = [rank for rank in reversed(there) if rank >= least][:-missing]
        return _to_spot(assigned, seen, choice, pools, movable, min_size)
    return assigned


def try_others(
    assigned: Assigned, known: Sequence[str | None], seen: Sequence[Placed], pools: Pools, now: datetime
) -> tuple[Assigned, datetime | None]:
    """Send replicas that found no node for long to the next pool of the same sort; returns when to look again, too.

    `known` are the pools of before: one that has just got another pool has not waited there yet.
    """
    new, looks = list(assigned), list[datetime]()
    for rank, one in enumerate(seen):
        following = pools.following(assigned[rank])
        has_another = following != assigned[rank] == known[rank]
        if one.state is not State.WAITING or one.since is None or not has_another:
            continue
        due = later(one.since, PATIENCE)
        if due <= now:
            new[rank] = following
        else:
            looks.append(due)
    return tuple(new), min(looks, default=None)


def _to_on_demand(assigned: Assigned, seen: Sequence[Placed], choice: Choice, pools: Pools, missing: int) -> Assigned:
    """The first ones without a node go; in the last mode all others too, at once, so that they start together."""
    spot = [rank for rank, name in enumerate(assigned) if not pools.is_on_demand(name)]
    going = [rank for rank in spot if seen[rank].is_free]
    if choice.mode is Mode.LAST:
        going = [rank for rank in spot if seen[rank].state in TO_COME]
        going += [rank for rank in spot if seen[rank].state is State.TRAINING and choice.may_move]
    return _with(assigned, going[:missing], pools.on_demand[0].name)


def _to_spot(
    assigned: Assigned, seen: Sequence[Placed], choice: Choice, pools: Pools, movable: list[int], min_size: int
) -> Assigned:
    first = pools.spot[0].name
    free = [rank for rank in movable if seen[rank].is_free]
    if free:
        return _with(assigned, free, first)
    spot = [rank for rank, name in enumerate(assigned) if not pools.is_on_demand(name)]
    on_nodes = sum(seen[rank].state is State.TRAINING for rank in spot)
    if not choice.may_move or any(seen[rank].state is not State.TRAINING for rank in spot):
        return assigned  # no spot node could be had for those that want one
    training = [rank for rank in movable if seen[rank].state is State.TRAINING]
    spare = sum(one.state is State.TRAINING for one in seen) - min_size
    # One tries whether there are spot nodes, then twice as many each time. If nobody can be spared, all stop anyway.
    number = min(max(on_nodes, 1), spare) if spare > 0 else len(training)
    return _with(assigned, training[:number], first)


def _with(assigned: Assigned, ranks: Sequence[int], name: str) -> Assigned:
    going = frozenset(ranks)
    return tuple(name if rank in going else before for rank, before in enumerate(assigned))
