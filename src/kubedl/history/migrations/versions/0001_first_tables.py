"""First tables: recorders, jobs, job_bodies, objects, pods, events, nodes."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from kubedl.history.tables import UtcDateTime, body_type, options

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = ("cluster", "uid", "created")


def upgrade() -> None:
    """Create what is missing: on MySQL an interrupted migration leaves some of the tables."""
    _recorders()
    _jobs()
    _objects()
    _pods()
    _events()
    _nodes()


def _recorders() -> None:
    _create(
        "recorders",
        _text("cluster", 63),
        _text("scope", 63),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        _text("lease_uid", 36),
        sa.Column("lease_transitions", sa.BigInteger, nullable=False),
        _text("holder", 253),
        sa.Column("claimed", UtcDateTime, nullable=False),
        sa.Column("written", UtcDateTime, nullable=False),
        key=("cluster", "scope"),
    )


def _jobs() -> None:
    _create(
        "jobs",
        *_identity(),
        _text("namespace", 63),
        _text("kind", 63),
        _text("name", 253),
        _text("user_name", 253),
        _text("user_source", 16),
        _text("client", 128),
        _text("queue", 253),
        _text("state", 16),
        _text("reason", 128),
        sa.Column("started", UtcDateTime),
        sa.Column("finished", UtcDateTime),
        sa.Column("gpus", sa.BigInteger, nullable=False),
        sa.Column("restarts", sa.Integer, nullable=False),
        _text("model_version", 253),
        _text("parent_uid", 36),
        *_lifetime(),
        monthly=True,
        indexes={
            **{
                f"jobs_by_{column}": ("cluster", column, "created", "uid")
                for column in ("namespace", "kind", "name", "user_name", "queue", "state")
            },
            "jobs_by_created": (
                *("cluster", "created", "uid"),
                *("namespace", "user_name", "kind", "queue", "state", "gpus"),
            ),
            "jobs_by_deleted": ("cluster", "deleted", "created", "uid"),
        },
    )
    _create(
        "job_bodies",
        *_identity(),
        sa.Column("body", body_type(), nullable=False),
        sa.Column("resource_version", sa.BigInteger, nullable=False),
        monthly=True,
    )


def _objects() -> None:
    _create(
        "objects",
        *_identity(),
        _text("namespace", 63),
        _text("kind", 63),
        _text("name", 253),
        _text("user_name", 253),
        _text("user_source", 16),
        _text("client", 128),
        _text("state", 32),
        _text("reason", 128),
        sa.Column("finished", UtcDateTime),
        _text("parent_uid", 36),
        sa.Column("body", body_type(), nullable=False),
        *_lifetime(),
        indexes={
            "objects_by_name": ("cluster", "namespace", "kind", "name", "created"),
            "objects_by_created": ("cluster", "kind", "created", "uid"),
            "objects_by_parent": ("cluster", "parent_uid"),
            "objects_by_deleted": ("cluster", "deleted", "created", "uid"),
        },
    )


def _pods() -> None:
    _create(
        "pods",
        *_identity(),
        _text("namespace", 63),
        _text("name", 253),
        _text("job_uid", 36),
        _text("role", 63),
        sa.Column("replica_index", sa.Integer, nullable=False),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        _text("phase", 16),
        _text("reason", 128),
        sa.Column("exit_code", sa.Integer),
        _text("node", 253),
        sa.Column("scheduled", UtcDateTime),
        sa.Column("started", UtcDateTime),
        sa.Column("finished", UtcDateTime),
        sa.Column("restarts", sa.Integer, nullable=False),
        sa.Column("disrupted", sa.Boolean, nullable=False),
        sa.Column("cpu_millis", sa.BigInteger, nullable=False),
        sa.Column("memory_bytes", sa.BigInteger, nullable=False),
        sa.Column("gpus", sa.BigInteger, nullable=False),
        *_lifetime(),
        monthly=True,
        indexes={
            "pods_by_job": ("cluster", "job_uid", "created"),
            "pods_by_deleted": ("cluster", "deleted", "created", "uid"),
        },
    )


def _events() -> None:
    _create(
        "events",
        *_identity(),
        _text("namespace", 63),
        _text("object_kind", 63),
        _text("object_name", 253),
        _text("object_uid", 36),
        _text("type", 16),
        _text("reason", 128),
        _text("message", 1024),
        _text("reporter", 128),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("last_seen", UtcDateTime, nullable=False),
        sa.Column("resource_version", sa.BigInteger, nullable=False),
        sa.Column("recorded", UtcDateTime, nullable=False),
        monthly=True,
        indexes={"events_by_object": ("cluster", "object_uid", "created")},
    )


def _nodes() -> None:
    _create(
        "nodes",
        *_identity(),
        _text("name", 253),
        _text("pool", 253),
        sa.Column("spot", sa.Boolean, nullable=False),
        _text("instance_type", 63),
        _text("zone", 63),
        sa.Column("cpu_millis", sa.BigInteger, nullable=False),
        sa.Column("memory_bytes", sa.BigInteger, nullable=False),
        sa.Column("gpus", sa.BigInteger, nullable=False),
        *_lifetime(),
        indexes={
            "nodes_by_name": ("cluster", "name", "created"),
            "nodes_by_deleted": ("cluster", "deleted", "created", "uid"),
        },
    )


def _create(
    name: str,
    *columns: "sa.Column[Any]",
    key: tuple[str, ...] = KEY,
    monthly: bool = False,
    indexes: dict[str, tuple[str, ...]] | None = None,
) -> None:
    connection = op.get_bind()
    op.create_table(name, *columns, sa.PrimaryKeyConstraint(*key), if_not_exists=True, **options(monthly=monthly))
    if monthly and connection.dialect.name == "postgresql":
        op.execute(f"CREATE TABLE IF NOT EXISTS {name}_later PARTITION OF {name} DEFAULT")
    there = {index["name"] for index in sa.inspect(connection).get_indexes(name)}
    for index, parts in (indexes or {}).items():
        if index not in there:
            op.create_index(index, name, list(parts))


# A migration never changes, so it has its own declarations of columns.
def _text(name: str, length: int) -> "sa.Column[Any]":
    return sa.Column(name, sa.String(length), nullable=False)


def _identity() -> "tuple[sa.Column[Any], ...]":
    return _text("cluster", 63), _text("uid", 36), sa.Column("created", UtcDateTime, nullable=False)


def _lifetime() -> "tuple[sa.Column[Any], ...]":
    return (
        sa.Column("deleted", UtcDateTime),
        _text("deletion", 16),
        sa.Column("resource_version", sa.BigInteger, nullable=False),
        sa.Column("recorded", UtcDateTime, nullable=False),
    )
