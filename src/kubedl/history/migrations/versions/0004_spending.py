"""Lines of receipts with kind and queue, and receipts by their end: spending is added up without joining the two."""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SPENT = ("cluster", "day", "namespace", "kind", "user_name", "queue", "currency")
USED = ("cpu_seconds", "memory_gib_seconds", "gpu_seconds", "cost_micros")
SECONDS = ("running_seconds", "waiting_seconds", "restarted_seconds", "lost_seconds")


def upgrade() -> None:
    """Add what is missing, and fill it by days: MySQL keeps the days that are done when it is interrupted."""
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("receipt_lines")}
    for name, length in (("kind", 63), ("queue", 253)):
        if name not in there:
            op.add_column("receipt_lines", sa.Column(name, sa.String(length), nullable=False, server_default=""))
    for statement in _filled():
        op.execute(statement)
    _index("receipt_lines_by_day", "receipt_lines", [*SPENT, *USED])
    _index("receipts_by_finished", "receipts", ["cluster", "finished", "kind", "namespace", *SECONDS])


def _index(name: str, table: str, columns: list[str]) -> None:
    there = {index["name"]: index["column_names"] for index in sa.inspect(op.get_bind()).get_indexes(table)}
    if there.get(name) != columns:
        if name in there:
            op.drop_index(name, table)
        op.create_index(name, table, columns)


def _filled() -> Iterator[sa.Update]:
    names = ("cluster", "uid", "kind", "queue")
    lines = sa.table("receipt_lines", *map(sa.column, (*names, "day")))
    receipts = sa.table("receipts", *map(sa.column, names))
    days = op.get_bind().execute(sa.select(lines.c.cluster, lines.c.day).distinct()).all()
    for cluster, day in days:
        yield (
            sa.update(lines)
            .where(lines.c.cluster == cluster, lines.c.day == day, lines.c.kind == "")
            .where(receipts.c.cluster == lines.c.cluster, receipts.c.uid == lines.c.uid)
            .values({lines.c.kind: receipts.c.kind, lines.c.queue: receipts.c.queue})
        )
