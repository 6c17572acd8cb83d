"""Pools of nodes: what the administrator configures, and those that a job may use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from kubedl.api.spot import MOST_POOLS, Spot
from kubedl.api.training import GROUP
from kubedl.api.validation.spot import POOL_NAME
from kubedl.kube import codec
from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.kube.codec import RawObject
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import Record

LABEL = f"{GROUP}/pool"  # of pods: the pool that they were made for
MOST_CONFIGURED, MOST_LABELS, LONGEST_TEXT = 32, 16, 65_536
NAME, KEY, VALUE = POOL_NAME, r"^[A-Za-z0-9][-A-Za-z0-9_./]{0,316}$", r"^([A-Za-z0-9][-A-Za-z0-9_.]{0,62})?$"
_NAME = BoundedPattern(NAME, 63)


class PoolNotFoundError(Exception):
    """A job names a pool that the operator does not know."""


class Pool(Record, frozen=True, forbid_unknown_fields=True):
    """Nodes of one price and one risk."""

    name: Annotated[str, Meta(max_length=63, pattern=NAME)]
    node_selector: Annotated[
        Mapping[Annotated[str, Meta(pattern=KEY)], Annotated[str, Meta(pattern=VALUE)]],
        Meta(min_length=1, max_length=MOST_LABELS),
    ]
    tolerations: Annotated[tuple[RawObject, ...], Meta(max_length=MOST_LABELS)] = ()
    spot: bool = False  # its nodes may be taken at any time
    notice_seconds: Annotated[int, Meta(ge=0, le=86_400)] = 120  # before one is taken
    start_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 300  # from asking for a node until its pod runs


@dataclass(frozen=True)
class Pools:
    """The pools of one job, in its order."""

    spot: tuple[Pool, ...]
    on_demand: tuple[Pool, ...]

    @property
    def names(self) -> frozenset[str]:
        """All names."""
        return frozenset(pool.name for pool in (*self.spot, *self.on_demand))

    def is_on_demand(self, name: str) -> bool:
        """Return whether a pool of this name is one whose nodes stay."""
        return any(pool.name == name for pool in self.on_demand)

    def following(self, name: str) -> str:
        """Return the pool of the same sort that is tried after this one."""
        names = [pool.name for pool in (self.on_demand if self.is_on_demand(name) else self.spot)]
        return names[(names.index(name) + 1) % len(names)] if name in names else name


def parse_pools(text: str) -> tuple[Pool, ...]:
    """Read the pools of a flag: a JSON list. Raises ValueError."""
    if not text.strip():
        return ()
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"the list of pools has more than {LONGEST_TEXT} characters")
    try:
        found = codec.decode(text, tuple[Pool, ...])
    except codec.UNREADABLE as error:
        raise ValueError(f"not a JSON list of pools: {error}") from error
    names = [pool.name for pool in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"there are two pools {twice[0]}")
    if len(found) > MOST_CONFIGURED:
        raise ValueError(f"there are {len(found)} pools, and at most {MOST_CONFIGURED}")
    return found


def pools_of(spot: Spot, known: Sequence[Pool]) -> Pools:
    """Return the pools that a job names. Raises PoolNotFoundError."""
    by_name = {pool.name: pool for pool in known}
    if not known:
        raise PoolNotFoundError(
            "spec.spot needs pools of nodes: an administrator sets the operator's flag --pools (operator.pools of the "
            "chart)"
        )
    for name in spot.pools[:MOST_POOLS]:
        if name not in by_name:
            raise PoolNotFoundError(
                f"spec.spot names pool {name}, and the operator knows {', '.join(by_name)} (--pools)"
            )
    mine = [by_name[name] for name in spot.pools]
    return Pools(tuple(pool for pool in mine if pool.spot), tuple(pool for pool in mine if not pool.spot))


def pool_of(pod: Pod) -> str:
    """Return the name of the pool that a pod was made for; empty if it was made for none."""
    name = pod.metadata.labels.get(LABEL, "")
    return name if _NAME.fullmatch(name) else ""
