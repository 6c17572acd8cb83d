"""Where logs are, on real databases: the place survives every later state of the pod."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.history.logs.container_run import ContainerRun, ended_runs
from kubedl.history.logs.log_archive import StoredLog
from kubedl.history.logs.log_records import LogRecords
from kubedl.history.observation import Closing
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.tables import pods
from tests.history.builders import NOW, decoded_pod, job, pod, pod_row


async def test_the_place_of_a_log_survives_later_states(engine: AsyncEngine, cluster: str) -> None:
    """Recorded when the row is there, by the latest run, for this pod only."""
    records, sink = LogRecords(engine, cluster), DatabaseSink(engine, cluster)
    await sink.claim(Epoch())
    owner = job()
    first, other = pod(owner, phase="Failed"), pod(owner, index=1, phase="Failed")
    [run] = ended_runs(decoded_pod(first), {})
    stored = StoredLog("s3://logs/a", 0, cut=True)
    assert await records.newest(run) is None
    assert not await records.record(run, stored)
    await sink.write([pod_row(first), pod_row(other)])
    assert await records.record(run, stored)
    assert await records.record(run, stored)
    assert await records.newest(run) == 0
    first["metadata"]["resourceVersion"] = "20"
    await sink.write([pod_row(first, deleted=True, now=NOW + timedelta(hours=1))])
    assert await _found(engine, run) == ("s3://logs/a", True, "Observed")
    assert await records.record(replace(run, restart=3), StoredLog("s3://logs/d", 3, cut=False))
    assert await records.record(replace(run, restart=2), StoredLog("s3://logs/c", 2, cut=False))
    assert await _found(engine, run) == ("s3://logs/d", False, "Observed")
    [neighbour] = ended_runs(decoded_pod(other), {})
    await sink.write([Closing("pods", neighbour.uid, neighbour.created, datetime.now(UTC))])
    assert await _found(engine, neighbour) == (None, None, "Missed")


async def test_rows_that_are_written_again_keep_the_place(engine: AsyncEngine, cluster: str) -> None:
    """A batch that is repeated, or a row that is reopened, has no places."""
    records, sink = LogRecords(engine, cluster), DatabaseSink(engine, cluster)
    await sink.claim(Epoch())
    made = pod(job(), phase="Succeeded")
    [run] = ended_runs(decoded_pod(made), {})
    await sink.write([pod_row(made)])
    await records.record(run, StoredLog("s3://logs/a", 0, cut=False))
    await sink.write([Closing("pods", run.uid, run.created, datetime.now(UTC))])
    await sink.write([pod_row(made)])
    await sink.write([pod_row(made)])
    assert await _found(engine, run) == ("s3://logs/a", False, "")


async def _found(engine: AsyncEngine, run: ContainerRun) -> tuple[str | None, bool | None, str]:
    query = select(pods.c.log_location, pods.c.log_cut, pods.c.deletion).where(pods.c.uid == run.uid)
    async with engine.connect() as connection:
        [row] = (await connection.execute(query)).all()
    return row.log_location, row.log_cut, row.deletion
