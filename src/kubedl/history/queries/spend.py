"""Receipts, and what teams have spent."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import ColumnElement, case, func, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.history.queries.answers import ReceiptLineRecord, ReceiptRecord, SpendRow, WasteRow
from kubedl.history.queries.jobs import answers
from kubedl.history.queries.scope import Scope
from kubedl.history.tables import USED, receipt_lines, receipts

LONGEST_RANGE = timedelta(days=366)
MOST_GROUPS = 20_000
PRICED, UNPRICED = "priced", "unpriced"
GROUPS: dict[str, ColumnElement[Any]] = {
    "team": receipt_lines.c.namespace,
    "user": receipt_lines.c.user_name,
    "queue": receipt_lines.c.queue,
    "day": receipt_lines.c.day,
    "pool": receipt_lines.c.pool,
    # Whether the price book had a price for what was used. Literals, because PostgreSQL compares groups by their text.
    "priced": case(
        (receipt_lines.c.cost_micros > literal_column("0"), literal_column(f"'{PRICED}'")),
        else_=literal_column(f"'{UNPRICED}'"),
    ),
}
# MariaDB takes the key for as good, because both begin with the cluster, and reads the rows of all days then.
BY_DAY = "USE INDEX (receipt_lines_by_day)"
WASTE = ("waiting_seconds", "restarted_seconds", "lost_seconds")


async def get_receipt(connection: AsyncConnection, cluster: str, uid: str) -> ReceiptRecord | None:
    """Return the receipt of a job, also long after the job."""
    row = (
        await connection.execute(select(receipts).where(receipts.c.cluster == cluster, receipts.c.uid == uid))
    ).first()
    return answers([row], ReceiptRecord)[0] if row is not None else None


async def receipt_parts(connection: AsyncConnection, cluster: str, uid: str) -> tuple[ReceiptLineRecord, ...]:
    """Return the lines of a receipt, by day and pool."""
    columns = receipt_lines.c
    query = select(receipt_lines).where(columns.cluster == cluster, columns.uid == uid)
    rows = (await connection.execute(query.order_by(columns.day, columns.pool, columns.spot))).all()
    return answers(rows, ReceiptLineRecord)


async def spend(
    connection: AsyncConnection,
    cluster: str,
    by: Sequence[str],
    first: date,
    last: date,
    namespaces: Sequence[str] | None = None,
    scope: Scope | None = None,
) -> tuple[SpendRow, ...]:
    """Return what was used from the first day to the last, both included. Amounts of two currencies are not added.

    Days are those of use, in UTC. Jobs that have not ended are not included.
    """
    if not by or any(name not in GROUPS for name in by):
        raise ValueError(f"group by some of {', '.join(GROUPS)}")
    lines = receipt_lines.c
    columns = [GROUPS[name].label(f"group_{name}") for name in by]
    query = (
        select(*columns, lines.currency, *(func.sum(lines[name]).label(name) for name in USED))
        .where(*_used(cluster, first, last, namespaces))
        .group_by(*columns, lines.currency)
        .order_by(*columns, lines.currency)
        .limit(MOST_GROUPS)
        .with_hint(receipt_lines, BY_DAY, "mysql")
    )
    if scope is not None:
        query = query.where(scope.condition(lines.kind, lines.namespace))
    return tuple(
        SpendRow(
            group=tuple(str(value) for value in row[: len(by)]),
            currency=row.currency,
            **{name: int(getattr(row, name)) for name in USED},
        )
        for row in await connection.execute(query)
    )


async def waste(
    connection: AsyncConnection,
    cluster: str,
    first: date,
    last: date,
    namespaces: Sequence[str] | None = None,
    scope: Scope | None = None,
) -> tuple[WasteRow, ...]:
    """Return by team how long jobs waited and what of their pods' time was lost, of jobs that ended in a range of days.

    Each counts as a whole on the day on which it ended, so it is in one range of two that follow each other. Jobs that
    never had a node are left out.
    """
    _check(first, last)
    columns, number = receipts.c, func.count().label("jobs")
    query = (
        select(columns.namespace, number, *(func.sum(columns[name]).label(name) for name in WASTE))
        .where(columns.cluster == cluster, columns.finished >= _midnight(first))
        .where(columns.finished < _midnight(last + timedelta(days=1)), columns.running_seconds > 0)
        .group_by(columns.namespace)
        .order_by(columns.namespace)
        .limit(MOST_GROUPS)
    )
    if namespaces is not None:
        query = query.where(columns.namespace.in_(list(namespaces)))
    if scope is not None:
        query = query.where(scope.condition(receipts.c.kind, receipts.c.namespace))
    return tuple(
        WasteRow(team=row.namespace, jobs=int(row.jobs), **{name: int(getattr(row, name)) for name in WASTE})
        for row in await connection.execute(query)
    )


def _used(cluster: str, first: date, last: date, namespaces: Sequence[str] | None) -> list[ColumnElement[bool]]:
    """Return the conditions of lines in a range of days. Raises ValueError if it is too long."""
    _check(first, last)
    lines = receipt_lines.c
    found = [lines.cluster == cluster, lines.day >= first.isoformat(), lines.day <= last.isoformat()]
    return found if namespaces is None else [*found, lines.namespace.in_(list(namespaces))]


def _check(first: date, last: date) -> None:
    if last - first > LONGEST_RANGE:
        raise ValueError(f"the range is longer than {LONGEST_RANGE.days} days")


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
