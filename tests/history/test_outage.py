"""The recorder and a database that is away for a while, with more changes meanwhile than it keeps in memory."""

import asyncio
from contextlib import suppress

from prometheus_client import CollectorRegistry
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from harness.drivers.databases import Database
from kubedl.history.kinds import POD_KIND
from kubedl.history.recorder import Recorder, Settings
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.tables import pods
from tests.unit.runtime.fake_server import Server

MOST = 50  # states in memory
DEADLINE = 300.0


def put(server: Server, number: int, phase: str) -> None:
    """Create or change a pod."""
    metadata = {"creationTimestamp": "2026-11-17T12:00:00Z"}
    server.put(f"pod-{number}", metadata=metadata, status={"phase": phase})


async def rows(engine: AsyncEngine, cluster: str) -> dict[str, str]:
    """Name to phase, or how its deletion became known."""
    query = select(pods.c.name, pods.c.phase, pods.c.deletion).where(pods.c.cluster == cluster)
    async with engine.connect() as connection:
        return {row.name: row.deletion or row.phase for row in await connection.execute(query)}


async def wait_for(engine: AsyncEngine, cluster: str, expected: dict[str, str]) -> None:
    """Wait until the rows are as expected; those that were deleted may have been missed."""
    found: dict[str, str] = {}
    try:
        async with asyncio.timeout(DEADLINE):
            while found != expected:
                await asyncio.sleep(0.1)
                with suppress(Exception):  # the database may be down
                    found = {
                        name: state.replace("Missed", "Observed")
                        for name, state in (await rows(engine, cluster)).items()
                    }
    except TimeoutError:
        assert found == expected


async def test_an_outage_is_caught_up_with_bounded_memory(
    real_server: Database, engine: AsyncEngine, cluster: str
) -> None:
    """Four times as many states as fit wait for a killed database; in the end every row is right."""
    server, registry = Server(), CollectorRegistry()
    for number in range(100):
        put(server, number, "Pending")
    sink = DatabaseSink(engine, cluster)
    recorder = Recorder(
        server.client, [POD_KIND], [sink], RecorderMetrics(registry), settings=Settings(most_pending=MOST)
    )
    running = asyncio.ensure_future(recorder.run(Epoch("lease", 0, "me")))
    try:
        await wait_for(engine, cluster, {f"pod-{number}": "Pending" for number in range(100)})
        await asyncio.to_thread(real_server.kill)
        most = 0.0
        for number in range(200):
            put(server, number, "Running")
            await asyncio.sleep(0.01)
            waiting = registry.get_sample_value("kubedl_recorder_pending", {"sink": "database"})
            most = max(most, waiting or 0.0)
        for number in range(30):
            server.remove(f"pod-{number}")
        await asyncio.sleep(1)
        assert most == MOST
        await asyncio.to_thread(real_server.start)
        expected = {f"pod-{number}": "Observed" if number < 30 else "Running" for number in range(200)}
        await wait_for(engine, cluster, expected)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
