"""Receipts, and what teams have spent."""

from collections.abc import Sequence
from datetime import date, timedelta

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.history.queries.answers import ReceiptLineRecord, ReceiptRecord, SpendRow
from kubedl.history.queries.jobs import answers
from kubedl.history.tables import receipt_lines, receipts

LONGEST_RANGE = timedelta(days=366)
MOST_GROUPS = 20_000
GROUPS = {
    "team": receipt_lines.c.namespace,
    "user": receipt_lines.c.user_name,
    "day": receipt_lines.c.day,
    "pool": receipt_lines.c.pool,
}
SUMS = ("cpu_seconds", "memory_gib_seconds", "gpu_seconds", "cost_micros")


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
) -> tuple[SpendRow, ...]:
    """Return what was used from the first day to the last, both included. Amounts of two currencies are not added.

    Days are those of use, in UTC. Jobs that have not ended are not included.
    """
    if last - first > LONGEST_RANGE:
        raise ValueError(f"the range is longer than {LONGEST_RANGE.days} days")
    if not by or any(name not in GROUPS for name in by):
        raise ValueError(f"group by some of {', '.join(GROUPS)}")
    lines = receipt_lines.c
    columns = [GROUPS[name].label(f"group_{name}") for name in by]
    query = (
        select(*columns, lines.currency, *(func.sum(lines[name]).label(name) for name in SUMS))
        .where(lines.cluster == cluster, lines.day >= first.isoformat(), lines.day <= last.isoformat())
        .group_by(*columns, lines.currency)
        .order_by(*columns, lines.currency)
        .limit(MOST_GROUPS)
    )
    if namespaces is not None:
        query = query.where(lines.namespace.in_(list(namespaces)))
    return tuple(
        SpendRow(
            group=tuple(str(value) for value in row[: len(by)]),
            currency=row.currency,
            **{name: int(getattr(row, name)) for name in SUMS},
        )
        for row in await connection.execute(query)
    )
