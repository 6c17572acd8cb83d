"""The database as a sink: idempotent, monotonic, fenced, and the same on every database."""

from datetime import timedelta, timezone
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from harness.drivers.databases import Database
from kubedl.history import migrate, tables
from kubedl.history.observation import Closing, Observation
from kubedl.history.sink import Epoch, FencedError, RejectedError
from kubedl.history.sinks.database import DatabaseSink
from tests.history.builders import NOW, job, job_row, pod, pod_row


async def rows_of(engine: AsyncEngine, table: str, cluster: str) -> list[Any]:
    """The rows of a cluster."""
    found = tables.metadata.tables[table]
    async with engine.connect() as connection:
        return list((await connection.execute(select(found).where(found.c.cluster == cluster))).all())


async def claimed(engine: AsyncEngine, cluster: str, transitions: int = 0) -> DatabaseSink:
    """A sink that may write."""
    sink = DatabaseSink(engine, cluster)
    await sink.claim(Epoch("lease", transitions, "me"))
    return sink


async def test_a_job_and_its_pod_are_written(engine: AsyncEngine, cluster: str) -> None:
    """Every column arrives as it was written, in UTC."""
    sink, obj = await claimed(engine, cluster), job(user="ada")
    await sink.write([job_row(obj), pod_row(pod(obj))])
    [row] = await rows_of(engine, "jobs", cluster)
    assert (row.namespace, row.kind, row.name, row.user_name, row.user_source, row.client) == (
        "team-a",
        "PyTorchJob",
        "bert",
        "ada",
        "User",
        "kubectl-create",
    )
    assert (row.state, row.gpus, row.created, row.started) == ("Running", 8, NOW, NOW + timedelta(seconds=30))
    [body] = await rows_of(engine, "job_bodies", cluster)
    assert body.body["spec"]["codeSource"]["repository"] == "https://git.example/code.git"
    [found] = await rows_of(engine, "pods", cluster)
    assert (found.job_uid, found.role, found.node, found.phase) == (row.uid, "worker", "node-1", "Running")


async def test_a_time_of_another_zone_is_the_same_moment(engine: AsyncEngine, cluster: str) -> None:
    """Databases that store no zone get UTC."""
    sink, local = await claimed(engine, cluster), NOW.astimezone(timezone(timedelta(hours=2)))
    await sink.write([job_row(job(startTime=local.isoformat()))])
    [row] = await rows_of(engine, "jobs", cluster)
    assert (row.started, row.created) == (NOW, NOW)


async def test_an_older_state_never_replaces_a_newer_one(engine: AsyncEngine, cluster: str) -> None:
    """Monotonic by resourceVersion; repeating a batch changes nothing."""
    sink, old = await claimed(engine, cluster), job(version=10)
    new = job(identity=old["metadata"]["uid"], version=200, state="Succeeded")
    await sink.write([job_row(new)])
    await sink.write([job_row(old)])
    await sink.write([job_row(new)])
    [row] = await rows_of(engine, "jobs", cluster)
    assert (row.state, row.resource_version) == ("Succeeded", 200)
    [body] = await rows_of(engine, "job_bodies", cluster)
    assert (body.body["status"]["state"], body.resource_version) == ("Succeeded", 200)


async def test_a_recorder_that_was_replaced_cannot_write(engine: AsyncEngine, cluster: str) -> None:
    """Fenced by the epoch: neither a write nor a late claim of the earlier holder passes."""
    first = await claimed(engine, cluster, transitions=3)
    await first.write([job_row(job("one"))])
    second = await claimed(engine, cluster, transitions=4)
    with pytest.raises(FencedError):
        await first.write([job_row(job("two"))])
    with pytest.raises(FencedError):
        await first.claim(Epoch("lease", 3, "me"))
    await second.write([job_row(job("three"))])
    assert {row.name for row in await rows_of(engine, "jobs", cluster)} == {"one", "three"}


async def test_a_new_lease_may_begin_again(engine: AsyncEngine, cluster: str) -> None:
    """A Lease that was deleted and created again counts its holders from zero."""
    await claimed(engine, cluster, transitions=9)
    sink = DatabaseSink(engine, cluster)
    await sink.claim(Epoch("another lease", 0, "me"))
    await sink.write([job_row(job())])


