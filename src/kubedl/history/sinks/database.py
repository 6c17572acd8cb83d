"""The database as a sink: every batch is one transaction, which begins by checking that this recorder may write.

The check is an UPDATE of the recorder's own row with its epoch and the schema in the condition. It holds the lock of
that row until the commit, so a recorder that was frozen and has been replaced cannot write when it wakes, and neither
can one whose database was migrated meanwhile.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Table, bindparam, case, func, insert, or_, select, text, update
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from kubedl.history import migrate, tables
from kubedl.history.engine import failures
from kubedl.history.observation import ENDED, LOST, MISSED, Change, Closing, Observation, RowKey
from kubedl.history.sink import Epoch, FencedError, RejectedError, SinkUnavailableError
from kubedl.history.sinks.upsert import upsert

SECONDS = 30.0  # of one transaction
PAGE = 1000


class DatabaseSink:
    """Writes to PostgreSQL, MySQL or SQLite."""

    name = "database"

    def __init__(
        self,
        engine: AsyncEngine,
        cluster: str,
        scope: str = "",
        written: Callable[[Sequence[Change]], None] = lambda _: None,
    ) -> None:
        """`scope` is the recorded namespace; empty: all. Recorders of different scopes do not fence each other.

        `written` is called with every batch after its commit.
        """
        self._engine, self._cluster, self._scope, self._written = engine, cluster, scope, written
        self._epoch: int | None = None
        self._revision = migrate.newest_revision()
        self._upserts = {
            name: upsert(table, engine.dialect.name)
            for name, table in tables.metadata.tables.items()
            if "resource_version" in table.c
        }

    async def claim(self, epoch: Epoch) -> None:
        """Take over; a recorder that held the lease earlier cannot write from now on."""
        async with transaction(self._engine) as connection:
            migrate.complain(await connection.run_sync(migrate.revision))
            self._epoch = await self._take(connection, epoch)

    async def write(self, batch: Sequence[Change]) -> None:
        """Write a batch in one transaction."""
        async with transaction(self._engine) as connection:
            await self._check(connection)
            for table, rows in self._rows(batch).items():
                await self._upserts[table](connection, rows)
            for table, closings in _closings(batch).items():
                await self._close_rows(connection, tables.metadata.tables[table], closings)
        self._written(batch)

    async def open_rows(
        self, table: str, kind: str, namespace: str
    ) -> AsyncIterator[Sequence[tuple[RowKey, datetime]]]:
        """Yield pages of rows whose objects were not seen being deleted."""
        columns = tables.metadata.tables[table].c
        query = select(columns.uid, columns.created).where(columns.cluster == self._cluster, columns.deleted.is_(None))
        if kind and "kind" in columns:
            query = query.where(columns.kind == kind)
        if namespace and "namespace" in columns:
            query = query.where(columns.namespace == namespace)
        query = query.order_by(columns.created, columns.uid).limit(PAGE)
        after = None
        while True:
            wanted = (
                query
                if after is None
                else query.where(
                    columns.created >= after.created, or_(columns.created > after.created, columns.uid > after.uid)
                )
            )
            async with transaction(self._engine) as connection:
                rows = (await connection.execute(wanted)).all()
            if rows:
                yield [(RowKey(table, row.uid), row.created) for row in rows]
            if len(rows) < PAGE:
                return
            after = rows[-1]

    async def close(self) -> None:
        """Close the connections."""
        await self._engine.dispose()

    async def _take(self, connection: AsyncConnection, epoch: Epoch) -> int:
        row, now = tables.recorders.c, datetime.now(UTC)
        ours = (row.cluster == self._cluster, row.scope == self._scope)
        known = (await connection.execute(select(tables.recorders).where(*ours).with_for_update())).first()
        values = {
            "lease_uid": epoch.lease_uid,
            "lease_transitions": epoch.transitions,
            "holder": epoch.holder[:253],
            "claimed": now,
            "written": now,
        }
        if known is None:
            number = 1
            await connection.execute(
                insert(tables.recorders).values(cluster=self._cluster, scope=self._scope, epoch=number, **values)
            )
            return number
        # Without a Lease, whoever starts last writes.
        if epoch.lease_uid and known.lease_uid == epoch.lease_uid and known.lease_transitions > epoch.transitions:
            raise FencedError(f"{known.holder} has taken over the lease of {self._cluster} since")
        number = int(known.epoch) + 1
        await connection.execute(update(tables.recorders).where(*ours).values(epoch=number, **values))
        return number

    async def _check(self, connection: AsyncConnection) -> None:
        """Raise unless this recorder is the last that has claimed, and the schema is the one that it knows."""
        row = tables.recorders.c
        permitted = (
            update(tables.recorders)
            .where(row.cluster == self._cluster, row.scope == self._scope, row.epoch == self._epoch)
            .where(text("EXISTS (SELECT 1 FROM alembic_version WHERE version_num = :revision)"))
            .values(written=datetime.now(UTC))
        )
        if (await connection.execute(permitted, {"revision": self._revision})).rowcount == 1:
            return
        found = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar()
        migrate.complain(found)
        raise FencedError(f"another recorder of {self._cluster} has taken over")

    def _rows(self, batch: Sequence[Change]) -> dict[str, list[dict[str, Any]]]:
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for change in batch:
            if isinstance(change, Observation):
                key = {"cluster": self._cluster, "uid": change.uid, "created": change.created}
                rows[change.table].append({**key, "resource_version": change.version, **change.values})
                if change.body is not None:
                    rows["job_bodies"].append({**key, "resource_version": change.version, "body": change.body})
        return rows

    async def _close_rows(self, connection: AsyncConnection, table: Table, closings: Iterable[Closing]) -> None:
        columns = table.c
        noticed = bindparam("noticed", type_=tables.UtcDateTime())
        values: dict[str, Any] = {"deleted": noticed, "deletion": MISSED}
        if "finished" in columns and table is not tables.objects:
            values["finished"] = func.coalesce(columns.finished, noticed)
        if table is tables.jobs:
            values["state"] = case(
                (or_(*(columns.state == state for state in sorted(ENDED))), columns.state), else_=LOST
            )
        statement = update(table).where(
            columns.cluster == self._cluster,
            columns.uid == bindparam("closed_uid"),
            columns.created == bindparam("closed_created"),
            columns.deleted.is_(None),
        )
        await connection.execute(
            statement.values(values),
            [
                {"closed_uid": closing.uid, "closed_created": closing.created, "noticed": closing.noticed}
                for closing in closings
            ],
        )


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Begin a transaction with a deadline; its failures are raised as those of a sink.

    Messages have the database's reason without the statement and its values.
    """
    try:
        async with asyncio.timeout(SECONDS), engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        failure = RejectedError if _is_rejection(error) else SinkUnavailableError
        raise failure(f"{type(error).__name__}: {error.orig}") from error
    except StatementError as error:  # a value that has no place in its column
        raise RejectedError(f"{type(error).__name__}: {error.orig}") from error
    except failures() as error:
        raise SinkUnavailableError(str(error) or type(error).__name__) from error


def _is_rejection(error: DBAPIError) -> bool:
    """Return whether the database will never accept these values. A full disk or a deadlock passes."""
    if isinstance(error, DataError | IntegrityError):
        return True
    # Classes 22 and 23 of PostgreSQL's codes. asyncpg also checks values itself.
    state, cause = str(getattr(error.orig, "sqlstate", "")), getattr(error.orig, "__cause__", None)
    return state.startswith(("22", "23")) or type(cause).__name__ == "DataError"


def _closings(batch: Sequence[Change]) -> Mapping[str, list[Closing]]:
    closings: dict[str, list[Closing]] = defaultdict(list)
    for change in batch:
        if isinstance(change, Closing):
            closings[change.table].append(change)
    return closings
