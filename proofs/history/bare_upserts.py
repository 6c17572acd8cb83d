"""Upserts as a short script would write them: the driver alone, one plain statement for each table, many rows at once.

No fencing, no comparison of versions, no rows to make: the least that keeps one row for each object.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import asyncmy
import asyncpg  # type: ignore[import-untyped]
from sqlalchemy import URL

from kubedl.history.observation import Observation
from kubedl.history.sinks.upsert import observed_columns
from kubedl.history.tables import metadata
from kubedl.history.writer import BATCH
from kubedl.kube import codec

KEY = ("cluster", "uid", "created")

Rows = dict[str, list[tuple[Any, ...]]]  # by table, in the order of its columns


def rows_of(observations: Sequence[Observation], cluster: str, family: str) -> Rows:
    """Return the rows, ready to be sent."""
    rows: Rows = {}
    for one in observations:
        key = {"cluster": cluster, "uid": one.uid, "created": one.created, "resource_version": one.version}
        made = {one.table: {**key, **one.values}}
        if one.body is not None:
            made["job_bodies"] = {**key, "body": codec.encode(one.body).decode()}
        for name, values in made.items():
            rows.setdefault(name, []).append(tuple(_ready(values[column], family) for column in _columns(name)))
    return rows


async def in_postgresql(url: URL, rows: Rows) -> None:
    """Write all rows with asyncpg."""
    connection = await asyncpg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False))
    try:
        for name, values in rows.items():
            columns = _columns(name)
            places = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
            changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in KEY)
            statement = f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({places}) "  # noqa: S608 - our tables
            statement += f"ON CONFLICT ({', '.join(KEY)}) DO UPDATE SET {changes}"
            for start in range(0, len(values), BATCH):
                async with connection.transaction():
                    await connection.executemany(statement, values[start : start + BATCH])
    finally:
        await connection.close()


async def in_mysql(url: URL, rows: Rows) -> None:
    """Write all rows with asyncmy, which makes one statement of a batch."""
    connection = await asyncmy.connect(
        host=url.host, port=url.port, user=url.username, password=url.password, database=url.database
    )
    try:
        for name, values in rows.items():
            columns = _columns(name)
            places = ", ".join("%s" for _ in columns)
            changes = ", ".join(f"`{column}` = VALUES(`{column}`)" for column in columns if column not in KEY)
            listed = ", ".join(f"`{column}`" for column in columns)
            statement = f"INSERT INTO {name} ({listed}) VALUES ({places}) ON DUPLICATE KEY UPDATE {changes}"  # noqa: S608
            for start in range(0, len(values), BATCH):
                async with connection.cursor() as cursor:
                    await cursor.executemany(statement, values[start : start + BATCH])
                await connection.commit()
    finally:
        connection.close()


SCRIPTS: dict[str, Callable[[URL, Rows], Awaitable[None]]] = {"postgresql": in_postgresql, "mysql": in_mysql}


def _columns(table: str) -> list[str]:
    return [column.name for column in observed_columns(metadata.tables[table])]


def _ready(value: Any, family: str) -> Any:  # noqa: ANN401 - of any column
    if isinstance(value, datetime) and family == "mysql":
        return value.astimezone(UTC).replace(tzinfo=None)
    return value
