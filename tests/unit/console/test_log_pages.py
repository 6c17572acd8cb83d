"""Archived logs of jobs that are gone: for those who may read logs there now, and in words when they cannot be read."""

import asyncio
import gzip
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubedl.console.history_source import History
from kubedl.console.log_pages import ArchivedRun
from kubedl.console.log_text import LogText
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.stored_logs import AT_ONCE, StoredLogs, reading
from kubedl.console.wire_logs import LogPage
from kubedl.history.logs.bucket_settings import BucketError
from kubedl.history.logs.stored_log import LogMissingError, StoredObject
from kubedl.kube.types.meta import ObjectKey
from tests.unit.console.past import JOBS, Past, with_history
from tests.unit.console.world import World, caller

ADA, BEN = caller("ada"), caller("ben")
BERT, RESNET = JOBS[0], JOBS[1]
NUMBER = 1000
CONTENT = b"".join(b"2026-11-18T00:00:01.%09dZ step %d\n" % (number, number) for number in range(1, NUMBER + 1))


class Storage:
    """Objects by their places."""

    def __init__(self) -> None:
        self.objects = {BERT.log: StoredObject(gzip.compress(CONTENT), timed=True)}
        self.failure: Exception | None = None
        self.asked = 0

    def read(self, location: str) -> StoredObject:
        """Return an object."""
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return self.objects[location]


@pytest.fixture
def storage() -> Storage:
    return Storage()


@pytest.fixture
async def past(world: World, storage: Storage, tmp_path: Path) -> AsyncIterator[Past]:
    """Ada may read logs of nlp, Ben may list its jobs and pods and read none."""
    world.reviewer.let("ada", "nlp", "pods/log", "get")
    world.reviewer.allow("ben", "nlp")
    async with with_history(world, tmp_path) as made:
        world.have(History(made.reader, logs=StoredLogs(storage.read)))
        yield made


async def run_of(past: Past, job: int = 0) -> ArchivedRun:
    """The run of a job's last pod."""
    key = ObjectKey("nlp", JOBS[job].name)
    page = await past.world.pages.of_past.job(ADA, "pytorchjob", key, JOBS[job].uid)
    return ArchivedRun("pytorchjob", key, JOBS[job].uid, page.pods[-1].uid)


async def lines(
    past: Past, run: ArchivedRun, who: Caller = ADA, first: int = 1, count: int = 3, at: str = ""
) -> LogPage:
    """Some lines."""
    return await past.world.pages.of_logs.lines(who, run, first, count, at)


async def refused(past: Past, run: ArchivedRun, who: Caller = ADA, at: str = "") -> tuple[int, str]:
    """How lines are refused."""
    with pytest.raises(RefusalError) as refusal:
        await lines(past, run, who, at=at)
    return refusal.value.status, f"{refusal.value} {refusal.value.why}"


async def test_lines_of_a_pod_that_is_gone(past: Past, storage: Storage) -> None:
    """From any number on; the object is got once."""
    run = await run_of(past)
    page = await lines(past, run, first=500, count=2)
    assert (page.total, page.first, [row.text for row in page.lines]) == (NUMBER, 500, ["step 500", "step 501"])
    assert [row.text for row in (await lines(past, run, first=NUMBER)).lines] == [f"step {NUMBER}"]
    assert not (await lines(past, run, first=NUMBER + 1)).lines
    assert storage.asked == 1


async def test_a_line_is_found_by_its_time_if_its_number_is_another(past: Past) -> None:
    """The node may have removed earlier lines before the log was archived."""
    run, time = await run_of(past), "2026-11-18T00:00:01.000000700Z"
    assert (await lines(past, run, first=700, at=time)).first == 700
    moved = await lines(past, run, first=950, at=time)
    assert (moved.first, moved.lines[0].text) == (700, "step 700")
    status, words = await refused(past, run, at="2026-11-17T00:00:00Z")
    assert status == 404
    assert "no line of that time was kept" in words


async def test_a_log_whose_beginning_may_be_missing_says_so(past: Past, storage: Storage) -> None:
    """By how long its container had run before it."""
    run, started = await run_of(past), datetime(2026, 11, 17, 23, 30, tzinfo=UTC)
    assert (await lines(past, run, first=700)).silent_seconds == 0
    storage.objects[BERT.log] = StoredObject(gzip.compress(CONTENT), timed=True, started=started)
    past.world.have(History(past.reader, logs=StoredLogs(storage.read)))
    assert (await lines(past, run, first=700)).silent_seconds == 1801


