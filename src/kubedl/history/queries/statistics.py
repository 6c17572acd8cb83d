"""Numbers of jobs by user, day, state and so on, and the jobs that run now."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.history.queries.answers import JobSummary, RunningJob, StatisticsRow
from kubedl.history.queries.jobs import answers
from kubedl.history.tables import jobs, nodes

LONGEST_RANGE = timedelta(days=366)
MOST_GROUPS = 10_000
MOST_RUNNING = 1000
RUNNING = ("Running", "Restarting")
GROUPS: dict[str, ColumnElement[Any]] = {
    "user": jobs.c.user_name,
    "namespace": jobs.c.namespace,
    "kind": jobs.c.kind,
    "queue": jobs.c.queue,
    "state": jobs.c.state,
    "day": func.date(jobs.c.created),  # in UTC: connections have no other time zone
}


async def statistics(
    connection: AsyncConnection,
    cluster: str,
    by: Sequence[str],
    created_from: datetime,
    created_before: datetime,
    namespaces: Sequence[str] | None = None,
) -> tuple[StatisticsRow, ...]:
    """Return the number of jobs created in a range, by GROUPS, largest first. Raises ValueError for a long range."""
    if created_before - created_from > LONGEST_RANGE:
        raise ValueError(f"the range is longer than {LONGEST_RANGE.days} days")
    if not by or any(name not in GROUPS for name in by):
        raise ValueError(f"group by some of {', '.join(GROUPS)}")
    columns = [GROUPS[name].label(f"group_{name}") for name in by]
    number = func.count().label("jobs")
    query = (
        select(*columns, number, func.sum(jobs.c.gpus).label("gpus"))
        .where(jobs.c.cluster == cluster, jobs.c.created >= created_from, jobs.c.created < created_before)
        .group_by(*columns)
        .order_by(number.desc(), *columns)
        .limit(MOST_GROUPS)
        # MariaDB prefers an index in the order of the groups, and reads the rows of all months then.
        .with_hint(jobs, "USE INDEX (jobs_by_created)", "mysql")
    )
    if namespaces is not None:
        query = query.where(jobs.c.namespace.in_(list(namespaces)))
    return tuple(
        StatisticsRow(group=tuple(str(value) for value in row[: len(by)]), jobs=int(row.jobs), gpus=int(row.gpus or 0))
        for row in await connection.execute(query)
    )


async def running(
    connection: AsyncConnection, cluster: str, namespaces: Sequence[str] | None = None
) -> tuple[RunningJob, ...]:
    """Return the jobs that run, most GPUs first, with their share of the cluster."""
    query = select(jobs).where(jobs.c.cluster == cluster, jobs.c.state.in_(RUNNING), jobs.c.deleted.is_(None))
    if namespaces is not None:
        query = query.where(jobs.c.namespace.in_(list(namespaces)))
    ordered = query.order_by(jobs.c.gpus.desc(), jobs.c.created.desc(), jobs.c.uid).limit(MOST_RUNNING)
    found = answers((await connection.execute(ordered)).all(), JobSummary)
    offered = select(func.sum(nodes.c.gpus)).where(nodes.c.cluster == cluster, nodes.c.deleted.is_(None))
    total = int((await connection.execute(offered)).scalar() or 0)
    return tuple(RunningJob(job=job, share=job.gpus / total if total else None) for job in found)
