"""Replicas that train on a node of another pool than the status says: they leave it after a checkpoint. Pure."""

from collections.abc import Iterable

from kubedl.api.elastic import Reclaim
from kubedl.training import replica_status
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.spot import assignment
from kubedl.training.spot.pools import pool_of

POOL = "Pool"  # the source of their record, in place of a notice


def is_move(record: Reclaim) -> bool:
    """Return whether a record is about a move to another pool; a notice, which is about a node, may have any name."""
    return record.source == POOL and not record.node


def moving(observed: Observed, replicas: Iterable[ObservedReplica]) -> tuple[ObservedReplica, ...]:
    """Return the replicas that leave for another pool; those that do not train need no checkpoint."""
    job, status = observed.job, observed.job.resource.status.spot
    if job.spec.spot is None or status is None:
        return ()
    assigned = assignment.read(status.pools, job.size)
    return tuple(
        seen
        for seen, name in zip(replicas, assigned, strict=False)
        if name is not None
        and not seen.succeeded
        and seen.current is not None
        and replica_status.is_running(seen.current)
        and pool_of(seen.current) not in ("", name)
    )
