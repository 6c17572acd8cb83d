"""A database whose disk is full: states wait, and are written when there is room again."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from harness.drivers.databases import Database, MariaDB, Postgres
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.migrate import migrate
from testbed.waiting import until
from tests.history.builders import job, job_row, uid
from tests.history.test_faults import DEADLINE, wait_for, writing

SIZE = 400 << 20  # bytes of the disk
NAMES = 3000  # jobs, several times what fits into the room that is left
ROOM = 2 << 20

SMALL: dict[str, Callable[[], Database]] = {
    "postgresql": lambda: Postgres("fsync=off", "min_wal_size=32MB", "max_wal_size=48MB", "wal_recycle=off"),
    "mariadb": lambda: MariaDB("innodb-flush-log-at-trx-commit=2", "innodb-log-file-size=16M"),
}


@pytest.fixture(params=SMALL)
def small_disk(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A server with all its files on a small disk in memory."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    database: Database = SMALL[request.param]()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "kubedl-test", str(database.directory)], check=True)
    try:
        with database:
            yield database
    finally:
        subprocess.run(["umount", "--lazy", str(database.directory)], check=True)
        with suppress(OSError):
            database.directory.rmdir()


def fill(directory: Path) -> Path:
    """Leave no more than ROOM."""
    ballast = directory / "ballast"
    free = os.statvfs(directory).f_bavail * os.statvfs(directory).f_frsize
    with suppress(OSError), ballast.open("wb") as file:  # the server may take some of it meanwhile
        for _ in range(max(0, free - ROOM) >> 20):
            file.write(b"x" * (1 << 20))
    return ballast


async def test_a_full_disk_is_waited_for(small_disk: Database) -> None:
    """Nothing is dropped as invalid; a server that ended over it is started again, as its supervisor does."""
    engine = create_engine(parse_url(small_disk.url()))
    await migrate(engine)
    identities = [uid() for _ in range(NAMES)]
    registry = CollectorRegistry()
    async with writing(engine, "full", registry=registry) as pending:
        pending.add(job_row(job("before", version=1)))
        await wait_for(engine, "full", [("before", 1)])
        ballast = await asyncio.to_thread(fill, small_disk.directory)
        for number, identity in enumerate(identities):
            pending.add(job_row(job(f"job-{number}", identity=identity, version=2)))
        failures = partial(registry.get_sample_value, "kubedl_recorder_failures_total", {"sink": "database"})
        await asyncio.to_thread(until, "a write that fails", failures, deadline=DEADLINE)
        assert len(pending) > 0
        await asyncio.to_thread(ballast.unlink)
        await asyncio.to_thread(small_disk.revive)
        await wait_for(engine, "full", sorted([("before", 1), *((f"job-{number}", 2) for number in range(NAMES))]))
        assert not registry.get_sample_value("kubedl_recorder_rejected_total", {"sink": "database"})
    await engine.dispose()
