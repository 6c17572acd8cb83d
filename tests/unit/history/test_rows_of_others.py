"""What belongs to somebody else neither counts nor is deleted. On SQLite."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.history import tables
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.maintenance import Maintenance
from kubedl.history.migrate import migrate
from kubedl.history.observation import Observation
from kubedl.history.observed_pods import EVENTS
from kubedl.history.queries.jobs import get_job
from kubedl.history.queries.logs import list_logs
from kubedl.history.queries.spend import get_receipt
from kubedl.history.receipts import Receipts
from kubedl.history.rows import event_row
from kubedl.history.sink import Epoch, FencedError
from kubedl.history.sinks.database import DatabaseSink
from kubedl.kube import codec
from tests.history.builders import NOW, job, job_row, moment, pod, pod_row, uid


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    """A database of its own."""
    created = create_engine(parse_url(f"sqlite:///{tmp_path / 'history.db'}"))
    await migrate(created)
    yield created
    await created.dispose()


async def sink_of(engine: AsyncEngine, cluster: str = "prod") -> DatabaseSink:
    """A sink that may write."""
    sink = DatabaseSink(engine, cluster)
    await sink.claim(Epoch())
    return sink


def about(obj: dict[str, Any], namespace: str) -> Observation:
    """An event about an object, as anybody may write it into a namespace of theirs."""
    metadata = {"uid": uid(), "namespace": namespace, "resourceVersion": "9", "creationTimestamp": moment(NOW)}
    told = {"kind": "PyTorchJob", "name": "bert", "uid": obj["metadata"]["uid"]}
    event = {"metadata": metadata, "involvedObject": told, "message": namespace}
    return event_row(EVENTS.decoder.decode(codec.encode(event)), now=NOW)


async def test_a_pod_that_names_a_job_of_another_namespace_is_not_its_pod(engine: AsyncEngine) -> None:
    """Anybody may write any owner into a pod: it is on no receipt and no page of that job, and no event is, either."""
    sink, receipts = await sink_of(engine), Receipts(engine, "prod", clock=lambda: NOW + timedelta(hours=1))
    victim = job(state="Succeeded", completionTime=moment(NOW + timedelta(minutes=10)))
    theirs, forged = pod(victim, phase="Succeeded"), pod(victim, phase="Succeeded", index=1)
    forged["metadata"]["namespace"] = "team-x"
    for one in (theirs, forged):
        one["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    await sink.write([job_row(victim), pod_row(theirs), pod_row(forged)])
    await sink.write([about(victim, "team-a"), about(victim, "team-x")])
    await receipts.compute(victim["metadata"]["uid"])
    async with engine.connect() as connection:
        found = await get_job(connection, "prod", victim["metadata"]["uid"])
        assert found is not None
        assert [one.uid for one in found.pods] == [theirs["metadata"]["uid"]]
        assert [one.message for one in found.events] == ["team-a"]
        assert [one.uid for one in await list_logs(connection, "prod", found.job)] == [theirs["metadata"]["uid"]]
        receipt = await get_receipt(connection, "prod", victim["metadata"]["uid"])
        assert receipt is not None
        assert receipt.gpu_seconds == 540


async def test_a_pod_counts_if_the_clock_of_its_api_server_is_behind(engine: AsyncEngine) -> None:
    """Times have whole seconds, and two API servers two clocks."""
    sink, owner = await sink_of(engine), job()
    early = pod(owner)
    early["metadata"]["creationTimestamp"] = moment(NOW - timedelta(seconds=1))
    await sink.write([job_row(owner), pod_row(early)])
    async with engine.connect() as connection:
        found = await get_job(connection, "prod", owner["metadata"]["uid"])
    assert found is not None
    assert len(found.pods) == 1


async def test_a_cluster_deletes_no_rows_of_another(engine: AsyncEngine) -> None:
    """Clusters share a database, and each has a retention of its own."""
    for cluster in ("short", "long"):
        old = job(cluster)
        await (await sink_of(engine, cluster)).write([job_row(old, deleted=True), pod_row(pod(old), deleted=True)])
    await Maintenance(engine, "short", 30).once(NOW + timedelta(days=90))
    async with engine.connect() as connection:
        for table in (tables.jobs, tables.job_bodies, tables.pods):
            assert (await connection.execute(select(table.c.cluster))).scalars().all() == ["long"]


async def test_pods_stay_until_their_job_has_its_receipt(engine: AsyncEngine) -> None:
    """A job may run for longer than the retention, and what its first pods used is on its receipt."""
    sink, identity = await sink_of(engine), uid()
    owner = job(identity=identity)
    await sink.write([job_row(owner), pod_row(pod(owner, phase="Failed"), deleted=True)])
    for is_deleted in (False, True):
        if is_deleted:
            await sink.write([job_row(job(identity=identity, version=11), deleted=True)])
        await Maintenance(engine, "prod", 30).once(NOW + timedelta(days=90))
        async with engine.connect() as connection:
            kept = (await connection.execute(select(tables.pods.c.uid))).all()
        assert bool(kept) is not is_deleted


async def test_a_retention_that_no_calendar_has_deletes_nothing(engine: AsyncEngine) -> None:
    """Somebody means: for ever."""
    await (await sink_of(engine)).write([job_row(job(), deleted=True)])
    await Maintenance(engine, "prod", 999_999).once(NOW + timedelta(days=90))
    async with engine.connect() as connection:
        assert (await connection.execute(select(tables.jobs.c.cluster))).scalars().all() == ["prod"]


async def test_a_long_job_that_ended_before_a_crash_gets_its_receipt(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is gone, so that no list brings it back, and began longer ago than receipts are looked for."""
    sink, identity = await sink_of(engine), uid()
    await sink.write([job_row(job(identity=identity), deleted=True, now=NOW + timedelta(days=60))])
    receipts, found = Receipts(engine, "prod", clock=lambda: NOW + timedelta(days=61)), asyncio.Queue[str]()
    monkeypatch.setattr(receipts, "compute", found.put)
    task = asyncio.ensure_future(receipts.run())
    assert await asyncio.wait_for(found.get(), 60) == identity
    task.cancel()


async def test_without_a_lease_the_last_one_writes_whatever_the_clock_said(engine: AsyncEngine) -> None:
    """A clock that was ahead must not keep the next recorder from starting."""
    first = await sink_of(engine)
    async with engine.begin() as connection:
        await connection.execute(update(tables.recorders).values(lease_transitions=9_999_999_999))
    await (await sink_of(engine)).write([job_row(job())])
    with pytest.raises(FencedError):
        await first.write([job_row(job())])
