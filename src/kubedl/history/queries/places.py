"""Where there are jobs, so that somebody can be asked who may see them."""

from collections.abc import AsyncIterator
from datetime import date

from sqlalchemy import Column, Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.history.queries.spend import BY_DAY
from kubedl.history.tables import jobs, receipt_lines

MOST_PLACES = 20_000


async def namespaces_of_jobs(connection: AsyncConnection, cluster: str) -> tuple[str, ...]:
    """Return the namespaces of all recorded jobs."""
    return await _values(connection, cluster, jobs.c.namespace)


async def kinds_of_jobs(connection: AsyncConnection, cluster: str) -> tuple[str, ...]:
    """Return the kinds of all recorded jobs."""
    return await _values(connection, cluster, jobs.c.kind)


async def places_of_receipts(
    connection: AsyncConnection, cluster: str, first: date, last: date
) -> tuple[tuple[str, str], ...]:
    """Return kinds and namespaces of jobs that used something from the first day to the last."""
    lines = receipt_lines.c
    query = (
        select(lines.kind, lines.namespace)
        .where(lines.cluster == cluster, lines.day >= first.isoformat(), lines.day <= last.isoformat())
        .distinct()
        .limit(MOST_PLACES)
        .with_hint(receipt_lines, BY_DAY, "mysql")
    )
    return tuple((row.kind, row.namespace) for row in await connection.execute(query))


async def _values(connection: AsyncConnection, cluster: str, column: Column[str]) -> tuple[str, ...]:
    """Return the values of a column, by one step in its index for each: DISTINCT would read the rows of all months."""
    smallest = select(func.min(column)).where(jobs.c.cluster == cluster)
    if connection.dialect.name == "mysql":
        # In a recursive query MariaDB reads the whole index for each step: only for a constant it looks it up.
        return tuple([value async for value in _steps(connection, smallest, column)])
    found = smallest.cte("found", recursive=True)
    [before] = found.columns
    following = smallest.where(column > before).scalar_subquery()
    found = found.union_all(select(following).where(before.is_not(None)))
    [value] = found.columns
    query = select(value).where(value.is_not(None)).limit(MOST_PLACES)
    return tuple(str(one) for one in (await connection.execute(query)).scalars())


async def _steps(connection: AsyncConnection, smallest: Select[str], column: Column[str]) -> AsyncIterator[str]:
    value = (await connection.execute(smallest)).scalar()
    for _ in range(MOST_PLACES):
        if value is None:
            return
        yield value
        value = (await connection.execute(smallest.where(column > value))).scalar()
