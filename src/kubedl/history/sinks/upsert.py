"""Upserts of many rows, in the fastest way that each database has.

A row is replaced by a newer state of the same object, and never by an older one. The same state reopens a row that was
closed as Missed: the object was listed after all. A batch has each object once.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC
from operator import itemgetter
from typing import Any

from sqlalchemy import JSON, Column, Dialect, Table, and_, func, literal_column, or_
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.history.observation import MISSED
from kubedl.history.tables import UtcDateTime
from kubedl.kube import codec

KEY = ("cluster", "uid", "created")
_POSTGRESQL: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
_MYSQL: Dialect = mysql.dialect()
READ_BY_THE_CONDITION = ("deletion", "resource_version")

Rows = Sequence[Mapping[str, Any]]
Upsert = Callable[[AsyncConnection, Rows], Awaitable[None]]


def upsert(table: Table, family: str) -> Upsert:
    """Return a function that upserts rows of a table."""
    if family == "postgresql":
        return _in_postgresql(table)
    if family == "mysql":
        return _in_mysql(table)
    statement = _sqlite_statement(table)

    async def execute(connection: AsyncConnection, rows: Rows) -> None:
        await connection.execute(statement, [dict(row) for row in rows])

    return execute


def _in_postgresql(table: Table) -> Upsert:
    """Send a batch as one array for each column: a third of the time of a statement for each row."""
    names = [column.name for column in observed_columns(table)]
    kinds = {column.name: column.type.compile(_POSTGRESQL) for column in observed_columns(table)}
    bodies = {name for name, kind in kinds.items() if kind == "JSONB"}
    arrays = ", ".join(f"${number}::{_element(kinds[name])}[]" for number, name in enumerate(names, 1))
    values = ", ".join(f"new.{name}::jsonb" if name in bodies else f"new.{name}" for name in names)
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in KEY)
    newer = f"excluded.resource_version > {table.name}.resource_version"
    if "deletion" in table.c:
        newer += (
            f" OR (excluded.resource_version = {table.name}.resource_version"
            f" AND {table.name}.deletion = '{MISSED}' AND excluded.deleted IS NULL)"
        )
    listed = ", ".join(names)
    statement = (
        f"INSERT INTO {table.name} ({listed}) SELECT {values} FROM unnest({arrays}) AS new({listed}) "  # noqa: S608
        f"ON CONFLICT ({', '.join(KEY)}) DO UPDATE SET {changes} WHERE {newer}"
    )

    async def execute(connection: AsyncConnection, rows: Rows) -> None:
        columns = tuple(
            [codec.encode(row[name]).decode() for row in rows] if name in bodies else [row[name] for row in rows]
            for name in names
        )
        await connection.exec_driver_sql(statement, columns)

    return execute


def observed_columns(table: Table) -> list[Column[Any]]:
    """Return the columns that observations have; the others keep their values."""
    return [column for column in table.c if not column.info.get("separate")]


def _element(kind: str) -> str:
    """Return the type of an array; arrays of texts are checked against their length when they are inserted."""
    return "text" if kind == "JSONB" or kind.startswith("VARCHAR") else kind


def _in_mysql(table: Table) -> Upsert:
    """Send a batch as one statement, with values that are ready: SQLAlchemy takes as long again to convert them."""
    columns = [column.name for column in observed_columns(table)]
    compiled = _mysql_statement(table).compile(dialect=_MYSQL, column_keys=columns)
    statement, pick = str(compiled), itemgetter(*(compiled.positiontup or ()))
    bodies = [name for name in columns if isinstance(table.c[name].type, JSON)]
    times = [name for name in columns if isinstance(table.c[name].type, UtcDateTime)]

    async def execute(connection: AsyncConnection, rows: Rows) -> None:
        for name in bodies:
            rows = [{**row, name: codec.encode(row[name]).decode()} for row in rows]
        await connection.exec_driver_sql(statement, [pick(_in_utc(row, times)) for row in rows])

    return execute


def _in_utc(row: Mapping[str, Any], times: Iterable[str]) -> Mapping[str, Any]:
    """Return the row with times in UTC, which MySQL stores without saying so. Nearly all are: none is copied then."""
    for name in times:
        value = row[name]
        if value is not None and value.tzinfo is not UTC:
            row = {**row, name: value.astimezone(UTC)}
    return row


def _mysql_statement(table: Table) -> mysql.Insert:
    statement = mysql.insert(table)
    new = statement.inserted
    newer = _newer(table, new)
    # MySQL assigns from left to right, so what the condition reads comes last.
    others = [column.name for column in observed_columns(table) if column.name not in (*KEY, *READ_BY_THE_CONDITION)]
    if "deletion" in table.c:
        others.append("deletion")
    values = [(name, func.if_(newer, new[name], table.c[name])) for name in others]
    version = func.greatest(new.resource_version, table.c.resource_version)
    return statement.on_duplicate_key_update([*values, ("resource_version", version)])


def _sqlite_statement(table: Table) -> sqlite.Insert:
    statement = sqlite.insert(table)
    new = statement.excluded
    values = {column.name: new[column.name] for column in observed_columns(table) if column.name not in KEY}
    return statement.on_conflict_do_update(index_elements=list(KEY), set_=values, where=_newer(table, new))


def _newer(table: Table, new: Any) -> Any:  # noqa: ANN401 - columns of a dialect
    newer = new.resource_version > table.c.resource_version
    if "deletion" not in table.c:
        return newer
    # No parameter: asyncmy makes one statement of a batch only if the part after the values has none.
    missed = table.c.deletion == literal_column(f"'{MISSED}'")
    return or_(newer, and_(new.resource_version == table.c.resource_version, missed, new.deleted.is_(None)))
