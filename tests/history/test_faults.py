"""The writer and a database that fails: in the end the rows equal the truth, and each object has one row."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import event, select, text, update
from sqlalchemy.engine import AdaptedConnection
from sqlalchemy.ext.asyncio import AsyncEngine

from harness.drivers.databases import Database
from kubedl.history import migrate, partitions, tables
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.maintenance import Maintenance
from kubedl.history.pending import MOST, Pending
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.history.sink import Epoch, SinkUnavailableError
from kubedl.history.sinks.database import DatabaseSink, transaction
from kubedl.history.writer import Writer
from tests.history.builders import NOW, job, job_row, pod, pod_row, uid

DEADLINE = 300.0
UIDS = 200


@asynccontextmanager
async def writing(
    engine: AsyncEngine, cluster: str, batch: int = 50, registry: CollectorRegistry | None = None, most: int = MOST
) -> AsyncIterator[Pending]:
    """A writer of its own."""
    pending = Pending(most=most)
    metrics = RecorderMetrics(registry or CollectorRegistry())
    writer = Writer(DatabaseSink(engine, cluster), pending, metrics, batch=batch)
    task = asyncio.ensure_future(writer.run(Epoch("lease", 0, "me")))
    try:
        yield pending
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def states(engine: AsyncEngine, cluster: str) -> list[tuple[str, int]]:
    """Name and version of every job, as rows have them."""
    async with engine.connect() as connection:
        query = select(tables.jobs.c.name, tables.jobs.c.resource_version).where(tables.jobs.c.cluster == cluster)
        return sorted((row.name, row.resource_version) for row in await connection.execute(query))


async def wait_for(engine: AsyncEngine, cluster: str, expected: list[tuple[str, int]]) -> None:
    """Wait until the rows are as expected."""
    async with asyncio.timeout(DEADLINE):
        while True:
            with suppress(Exception):  # the database may be down
                if await states(engine, cluster) == expected:
                    return
            await asyncio.sleep(0.1)


async def test_a_killed_database_loses_nothing(real_server: Database, engine: AsyncEngine, cluster: str) -> None:
    """SIGKILL in the middle of a stream of changes, twice."""
    identities = [uid() for _ in range(UIDS)]
    async with writing(engine, cluster) as pending:
        for version in range(1, 5):
            for number, identity in enumerate(identities):
                pending.add(job_row(job(f"job-{number}", identity=identity, version=version)))
                if number % 50 == 0:
                    await asyncio.sleep(0.01)
            if version in (1, 3):
                await asyncio.to_thread(real_server.kill)
                await asyncio.sleep(0.2)
                await asyncio.to_thread(real_server.start)
        await wait_for(engine, cluster, sorted((f"job-{number}", 4) for number in range(UIDS)))


async def test_a_read_only_database_is_waited_for(real_server: Database, engine: AsyncEngine, cluster: str) -> None:
    """As during a failover to a replica."""
    async with writing(engine, cluster) as pending:
        pending.add(job_row(job("before", version=1)))
        await wait_for(engine, cluster, [("before", 1)])
        await asyncio.to_thread(real_server.read_only, on=True)
        try:
            pending.add(job_row(job("during", version=2)))
            await asyncio.sleep(0.5)
            assert await states(engine, cluster) == [("before", 1)]
        finally:
            await asyncio.to_thread(real_server.read_only, on=False)
        await wait_for(engine, cluster, [("before", 1), ("during", 2)])


async def test_a_deadlock_is_repeated(real_server: Database, engine: AsyncEngine, cluster: str) -> None:
    """With somebody who edits rows by hand, in the other order."""
    first, second = uid(), uid()
    columns = tables.jobs.c
    async with writing(engine, cluster) as pending:
        for version, identity in ((1, first), (2, second)):
            pending.add(job_row(job(f"job-{version}", identity=identity, version=version)))
        await wait_for(engine, cluster, [("job-1", 1), ("job-2", 2)])
        with suppress(Exception):  # either of the two may be chosen as the victim
            async with engine.begin() as other:
                await other.execute(update(tables.jobs).where(columns.uid == second).values(reason="edited"))
                pending.add(job_row(job("job-1", identity=first, version=11)))
                pending.add(job_row(job("job-2", identity=second, version=12)))
                await asyncio.sleep(0.5)
                await other.execute(update(tables.jobs).where(columns.uid == first).values(reason="edited"))
        await wait_for(engine, cluster, [("job-1", 11), ("job-2", 12)])


@pytest.mark.usefixtures("real_server")
async def test_a_connection_that_ends_while_it_is_made_is_an_outage(engine: AsyncEngine) -> None:
    """Before SQLAlchemy has prepared it: it passes on what asyncpg says then."""

    def end(connection: AdaptedConnection, _: object) -> None:
        driver = connection.driver_connection
        driver.terminate() if engine.dialect.name == "postgresql" else driver.close()

    event.listen(engine.sync_engine, "connect", end, insert=True)
    with pytest.raises(SinkUnavailableError):
        async with transaction(engine) as connection:
            await connection.execute(select(tables.jobs.c.uid).limit(1))


async def test_half_a_migration_is_completed(real_server: Database) -> None:
    """MySQL commits each step, so a migration that was killed leaves some of the tables."""
    url = await asyncio.to_thread(real_server.create, f"half_{uid()[-6:]}")
    engine = create_engine(parse_url(url))
    try:
        await migrate.migrate(engine)
        async with engine.begin() as connection:
            await connection.execute(text("DELETE FROM alembic_version"))
            await connection.execute(text("DROP TABLE nodes"))
            await connection.execute(text("DROP TABLE events"))
            drop = "DROP INDEX jobs_by_state" + (" ON jobs" if engine.dialect.name == "mysql" else "")
            await connection.execute(text(drop))
        with pytest.raises(migrate.SchemaError, match="kubedl recorder migrate"):
            await migrate.check(engine)
        await migrate.migrate(engine)
        await migrate.check(engine)
        async with engine.connect() as connection:
            await connection.execute(select(tables.events))
    finally:
        await engine.dispose()


async def test_two_processes_migrate_at_once(real_server: Database) -> None:
    """One waits for the other."""
    url = await asyncio.to_thread(real_server.create, f"both_{uid()[-6:]}")
    engines = [create_engine(parse_url(url)) for _ in range(2)]
    await asyncio.gather(*(migrate.migrate(engine) for engine in engines))
    for engine in engines:
        await migrate.check(engine)
        await engine.dispose()


async def test_months_are_dropped_after_the_retention(engine: AsyncEngine, cluster: str) -> None:
    """With all rows of objects that are gone, and none of an object that still exists."""
    sink = DatabaseSink(engine, cluster)
    await sink.claim(Epoch("lease", 0, "me"))
    old, recent = NOW + timedelta(days=400), NOW + timedelta(days=520)  # no other test has rows there
    async with engine.connect() as connection:
        await connection.run_sync(partitions.create_missing, old)
        await connection.run_sync(partitions.create_missing, recent)
    gone, kept, new = job("gone", created=old), job("kept", created=old), job("new", created=recent)
    await sink.write([job_row(gone, deleted=True), job_row(kept), job_row(new, deleted=True)])
    await sink.write([pod_row(pod(gone), deleted=True)])
    months = {}
    for month in (old, recent):
        async with engine.connect() as connection:
            months[month] = partitions.partition_name(month) in await connection.run_sync(partitions.existing, "pods")
    await Maintenance(engine, cluster, 90).once(recent)
    assert [name for name, _ in await states(engine, cluster)] == ["kept", "new"]
    async with engine.connect() as connection:
        assert (await connection.execute(select(tables.pods).where(tables.pods.c.cluster == cluster))).all() == []
        bodies = select(tables.job_bodies.c.uid).where(tables.job_bodies.c.cluster == cluster)
        assert {row.uid for row in await connection.execute(bodies)} == {obj["metadata"]["uid"] for obj in (kept, new)}
        left = await connection.run_sync(partitions.existing, "pods")
    if engine.dialect.name != "sqlite":
        assert all(months.values())
        assert partitions.partition_name(old) not in left
        assert partitions.partition_name(recent) in left
