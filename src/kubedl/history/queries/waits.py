"""How long jobs have waited for nodes, from their receipts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.history.queries.scope import Scope
from kubedl.history.tables import jobs, receipts

MOST_JOBS = 2_000  # the newest of a queue


@dataclass(frozen=True)
class Alike:
    """Which jobs are like each other: of one queue of a namespace, and of about the same size."""

    kinds: Mapping[str, frozenset[str] | None]  # what the caller may see
    namespace: str
    queue: str  # empty: in none
    least_gpus: int
    most_gpus: int
    created_from: datetime


async def waits(connection: AsyncConnection, cluster: str, alike: Alike) -> tuple[int, ...]:
    """Return the seconds until the first pod of such jobs had a node, of those that have ended, shortest first.

    Jobs that never had a node are left out: how long they would have waited is not known.
    """
    newest = (
        select(jobs.c.uid, jobs.c.gpus)
        .where(
            jobs.c.cluster == cluster,
            jobs.c.namespace == alike.namespace,
            jobs.c.queue == alike.queue,
            jobs.c.created >= alike.created_from,
            Scope(alike.kinds).condition(jobs.c.kind, jobs.c.namespace),
        )
        .order_by(jobs.c.created.desc(), jobs.c.uid.desc())
        .limit(MOST_JOBS)
        .subquery()
    )
    same = and_(receipts.c.cluster == cluster, receipts.c.uid == newest.c.uid)
    query = (
        select(receipts.c.waiting_seconds)
        .join_from(newest, receipts, same)
        .where(newest.c.gpus.between(alike.least_gpus, alike.most_gpus), receipts.c.running_seconds > 0)
    )
    return tuple(sorted(int(one) for one in (await connection.execute(query)).scalars()))
