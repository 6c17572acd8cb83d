"""The tables of the history, as SQLAlchemy Core declares them. Migrations create them; a test compares the two.

Rows are keyed by cluster and uid. `created` is part of the key because it decides the monthly partition; it never
changes for a uid. `resource_version` orders the states of one object: a row is never replaced by an older state.
Times are UTC. No foreign keys: rows arrive in any order, and partitioned tables of MySQL cannot have them.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
)
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.types import TypeDecorator, TypeEngine

LONGEST_MESSAGE = 1024  # characters of messages that are kept

SEPARATE: Any = {"separate": True}  # of columns that no observation has

metadata = MetaData()


class UtcDateTime(TypeDecorator[datetime]):
    """A time with a time zone in Python, and UTC in every database."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Use microseconds everywhere, and a time zone where the database has them."""
        if dialect.name == "mysql":
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime(timezone=dialect.name == "postgresql"))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; databases without time zones get no zone."""
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc if dialect.name == "postgresql" else utc.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return a time with a zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def body_type() -> TypeEngine[Any]:
    """Return the type of JSON documents."""
    return JSON().with_variant(postgresql.JSONB(), "postgresql")


def _cluster_column() -> Column[str]:
    """Return the column with the name of the cluster."""
    return Column("cluster", String(63), nullable=False)


def _identity() -> tuple[Column[Any], ...]:
    """Return the columns that identify an object."""
    return _cluster_column(), Column("uid", String(36), nullable=False), Column("created", UtcDateTime, nullable=False)


def _lifetime() -> tuple[Column[Any], ...]:
    """Return the columns about the end of an object, and the state that the row shows."""
    return (
        Column("deleted", UtcDateTime),  # when it was deleted from the cluster
        Column("deletion", String(16), nullable=False, default=""),  # Observed, or Missed: `deleted` is when we noticed
        Column("resource_version", BigInteger, nullable=False),
        Column("recorded", UtcDateTime, nullable=False),  # when this state was written
    )


def _text(name: str, length: int) -> Column[str]:
    """Return a text column, empty by default."""
    return Column(name, String(length), nullable=False, default="")


def options(*, monthly: bool = False) -> dict[str, Any]:
    """Return the table options. Texts compare by bytes in every database, so that filters mean the same."""
    # The index of SQLite needs no order; MariaDB's default collation would ignore case.
    chosen: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
    if monthly:
        chosen["postgresql_partition_by"] = "RANGE (created)"
        chosen["mysql_partition_by"] = "RANGE COLUMNS(created) (PARTITION later VALUES LESS THAN (MAXVALUE))"
    return chosen


def _table(
    name: str, *columns: Column[Any], key: tuple[str, ...] = ("cluster", "uid", "created"), monthly: bool
) -> Table:
    return Table(name, metadata, *columns, PrimaryKeyConstraint(*key), **options(monthly=monthly))


# One row for each recorder: the lease that permits it to write, as a fencing token.
recorders = _table(
    "recorders",
    _cluster_column(),
    _text("scope", 63),  # the recorded namespace; empty: all
    Column("epoch", BigInteger, nullable=False),
    _text("lease_uid", 36),
    Column("lease_transitions", BigInteger, nullable=False),
    _text("holder", 253),
    Column("claimed", UtcDateTime, nullable=False),
    Column("written", UtcDateTime, nullable=False),
    key=("cluster", "scope"),
    monthly=False,
)

# Narrow, for lists; everything that only the page of one job shows is in job_bodies.
jobs = _table(
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
    Column("started", UtcDateTime),
    Column("finished", UtcDateTime),
    Column("gpus", BigInteger, nullable=False, default=0),
    Column("restarts", Integer, nullable=False, default=0),
    _text("model_version", 253),
    _text("parent_uid", 36),
    *_lifetime(),
    monthly=True,
)
FILTERS = ("namespace", "kind", "name", "user_name", "queue", "state")  # of lists; each has an index in list order
for _column in FILTERS:
    Index(f"jobs_by_{_column}", jobs.c.cluster, jobs.c[_column], jobs.c.created, jobs.c.uid)
# With all columns of statistics, which then read no rows. Their lengths together are the longest key that MySQL allows.
STATISTICS = ("namespace", "user_name", "kind", "queue", "state", "gpus")
Index("jobs_by_created", jobs.c.cluster, jobs.c.created, jobs.c.uid, *(jobs.c[name] for name in STATISTICS))
Index("jobs_by_deleted", jobs.c.cluster, jobs.c.deleted, jobs.c.created, jobs.c.uid)

job_bodies = _table(
    "job_bodies",
    *_identity(),
    Column("body", body_type(), nullable=False),
    Column("resource_version", BigInteger, nullable=False),
    monthly=True,
)

# ModelVersions, Inferences, Crons: few and long-lived, so without partitions, and with their bodies.
objects = _table(
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
    Column("finished", UtcDateTime),
    _text("parent_uid", 36),
    Column("body", body_type(), nullable=False),
    *_lifetime(),
    monthly=False,
)
Index("objects_by_name", objects.c.cluster, objects.c.namespace, objects.c.kind, objects.c.name, objects.c.created)
Index("objects_by_created", objects.c.cluster, objects.c.kind, objects.c.created, objects.c.uid)
Index("objects_by_parent", objects.c.cluster, objects.c.parent_uid)
Index("objects_by_deleted", objects.c.cluster, objects.c.deleted, objects.c.created, objects.c.uid)

pods = _table(
    "pods",
    *_identity(),
    _text("namespace", 63),
    _text("name", 253),
    _text("job_uid", 36),
    _text("role", 63),
    Column("replica_index", Integer, nullable=False, default=0),
    Column("attempt", BigInteger, nullable=False, default=0),
    _text("phase", 16),
    _text("reason", 128),
    Column("exit_code", Integer),
    _text("node", 253),
    Column("scheduled", UtcDateTime),
    Column("started", UtcDateTime),
    Column("finished", UtcDateTime),
    Column("restarts", Integer, nullable=False, default=0),
    Column("disrupted", Boolean, nullable=False, default=False),
    Column("cpu_millis", BigInteger, nullable=False, default=0),
    Column("memory_bytes", BigInteger, nullable=False, default=0),
    Column("gpus", BigInteger, nullable=False, default=0),
    *_lifetime(),
    # Of the last stored log of the main container. Observations do not have these, so upserts leave them alone.
    Column("log_location", String(1200), info=SEPARATE),
    Column("log_restart", Integer, info=SEPARATE),
    Column("log_cut", Boolean, info=SEPARATE),
    monthly=True,
)
Index("pods_by_job", pods.c.cluster, pods.c.job_uid, pods.c.created)
Index("pods_by_deleted", pods.c.cluster, pods.c.deleted, pods.c.created, pods.c.uid)

events = _table(
    "events",
    *_identity(),
    _text("namespace", 63),
    _text("object_kind", 63),
    _text("object_name", 253),
    _text("object_uid", 36),
    _text("type", 16),
    _text("reason", 128),
    _text("message", LONGEST_MESSAGE),
    _text("reporter", 128),
    Column("count", Integer, nullable=False, default=1),
    Column("last_seen", UtcDateTime, nullable=False),
    Column("resource_version", BigInteger, nullable=False),
    Column("recorded", UtcDateTime, nullable=False),
    monthly=True,
)
Index("events_by_object", events.c.cluster, events.c.object_uid, events.c.created)

nodes = _table(
    "nodes",
    *_identity(),
    _text("name", 253),
    _text("pool", 253),
    Column("spot", Boolean, nullable=False, default=False),
    _text("instance_type", 63),
    _text("zone", 63),
    Column("cpu_millis", BigInteger, nullable=False, default=0),
    Column("memory_bytes", BigInteger, nullable=False, default=0),
    Column("gpus", BigInteger, nullable=False, default=0),
    *_lifetime(),
    monthly=False,
)
Index("nodes_by_name", nodes.c.cluster, nodes.c.name, nodes.c.created)
Index("nodes_by_deleted", nodes.c.cluster, nodes.c.deleted, nodes.c.created, nodes.c.uid)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=0)


USED = ("cpu_seconds", "memory_gib_seconds", "gpu_seconds", "cost_micros")

# Receipts outlive the rows of their jobs: the retention does not touch them.
price_books = _table(
    "price_books",
    _cluster_column(),
    _text("version", 16),
    Column("first_used", UtcDateTime, nullable=False),
    Column("body", body_type(), nullable=False),
    key=("cluster", "version"),
    monthly=False,
)
receipts = _table(
    "receipts",
    *_identity(),
    _text("namespace", 63),
    _text("kind", 63),
    _text("name", 253),
    _text("user_name", 253),
    _text("queue", 253),
    _text("state", 16),
    Column("finished", UtcDateTime),
    *(_number(name) for name in ("waiting_seconds", "running_seconds", "restarted_seconds", "lost_seconds")),
    *(_number(name) for name in USED),
    _text("currency", 16),
    _text("price_book", 16),
    Column("computed", UtcDateTime, nullable=False),
    key=("cluster", "uid"),
    monthly=False,
)
# With all columns of what was waited for and lost, which is then read without the rows.
SECONDS = ("running_seconds", "waiting_seconds", "restarted_seconds", "lost_seconds")
Index(
    "receipts_by_finished",
    receipts.c.cluster,
    *(receipts.c[name] for name in ("finished", "kind", "namespace", *SECONDS)),
)

# With kind and queue of the job, so that spending is added up without reading the receipts.
receipt_lines = _table(
    "receipt_lines",
    _cluster_column(),
    Column("uid", String(36), nullable=False),
    _text("day", 10),  # in UTC, as 2026-11-17
    _text("pool", 253),
    Column("spot", Boolean, nullable=False),
    _text("namespace", 63),
    _text("kind", 63),
    _text("user_name", 253),
    _text("queue", 253),
    _text("currency", 16),
    *(_number(name) for name in USED),
    key=("cluster", "uid", "day", "pool", "spot"),
    monthly=False,
)
# With all columns of sums. The key has the pool, and InnoDB keeps the key in each index.
SPENT = ("day", "namespace", "kind", "user_name", "queue", "currency", *USED)
Index("receipt_lines_by_day", receipt_lines.c.cluster, *(receipt_lines.c[name] for name in SPENT))

MONTHLY = tuple(name for name, table in metadata.tables.items() if table.dialect_options["postgresql"]["partition_by"])
