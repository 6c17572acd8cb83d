"""What is seen of a job on spot nodes: how far each replica has come, who waits for a node, and a situation to judge.

Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from kubedl.api.elastic import ElasticStatus, Reclaim
from kubedl.api.spot import SpotProgress
from kubedl.kube.types.core import Pod
from kubedl.training import replica_status
from kubedl.training.elastic.pace import measured_pace, p95
from kubedl.training.elastic.terms import Situation as Seen
from kubedl.training.elastic.terms import Terms
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.spot.assignment import TO_COME, Assigned, Placed, State
from kubedl.training.spot.pools import Pools, pool_of
from kubedl.training.spot.terms import seconds_of, smallest_size

IDLE = (State.ABSENT, State.WAITING)
UNSCHEDULABLE = "Unschedulable"  # the scheduler's reason; others are about gates

Replicas = Sequence[ObservedReplica]


@dataclass(frozen=True)
class Scene:
    """The replicas of a job, by rank."""

    replicas: tuple[ObservedReplica, ...]
    placed: tuple[Placed, ...]
    min_size: int
    without_node: tuple[int, ...]  # ranks: the scheduler has found no node of a pool of the job

    @property
    def size(self) -> int:
        """All of them."""
        return len(self.placed)

    @property
    def running(self) -> int:
        """How many run."""
        return sum(one.state is State.TRAINING for one in self.placed)

    @property
    def trains(self) -> bool:
        """Whether those that run are enough, and the first one is among them: it keeps the rendezvous."""
        return bool(self.placed) and self.placed[0].state is State.TRAINING and self.running >= self.min_size

    @property
    def waits_for_nodes(self) -> bool:
        """Whether it does not train because of missing nodes: even if all others ran, they would be too few."""
        too_few = self.size - len(self.without_node) < self.min_size
        return not self.trains and bool(self.without_node) and (too_few or 0 in self.without_node)


def scene(observed: Observed, replicas: Replicas, pools: Pools, known: Sequence[str | None]) -> Scene:
    """Look at the replicas of a job; `known` are the pools that they belong to."""
    waiting = frozenset(
        rank for rank, seen in enumerate(replicas) if seen.current is not None and _has_no_node(seen.current, pools)
    )
    placed = tuple(
        msgspec.structs.replace(one, is_free=rank in waiting or (one.state in IDLE and name not in pools.names))
        for rank, (one, name) in enumerate(zip(map(_placed, replicas), known, strict=True))
    )
    least = smallest_size(observed.job, observed.kind.elastic_role)
    return Scene(tuple(replicas), placed, least, tuple(sorted(waiting)))


def trains(observed: Observed, replicas: Replicas) -> bool:
    """Return whether a job on spot nodes trains, with all of its replicas or some."""
    placed = [_placed(seen).state for seen in replicas]
    enough = smallest_size(observed.job, observed.kind.elastic_role)
    return bool(placed) and placed[0] is State.TRAINING and placed.count(State.TRAINING) >= enough


def _placed(seen: ObservedReplica) -> Placed:
    pod = seen.current
    if seen.succeeded:
        return Placed(State.DONE)
    if pod is None or pod.status.phase in ENDED or pod.metadata.deletion_timestamp is not None:
        return Placed(State.ABSENT)
    if replica_status.is_running(pod):
        return Placed(State.TRAINING, pod.metadata.creation_timestamp)
    return Placed(State.STARTING if pod.spec.node_name else State.WAITING, pod.metadata.creation_timestamp)


def _has_no_node(pod: Pod, pools: Pools) -> bool:
    """Return whether the scheduler looked for a node of a pool of the job, and found none."""
    if pod.spec.node_name or pod.metadata.deletion_timestamp is not None or pod.status.phase in ENDED:
        return False
    condition = pod.condition("PodScheduled")
    is_refused = condition is not None and condition.status == "False" and condition.reason == UNSCHEDULABLE
    return is_refused and pool_of(pod) in pools.names


@dataclass(frozen=True)
class Memory:
    """What is remembered of a job."""

    progress: SpotProgress
    is_known: bool  # whether the program has said how far it is
    elastic: ElasticStatus
    waited: int | None  # seconds without nodes; None if it does not wait for any


def situation(terms: Terms, scene: Scene, assigned: Assigned, pools: Pools, memory: Memory, now: datetime) -> Seen:
    """Return what the deadline policy has to know."""
    progress = memory.progress
    at = seconds_of(now)
    on_demand = [pools.is_on_demand(name) for name in _pools(scene, assigned)]
    states = [(one.state, is_there) for one, is_there in zip(scene.placed, on_demand, strict=True)]
    coming = [is_there for one, is_there in zip(scene.placed, on_demand, strict=True) if one.state in TO_COME]
    # Those that the scheduler has not looked at may get a node of the pool where they were.
    refused = sum(one.is_free and not is_there for one, is_there in zip(scene.placed, on_demand, strict=True))
    left = [record for record in memory.elastic.reclaims if record.node and record.left_at is not None]
    return Seen(
        now=at,
        durable=float(progress.durable_seconds),
        progress=float(progress.seconds) if memory.is_known else None,
        training=scene.running if scene.trains else 0,
        spot_members=states.count((State.TRAINING, False)),
        spot_starting=coming.count(False) - refused,
        on_demand_members=states.count((State.TRAINING, True)),
        on_demand_starting=coming.count(True),
        on_demand_ready_at=at + terms.cold_start,
        checkpoint=p95([_took(record) for record in memory.elastic.reclaims if record.confirmed_at is not None]),
        measured_pace=measured_pace(progress.gained, progress.trained),
        notices_trusted=progress.untrusted_since is None and (not left or left[-1].confirmed_at is not None),
        waiting_since=at - memory.waited if memory.waited is not None else None,
    )


def _pools(scene: Scene, assigned: Assigned) -> list[str]:
    """Return the pool of each replica: that of its pod as long as it has a node, whatever it belongs to by now."""
    on_nodes = (State.TRAINING, State.STARTING)
    return [
        (pool_of(seen.current) if one.state in on_nodes and seen.current is not None else "") or name
        for seen, one, name in zip(scene.replicas, scene.placed, assigned, strict=True)
    ]


def _took(record: Reclaim) -> int:
    if record.confirmed_at is None or record.requested_at is None:
        return 0
    return max(int((record.confirmed_at - record.requested_at).total_seconds()), 0)
