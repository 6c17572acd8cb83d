"""Receipts: price_books, receipts, receipt_lines."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from kubedl.history.tables import UtcDateTime, body_type, options

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create what is missing."""
    _create(
        "price_books",
        _text("cluster", 63),
        _text("version", 16),
        sa.Column("first_used", UtcDateTime, nullable=False),
        sa.Column("body", body_type(), nullable=False),
        key=("cluster", "version"),
    )
    _create(
        "receipts",
        _text("cluster", 63),
        _text("uid", 36),
        sa.Column("created", UtcDateTime, nullable=False),
        _text("namespace", 63),
        _text("kind", 63),
        _text("name", 253),
        _text("user_name", 253),
        _text("queue", 253),
        _text("state", 16),
        sa.Column("finished", UtcDateTime),
        *(_number(name) for name in ("waiting_seconds", "running_seconds", "restarted_seconds", "lost_seconds")),
        *(_number(name) for name in ("cpu_seconds", "memory_gib_seconds", "gpu_seconds", "cost_micros")),
        _text("currency", 16),
        _text("price_book", 16),
        sa.Column("computed", UtcDateTime, nullable=False),
        key=("cluster", "uid"),
    )
    _create(
        "receipt_lines",
        _text("cluster", 63),
        _text("uid", 36),
        _text("day", 10),
        _text("pool", 253),
        sa.Column("spot", sa.Boolean, nullable=False),
        _text("namespace", 63),
        _text("user_name", 253),
        _text("currency", 16),
        *(_number(name) for name in ("cpu_seconds", "memory_gib_seconds", "gpu_seconds", "cost_micros")),
        key=("cluster", "uid", "day", "pool", "spot"),
    )
    there = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes("receipt_lines")}
    if "receipt_lines_by_day" not in there:
        op.create_index("receipt_lines_by_day", "receipt_lines", ["cluster", "day", "namespace"])


def _create(name: str, *columns: "sa.Column[Any]", key: tuple[str, ...]) -> None:
    op.create_table(name, *columns, sa.PrimaryKeyConstraint(*key), if_not_exists=True, **options())


# A migration never changes, so it has its own declarations of columns.
def _text(name: str, length: int) -> "sa.Column[Any]":
    return sa.Column(name, sa.String(length), nullable=False)


def _number(name: str) -> "sa.Column[Any]":
    return sa.Column(name, sa.BigInteger, nullable=False)