async def test_a_migrated_database_is_not_written_by_an_older_version(engine: AsyncEngine, cluster: str) -> None:
    """The process says why, before its first write and during its work."""
    sink = await claimed(engine, cluster)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    try:
        with pytest.raises(migrate.SchemaError, match="schema 9999, which is newer than this version"):
            await sink.write([job_row(job())])
        with pytest.raises(migrate.SchemaError, match="newer"):
            await sink.claim(Epoch("lease", 5, "me"))
        with pytest.raises(migrate.SchemaError, match="newer"):
            await migrate.migrate(engine)
    finally:
        async with engine.begin() as connection:
            known = {"revision": migrate.newest_revision()}
            await connection.execute(text("UPDATE alembic_version SET version_num = :revision"), known)
    assert await rows_of(engine, "jobs", cluster) == []


async def test_rows_of_objects_that_are_gone_are_closed(engine: AsyncEngine, cluster: str) -> None:
    """A job that had not ended is Lost, one that had keeps its state; a second closing changes nothing."""
    sink = await claimed(engine, cluster)
    running, done = job("running"), job("done", state="Succeeded", completionTime="2026-11-17T12:30:00Z")
    await sink.write([job_row(running), job_row(done)])
    open_rows = [row async for page in sink.open_rows("jobs", "PyTorchJob", "team-a") for row in page]
    assert {key.uid for key, _ in open_rows} == {obj["metadata"]["uid"] for obj in (running, done)}
    noticed = NOW + timedelta(hours=1)
    closings = [Closing("jobs", key.uid, created, noticed) for key, created in open_rows]
    await sink.write(closings)
    await sink.write([Closing("jobs", key.uid, created, noticed + timedelta(days=1)) for key, created in open_rows])
    found = {row.name: row for row in await rows_of(engine, "jobs", cluster)}
    assert (found["running"].state, found["running"].deletion, found["running"].finished) == ("Lost", "Missed", noticed)
    assert (found["done"].state, found["done"].deleted) == ("Succeeded", noticed)
    assert [page async for page in sink.open_rows("jobs", "", "")] == []


async def test_an_object_that_is_listed_again_is_reopened(engine: AsyncEngine, cluster: str) -> None:
    """A list that lagged behind closed it by mistake; its last state was not seen, so the same state counts."""
    sink, obj = await claimed(engine, cluster), job()
    row = job_row(obj)
    await sink.write([row])
    await sink.write([Closing("jobs", row.uid, row.created, NOW)])
    await sink.write([row])
    [found] = await rows_of(engine, "jobs", cluster)
    assert (found.state, found.deleted, found.deletion, found.finished) == ("Running", None, "", None)
    await sink.write([job_row(job(identity=row.uid, version=99), deleted=True)])
    await sink.write([row])
    [found] = await rows_of(engine, "jobs", cluster)
    assert (found.state, found.deletion, found.resource_version) == ("Deleted", "Observed", 99)


async def test_a_row_that_cannot_be_stored_is_rejected(
    real_server: Database, engine: AsyncEngine, cluster: str
) -> None:
    """So the writer can drop this row alone, and nothing of its batch is half written. SQLite stores any length."""
    sink, good, bad = await claimed(engine, cluster), job_row(job()), job_row(job())
    too_long = Observation(bad.table, bad.uid, bad.created, bad.version, {**bad.values, "state": "x" * 99})
    with pytest.raises(RejectedError):
        await sink.write([good, too_long])
    assert await rows_of(engine, "jobs", cluster) == []


async def test_no_canary_is_stored(engine: AsyncEngine, cluster: str) -> None:
    """Secrets in environment, arguments, annotations, URLs and termination messages are in no table."""
    sink, obj = await claimed(engine, cluster), job()
    await sink.write([job_row(obj), pod_row(pod(obj, phase="Failed"), deleted=True)])
    for table in tables.metadata.tables:
        assert "canary" not in str(await rows_of(engine, table, cluster))


async def test_migrations_create_what_the_tables_declare(engine: AsyncEngine) -> None:
    """No difference between migrated and declared tables, but for partitions."""

    def differences(connection: Connection) -> list[Any]:
        def declared(_: object, name: str | None, kind: str, *__: object) -> bool:
            return kind != "table" or name in tables.metadata.tables

        context = MigrationContext.configure(connection, opts={"include_object": declared})
        return list(compare_metadata(context, tables.metadata))

    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_migrating_again_changes_nothing(engine: AsyncEngine) -> None:
    """Several processes may run it, one after the other or at once."""
    await migrate.migrate(engine)
    await migrate.check(engine)