async def test_lines_with_a_text(past: Past) -> None:
    run = await run_of(past)
    found = await past.world.pages.of_logs.search(ADA, run, "STEP 77")
    assert [hit.line for hit in found.hits] == [77, *range(770, 780)]
    assert not found.more
    assert (await past.world.pages.of_logs.search(ADA, run, "step")).more


async def test_only_who_may_read_logs_reads_them(past: Past, storage: Storage) -> None:
    """The page of the job says so too; nothing is got from the storage for others."""
    run = await run_of(past)
    assert (await refused(past, run, BEN))[0] == 403
    assert (await refused(past, run, caller("nobody")))[0] == 403
    with pytest.raises(RefusalError):
        await past.world.pages.of_logs.search(BEN, run, "step")
    assert storage.asked == 0
    key = ObjectKey("nlp", "bert")
    for who, readable in ((ADA, True), (BEN, False)):
        page = await past.world.pages.of_past.job(who, "pytorchjob", key, BERT.uid)
        assert [pod.log_readable for pod in page.pods] == [False, readable]  # of the first nothing was archived


async def test_a_log_of_another_job_is_not_found(past: Past, storage: Storage) -> None:
    """Whatever the address says."""
    run, other = await run_of(past), await run_of(past, 1)
    assert (await refused(past, ArchivedRun("pytorchjob", run.job, run.job_uid, other.pod_uid)))[0] == 404
    assert (await refused(past, ArchivedRun("pytorchjob", run.job, other.job_uid, run.pod_uid)))[0] == 404
    assert (await refused(past, ArchivedRun("tfjob", run.job, run.job_uid, run.pod_uid)))[0] == 403
    assert storage.asked == 0


async def test_a_log_that_was_not_archived(past: Past) -> None:
    assert "was not archived" in (await refused(past, await run_of(past, 1)))[1]


@pytest.mark.parametrize(
    ("failure", "status", "words"),
    [
        (LogMissingError("404: key"), 404, "not in the archive any more"),
        (BucketError("s3.internal refuses"), 503, "its storage does not answer"),
    ],
)
async def test_a_storage_that_fails(past: Past, storage: Storage, failure: Exception, status: int, words: str) -> None:
    """Is said without the names of hosts; the next time it is asked again."""
    run, storage.failure = await run_of(past), failure
    found, said = await refused(past, run)
    assert found == status
    assert words in said
    assert "s3.internal" not in said
    storage.failure = None
    assert (await lines(past, run)).total == NUMBER


async def test_without_a_storage_the_page_says_so(past: Past) -> None:
    run = await run_of(past)
    past.world.have(History(past.reader))
    assert "no access to the storage of logs" in (await refused(past, run))[1]
    page = await past.world.pages.of_past.job(ADA, "pytorchjob", run.job, run.job_uid)
    assert not page.pods[-1].log_readable


async def test_a_storage_without_a_key_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    assert not reading("https://s3.example", "eu", "").readable
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert reading("https://s3.example", "eu", "").readable
    assert not reading("not a URL", "eu", "").readable
    assert not reading("", "eu", "").readable


async def total_of(stored: StoredLogs, location: str) -> int:
    """How many lines a log has."""
    return await stored.use(location, lambda text: text.total, cut=False)


async def test_as_many_logs_are_in_memory_as_there_is_room_for(storage: Storage) -> None:
    """While they are searched too, and also when nobody waits for that any more: a thread does not end with a page."""
    stored, go = StoredLogs(storage.read), threading.Event()
    here: list[LogText] = []

    def search(text: LogText) -> None:
        here.append(text)
        go.wait(20)

    waiting = [asyncio.create_task(stored.use(BERT.log, search, cut=False)) for _ in range(5)]
    try:
        async with asyncio.timeout(20):
            while len(here) < AT_ONCE:  # noqa: ASYNC110 - threads tell
                await asyncio.sleep(0.01)
        waiting[0].cancel()
        await asyncio.sleep(0.2)
        assert len(here) == AT_ONCE
    finally:
        go.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert len(here) == 5


async def test_old_objects_make_room(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of the console is bounded."""
    monkeypatch.setattr("kubedl.console.stored_logs.MOST_KEPT", 8 * len(storage.objects[BERT.log].body))
    for number in range(20):
        storage.objects[f"s3://{number}"] = storage.objects[BERT.log]
    stored = StoredLogs(storage.read)
    for number in range(20):
        await total_of(stored, f"s3://{number}")
    for number in range(12, 20):
        await total_of(stored, f"s3://{number}")
    assert storage.asked == 20
    await total_of(stored, "s3://0")
    assert storage.asked == 21
