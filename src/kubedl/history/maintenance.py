"""Partitions ahead of time, and retention: rows of past months are dropped with their partition.

A month is dropped when none of its objects exists any more, nor a job whose pods it has (its receipt needs them), and
when it has no rows of another cluster, whose retention is its own. Otherwise, and in SQLite, which has no partitions,
rows are deleted in small transactions instead.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.history import partitions, tables
from kubedl.history.engine import failures

EVERY = 6 * 3600.0  # seconds
AFTER_FAILURE = 60.0
CHUNK = 1000  # rows of one transaction
LONGEST_RETENTION = 36_500  # days; what is kept for longer is kept

log = structlog.get_logger()


class Maintenance:
    """Runs beside the recorder, while it leads."""

    def __init__(self, engine: AsyncEngine, cluster: str, retention_days: int = 0) -> None:
        self._engine, self._cluster = engine, cluster
        self._retention = timedelta(days=retention_days) if 0 < retention_days <= LONGEST_RETENTION else None

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            try:
                await self.once(datetime.now(UTC))
            except failures() as error:
                log.warning("maintenance failed", error=type(error).__name__)
                await asyncio.sleep(AFTER_FAILURE)
            else:
                await asyncio.sleep(EVERY)

    async def once(self, now: datetime) -> None:
        """Create the partitions of the coming months; delete what is older than the retention."""
        async with self._engine.connect() as connection:
            await connection.run_sync(partitions.create_missing, now)
        if self._retention is None:
            return
        horizon = now - self._retention
        for table in tables.MONTHLY:
            async with self._engine.connect() as connection:
                await connection.run_sync(_drop_months, table, self._cluster, horizon)
            await self._delete_rows(table, horizon)

    async def _delete_rows(self, table: str, horizon: datetime) -> None:
        deleted = CHUNK
        while deleted == CHUNK:
            async with self._engine.begin() as connection:
                deleted = await connection.run_sync(_delete_chunk, table, self._cluster, horizon)


def _drop_months(connection: Connection, table: str, cluster: str, horizon: datetime) -> None:
    for name in partitions.existing(connection, table):
        month = partitions.month_of(name)
        end = partitions.following(month)
        if end > horizon or _has_open_rows(connection, table, month, end):
            continue
        if not _has_rows_of_others(connection, table, cluster, month, end):
            partitions.drop(connection, table, name)
            connection.commit()
            log.info("dropped a month", table=table, month=name)


def _has_open_rows(connection: Connection, table: str, first: datetime, end: datetime) -> bool:
    """Return whether an object of this month still exists, whose row would come back with the next list, or its job."""
    columns = (tables.jobs if table == "job_bodies" else tables.metadata.tables[table]).c
    if "deleted" not in columns:
        return False
    found = [select(columns.uid).where(columns.created >= first, columns.created < end, columns.deleted.is_(None))]
    if table == "pods":
        theirs = select(columns.uid).where(*_of_job(columns), columns.created >= first, columns.created < end)
        found.append(select(tables.jobs.c.uid).where(tables.jobs.c.deleted.is_(None), theirs.exists()))
    return any(connection.execute(query.limit(1)).first() is not None for query in found)


def _of_job(pod: Any) -> tuple[ColumnElement[bool], ...]:  # noqa: ANN401 - columns
    return pod.cluster == tables.jobs.c.cluster, pod.job_uid == tables.jobs.c.uid


def _has_rows_of_others(connection: Connection, table: str, cluster: str, first: datetime, end: datetime) -> bool:
    columns = tables.metadata.tables[table].c
    found = select(columns.uid).where(columns.created >= first, columns.created < end, columns.cluster != cluster)
    return connection.execute(found.limit(1)).first() is not None


def _delete_chunk(connection: Connection, table: str, cluster: str, horizon: datetime) -> int:
    """Delete old rows of objects of a cluster that no longer exist; returns how many."""
    found = tables.metadata.tables[table]
    old = select(found.c.cluster, found.c.uid, found.c.created)
    old = old.where(found.c.cluster == cluster, found.c.created < horizon)
    if "deleted" in found.c:
        old = old.where(found.c.deleted.is_not(None))
        if table == "pods":
            old = old.where(
                ~select(tables.jobs.c.uid).where(*_of_job(found.c), tables.jobs.c.deleted.is_(None)).exists()
            )
    elif table == "job_bodies":
        job = tables.jobs.c
        same = (job.cluster == found.c.cluster, job.uid == found.c.uid, job.created == found.c.created)
        old = old.where(~select(job.uid).where(*same, job.deleted.is_(None)).exists())
    keys = [tuple(row) for row in connection.execute(old.limit(CHUNK))]
    if keys:
        key = tuple_(found.c.cluster, found.c.uid, found.c.created)
        connection.execute(delete(found).where(key.in_(keys)))
    return len(keys)
