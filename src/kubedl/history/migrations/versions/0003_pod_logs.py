"""Logs of pods: where they are stored."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is missing. The columns may be null, so no database rewrites its rows."""
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("pods")}
    for column in (
        sa.Column("log_location", sa.String(1200)),
        sa.Column("log_restart", sa.Integer),
        sa.Column("log_cut", sa.Boolean),
    ):
        if column.name not in there:
            op.add_column("pods", column)
