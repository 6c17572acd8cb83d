"""The archive beside storage, database and kubelets that fail."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from kubedl.history.logs.bucket_settings import BucketError, ObjectRefusedError
from kubedl.history.logs.container_run import ContainerRun
from kubedl.history.logs.log_archive import LogArchive, StoredLog
from kubedl.history.logs.log_metrics import LogMetrics
from kubedl.history.logs.log_reader import Log, LogGoneError, LogUnreadableError
from kubedl.history.sink import SinkUnavailableError
from kubedl.kube.types.meta import ObjectKey

pytestmark = pytest.mark.looptime


def run(uid: str, restart: int = 0) -> ContainerRun:
    """A run of a pod."""
    created = datetime(2026, 11, 17, tzinfo=UTC)
    return ContainerRun(ObjectKey("team", f"pod-{uid}"), uid, created, "TFJob", "job", "job-uid", "main", restart)


class World:
    """Kubelets, a bucket and a database in memory."""

    def __init__(self) -> None:
        self.gone: set[str] = set()
        self.too_large: set[str] = set()
        self.unreadable = 0
        self.bucket_down = self.database_down = self.no_rows = False
        self.objects: dict[str, bytes] = {}
        self.uploads = 0
        self.rows: dict[str, StoredLog] = {}

    async def read(self, run: ContainerRun) -> Log:
        await asyncio.sleep(0.1)
        if run.uid in self.gone:
            raise LogGoneError("gone")
        if self.unreadable:
            self.unreadable -= 1
            raise LogUnreadableError("the node does not answer")
        return Log(b"first line\nlog of %s\n" % run.uid.encode(), cut=run.uid == "long")

    async def store(self, run: ContainerRun, body: bytes, *, cut: bool) -> str:
        await asyncio.sleep(0.1)
        if self.bucket_down:
            raise BucketError("down")
        if run.uid in self.too_large:
            raise ObjectRefusedError("too large")
        self.uploads += 1
        key = run.key("", "prod")
        self.objects[key] = body
        return key

    async def newest(self, run: ContainerRun) -> int | None:
        if self.database_down:
            raise SinkUnavailableError("down")
        known = self.rows.get(run.uid)
        return known.restart if known is not None else None

    async def record(self, run: ContainerRun, stored: StoredLog) -> bool:
        if self.database_down:
            raise SinkUnavailableError("down")
        if not self.no_rows:
            self.rows[run.uid] = stored
        return not self.no_rows


@asynccontextmanager
async def archiving(world: World, most: int = 100) -> AsyncIterator[tuple[LogArchive, CollectorRegistry]]:
    """An archive that runs."""
    registry = CollectorRegistry()
    archive = LogArchive(world, world, world, LogMetrics(registry), most_waiting=most)
    task = asyncio.ensure_future(archive.run())
    try:
        yield archive, registry
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def count(registry: CollectorRegistry, outcome: str) -> float | None:
    """How many logs ended so."""
    return registry.get_sample_value("kubedl_recorder_logs_total", {"outcome": outcome})


async def test_a_log_is_stored_once_and_recorded() -> None:
    """However often its pod is observed; a later run is another log."""
    world = World()
    async with archiving(world) as (archive, registry):
        for _ in range(3):
            archive.observed("a", [run("a")], deleted=False)
            await asyncio.sleep(5)
        archive.observed("a", [run("a"), run("a", 1)], deleted=False)
        await asyncio.sleep(5)
        assert world.uploads == len(world.objects) == 2
        assert world.rows["a"].restart == 1
        assert count(registry, "whole") == 2


async def test_what_was_cut_says_so() -> None:
    """In its first line, without the rest of a line; and in the database."""
    world = World()
    async with archiving(world) as (archive, _):
        archive.observed("long", [run("long")], deleted=False)
        await asyncio.sleep(5)
    [body] = world.objects.values()
    first, *rest = gzip.decompress(body).splitlines()
    assert b"was cut; its last 12 bytes follow" in first
    assert rest == [b"log of long"]
    assert world.rows["long"].cut


async def test_a_new_recorder_repeats_only_what_was_not_recorded() -> None:
    """And replaces it: there is one object for each run."""
    world = World()
    async with archiving(world) as (archive, _):
        archive.observed("a", [run("a")], deleted=False)
        await asyncio.sleep(5)
        world.database_down = True
        archive.observed("b", [run("b")], deleted=False)
        await asyncio.sleep(5)
    world.database_down = False
    async with archiving(world) as (archive, _):
        for uid in ("a", "b"):
            archive.observed(uid, [run(uid)], deleted=False)
        await asyncio.sleep(10)
    assert (world.uploads, len(world.objects), sorted(world.rows)) == (3, 2, ["a", "b"])


async def test_a_log_that_the_storage_refuses_keeps_back_no_other() -> None:
    """As many as there are workers would stop the archive."""
    world = World()
    world.too_large = {"a", "b"}
    async with archiving(world) as (archive, registry):
        for uid in "abc":
            archive.observed(uid, [run(uid)], deleted=False)
        await asyncio.sleep(60)
        assert (sorted(world.rows), count(registry, "failed")) == (["c"], 2)


async def test_a_database_that_is_down_delays_no_log() -> None:
    """They are recorded when it is back."""
    world = World()
    world.database_down = True
    async with archiving(world) as (archive, _):
        for uid in "abcdef":
            archive.observed(uid, [run(uid)], deleted=False)
        await asyncio.sleep(10)
        assert (len(world.objects), world.rows) == (6, {})
        world.database_down = False
        await asyncio.sleep(5)
        assert sorted(world.rows) == list("abcdef")


async def test_a_bucket_that_is_down_loses_only_pods_that_are_deleted() -> None:
    """Those that wait are counted, and their age is told."""
    world = World()
    world.bucket_down = True
    async with archiving(world) as (archive, registry):
        for uid in "abcd":
            archive.observed(uid, [run(uid)], deleted=False)
        await asyncio.sleep(60)
        assert registry.get_sample_value("kubedl_recorder_logs_pending") == 4
        assert (registry.get_sample_value("kubedl_recorder_logs_oldest_seconds") or 0) >= 59
        archive.observed("d", [run("d")], deleted=True)
        world.bucket_down = False
        await asyncio.sleep(90)
        assert sorted(world.rows) == list("abc")
        assert count(registry, "gone") == 1
        assert registry.get_sample_value("kubedl_recorder_logs_pending") == 0


async def test_a_log_that_is_gone_or_cannot_be_read_holds_up_no_other() -> None:
    """Each is given up in the end, and counted."""
    world = World()
    world.gone, world.unreadable = {"a"}, 10**6
    async with archiving(world) as (archive, registry):
        for uid in "abc":
            archive.observed(uid, [run(uid)], deleted=False)
        await asyncio.sleep(600)
        assert (count(registry, "gone"), count(registry, "failed")) == (1, 2)
        world.unreadable = 1
        archive.observed("d", [run("d")], deleted=False)
        await asyncio.sleep(60)
        assert sorted(world.rows) == ["d"]


async def test_what_waits_is_bounded() -> None:
    """The oldest are dropped, and counted."""
    world = World()
    world.bucket_down = True
    async with archiving(world, most=10) as (archive, registry):
        for number in range(30):
            archive.observed(str(number), [run(str(number))], deleted=False)
        await asyncio.sleep(1)
        assert count(registry, "dropped") == 20


async def test_a_pod_without_a_row_is_given_up_in_the_end() -> None:
    """Its log is stored; nothing waits forever."""
    world = World()
    world.no_rows = True
    async with archiving(world) as (archive, _):
        archive.observed("a", [run("a")], deleted=False)
        await asyncio.sleep(600)
        world.no_rows = False
        await asyncio.sleep(60)
    assert (len(world.objects), world.rows) == (1, {})
