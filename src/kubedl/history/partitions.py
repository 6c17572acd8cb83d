"""Monthly partitions: rows of a month are deleted by dropping its partition. SQLite has none.

Rows of months without a partition (older than the retention, or with a date in the future) are in the partition
`later`, which always exists, so that an insert never fails because one is missing. PostgreSQL refuses a partition for
rows that are there already, as after months without a recorder: that month stays there.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, text

from kubedl.history.tables import MONTHLY
from kubedl.kube.bounded_regex import BoundedPattern

AHEAD = 3  # months that are created in advance
LATER = "later"
_MONTH = BoundedPattern("y[0-9]{4}m[0-9]{2}", len("y2026m01"))  # others are not ours


def create_missing(connection: Connection, now: datetime | None = None) -> None:
    """Create the partitions from the current month up to AHEAD months later."""
    if connection.dialect.name == "sqlite":
        return
    for table in MONTHLY:
        there = existing(connection, table)
        wanted = [month for month in months(now or datetime.now(UTC), AHEAD + 1) if partition_name(month) not in there]
        if connection.dialect.name == "mysql":  # which cannot add one before another, made when a clock was ahead
            wanted = [month for month in wanted if partition_name(month) > max(there, default="")]
        else:
            wanted = [month for month in wanted if not _has_begun(connection, table, month)]
        if wanted:
            _create(connection, table, wanted)
    connection.commit()


def existing(connection: Connection, table: str) -> list[str]:
    """Return the months that have a partition, oldest first, as y2026m11."""
    if connection.dialect.name == "sqlite":
        return []
    if connection.dialect.name == "postgresql":
        query = (
            "SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid "
            "JOIN pg_class parent ON parent.oid = inhparent WHERE parent.oid = to_regclass(:table)"
        )
        names = [str(row[0]).removeprefix(f"{table}_") for row in connection.execute(text(query), {"table": table})]
    else:
        query = (
            "SELECT PARTITION_NAME FROM INFORMATION_SCHEMA.PARTITIONS "
            "WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = :table AND PARTITION_NAME IS NOT NULL"
        )
        names = [str(row[0]) for row in connection.execute(text(query), {"table": table})]
    return sorted(name for name in names if _MONTH.fullmatch(name))


def drop(connection: Connection, table: str, name: str) -> None:
    """Drop the partition of a month with all its rows."""
    if table not in MONTHLY or name not in existing(connection, table):
        raise ValueError(f"{table} has no partition {name}")
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"DROP TABLE {table}_{name}"))
    else:
        connection.execute(text(f"ALTER TABLE {table} DROP PARTITION {name}"))


def months(first: datetime, number: int) -> Iterable[datetime]:
    """Yield the starts of months, in UTC."""
    month = first.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    for _ in range(number):
        yield month
        month = following(month)


def following(month: datetime) -> datetime:
    """Return the start of the next month."""
    return month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)


def partition_name(month: datetime) -> str:
    """Return the name of a month's partition."""
    return f"y{month:%Y}m{month:%m}"


def month_of(name: str) -> datetime:
    """Return the month of a partition."""
    return datetime.strptime(f"{name}+0000", "y%Ym%m%z")


def _has_begun(connection: Connection, table: str, month: datetime) -> bool:
    """Return whether PostgreSQL has rows of a month in the partition `later`."""
    limits = f"created >= '{month:%Y-%m-%d} 00:00:00+00' AND created < '{following(month):%Y-%m-%d} 00:00:00+00'"
    query = f"SELECT 1 FROM {table}_{LATER} WHERE {limits} LIMIT 1"  # noqa: S608
    return connection.execute(text(query)).first() is not None


def _create(connection: Connection, table: str, wanted: Sequence[datetime]) -> None:
    if connection.dialect.name == "postgresql":
        for month in wanted:
            limits = f"FROM ('{month:%Y-%m-%d} 00:00:00+00') TO ('{following(month):%Y-%m-%d} 00:00:00+00')"
            name = f"{table}_{partition_name(month)}"
            connection.execute(text(f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF {table} FOR VALUES {limits}"))
        return
    parts = [
        f"PARTITION {partition_name(month)} VALUES LESS THAN ('{following(month):%Y-%m-%d} 00:00:00')"
        for month in wanted
    ]
    every = ", ".join([*parts, f"PARTITION {LATER} VALUES LESS THAN (MAXVALUE)"])
    connection.execute(text(f"ALTER TABLE {table} REORGANIZE PARTITION {LATER} INTO ({every})"))
