"""A history for tests of the console: a real database, in a file."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.drivers.recorded_past import PastJob, record
from kubedl.console.history_reader import HistoryReader
from kubedl.console.history_source import History
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.price_book import PriceBook, PriceEntry
from tests.history_file import tables
from tests.unit.console.world import NOW, World

CLUSTER = "prod-1"
BOOK = PriceBook("EUR", (PriceEntry(pool="a100", gpu_hour=2.0),))  # nothing else has a price
POOLS = {"node-1": "a100", "node-2": "old"}
HIDDEN = "hidden-from-ada"  # in names, users, messages and logs of namespaces that Ada may not see
DAY = timedelta(days=1)
JOBS = (
    PastJob(
        "nlp",
        "bert",
        NOW - DAY,
        user="mei.lin",
        queue="gpus",
        gpus=8,
        lost=timedelta(minutes=1),
        log="s3://logs/nlp/bert-worker-0",
        event="bert has succeeded",
        message="all workers succeeded",
    ),
    PastJob("nlp", "resnet", NOW - 2 * DAY, state="Failed", user="tomas.k", node="node-2", message="out of memory"),
    PastJob("nlp", "old", NOW - 50 * DAY, user="mei.lin", queue="gpus"),
    PastJob("nlp", "there", NOW - DAY, user="mei.lin", deleted=False),
    PastJob("nlp", HIDDEN, NOW - DAY, kind="TFJob", user=HIDDEN, message=HIDDEN, event=HIDDEN),
    PastJob("vision", HIDDEN, NOW - DAY, user=HIDDEN, queue=HIDDEN, message=HIDDEN, log=HIDDEN, event=HIDDEN),
)


@dataclass(frozen=True)
class Past:
    """A world with a history."""

    world: World
    reader: HistoryReader


@cache
def _file(jobs: tuple[PastJob, ...]) -> bytes:
    """A database with these jobs."""

    async def fill(url: str) -> None:
        engine = create_engine(parse_url(url))
        await record(engine, CLUSTER, jobs, BOOK, POOLS)
        await engine.dispose()

    with TemporaryDirectory() as directory:
        file = Path(directory, "history.db")
        file.write_bytes(tables())
        asyncio.run(fill(f"sqlite:///{file}"))
        return file.read_bytes()


@asynccontextmanager
async def with_history(world: World, directory: Path, jobs: tuple[PastJob, ...] = JOBS) -> AsyncIterator[Past]:
    """Let a world have a history with these jobs."""
    file = directory / "history.db"
    file.write_bytes(await asyncio.to_thread(_file, jobs))
    reading = create_engine(parse_url(f"sqlite:///{file}"), read_only=True)
    reader = HistoryReader(reading, CLUSTER, clock=world.clock)
    world.have(History(reader))
    try:
        yield Past(world, reader)
    finally:
        await reading.dispose()
