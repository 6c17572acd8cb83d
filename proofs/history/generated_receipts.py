"""A receipt with one line for each job that generated_jobs has made and that has ended, made inside the database."""

from collections.abc import Iterator

from sqlalchemy import URL, text
from sqlalchemy.ext.asyncio import create_async_engine

from kubedl.history import tables

# What both tables have is taken from the jobs, so that receipts are as skewed as they are.
_COMMON = {
    "cluster": "cluster",
    "uid": "uid",
    "namespace": "namespace",
    "kind": "kind",
    "user_name": "user_name",
    "queue": "queue",
    "cpu_seconds": "3600 * (1 + gpus)",
    "memory_gib_seconds": "28800 * (1 + gpus)",
    "gpu_seconds": "3600 * gpus",
    "cost_micros": "2500000 * gpus",
    "currency": "'EUR'",
}
_COLUMNS = {
    tables.receipts: {
        **_COMMON,
        "created": "created",
        "name": "name",
        "state": "state",
        "finished": "finished",
        "waiting_seconds": "60 + 7 * gpus",
        "running_seconds": "3540",
        "restarted_seconds": "30 * restarts",
        "lost_seconds": "45 * restarts",
        "price_book": "'0123456789abcdef'",
        "computed": "deleted",
    },
    tables.receipt_lines: {
        **_COMMON,
        "day": "CAST(CAST(created AS date) AS char(10))",
        "pool": "concat('pool-', restarts)",
        "spot": "restarts = 1",
    },
}


async def generate_receipts(url: URL) -> None:
    """Fill the tables. Their indexes are left out meanwhile, and rows come in the order of their keys."""
    engine = create_async_engine(url)  # not the product's: its statements may take 30 s only
    try:
        for statement in _statements(engine.dialect.name):
            async with engine.connect() as connection:
                plain = await connection.execution_options(isolation_level="AUTOCOMMIT")
                await plain.execute(text(statement))
    finally:
        await engine.dispose()


def _statements(family: str) -> Iterator[str]:
    on = " ON {}" if family == "mysql" else ""
    indexes = [(table.name, index) for table in _COLUMNS for index in table.indexes]
    for table, index in indexes:
        yield f"DROP INDEX {index.name}" + on.format(table)
    for filled, chosen in _COLUMNS.items():
        values = ", ".join(chosen.values())
        yield (
            f"INSERT INTO {filled.name} ({', '.join(chosen)}) SELECT {values} FROM jobs "  # noqa: S608
            "WHERE finished IS NOT NULL AND deleted IS NOT NULL ORDER BY cluster, uid"
        )
    for table, index in indexes:
        yield f"CREATE INDEX {index.name} ON {table} ({', '.join(column.name for column in index.columns)})"
    for filled in _COLUMNS:
        yield f"VACUUM (ANALYZE) {filled.name}" if family == "postgresql" else f"ANALYZE TABLE {filled.name}"
