"""Jobs that were deleted: nothing of kinds and namespaces that a person may not list, in lists, pages and errors."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import update

from harness.drivers.recorded_past import PastJob
from kubedl.console import history_reader, history_rights
from kubedl.console.history_source import History, Wanted, opened
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.wire_history import PastJobList
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.tables import events, pods
from kubedl.kube.types.meta import ObjectKey
from tests.unit.console.past import DAY, HIDDEN, JOBS, Past, with_history
from tests.unit.console.world import JOBS as PYTORCH
from tests.unit.console.world import NOW, World, caller

SOURCE = Path(__file__).parents[3] / "src"
ADA, BEN, ROOT, NOBODY = caller("ada"), caller("ben"), caller("root"), caller("nobody")
TF = "tfjobs.training.kubedl.io"
BERT = JOBS[0]


@pytest.fixture
async def past(world: World, tmp_path: Path) -> AsyncIterator[Past]:
    """Ada may list PyTorchJobs of nlp, Ben those of vision, and root all jobs everywhere."""
    world.reviewer.allow("root", "", PYTORCH, TF, "pods", "events")
    async with with_history(world, tmp_path) as made:
        yield made


async def listed(past: Past, who: Caller = ADA, after: str = "", **wanted: str) -> PastJobList:
    """A page of the list."""
    return await past.world.pages.of_past.deleted_jobs(who, Wanted(**wanted), after)


async def refused(
    past: Past, who: Caller, name: str, uid: str, namespace: str = "nlp", kind: str = "pytorchjob"
) -> tuple[int, str]:
    """How the page of a job is refused."""
    with pytest.raises(RefusalError) as refusal:
        await past.world.pages.of_past.job(who, kind, ObjectKey(namespace, name), uid)
    return refusal.value.status, str(refusal.value)


async def test_what_names_a_job_of_another_namespace_is_not_shown_with_it(past: Past, tmp_path: Path) -> None:
    """Whoever writes a pod or an event chooses the uid that it names."""
    writing = create_engine(parse_url(f"sqlite:///{tmp_path / 'history.db'}"))
    async with writing.begin() as connection:
        elsewhere = update(pods).where(pods.c.namespace == "vision").values(job_uid=BERT.uid, created=NOW)
        await connection.execute(elsewhere)
        about = update(events).where(events.c.namespace == "vision").values(object_uid=BERT.uid, created=NOW)
        await connection.execute(about)
    await writing.dispose()
    page = await past.world.pages.of_past.job(ADA, "pytorchjob", ObjectKey("nlp", "bert"), BERT.uid)
    assert HIDDEN not in repr(page)
    assert page.pods
    assert page.events
    found = await past.reader.logs({BERT.kind: frozenset({"nlp"})}, BERT.uid)
    assert found is not None
    assert {one.log_location for one in found.logs} == {None, BERT.log}


async def test_a_person_sees_deleted_jobs_of_what_they_may_list(past: Past) -> None:
    """Not other kinds of the same namespace, not the same kind of others, and not jobs that still exist."""
    page = await listed(past)
    assert [row.name for row in page.rows] == ["bert", "resnet", "old"]
    assert HIDDEN not in repr(page)
    assert "vision" not in repr(page)
    assert page.hidden_namespaces == 1
    assert [row.name for row in (await listed(past, BEN)).rows] == [HIDDEN]
    everything = (await listed(past, ROOT)).rows
    assert [(row.namespace, row.kind) for row in everything if row.name == HIDDEN] in (
        [("nlp", "TFJob"), ("vision", "PyTorchJob")],
        [("vision", "PyTorchJob"), ("nlp", "TFJob")],
    )
    assert not (await listed(past, NOBODY)).rows


async def test_a_namespace_is_hidden_if_nothing_of_it_may_be_seen(past: Past) -> None:
    """Whoever may list one kind everywhere sees something of each."""
    past.world.reviewer.allow("half", "", PYTORCH)
    page = await listed(past, caller("half"))
    assert {row.kind for row in page.rows} == {"PyTorchJob"}
    assert page.hidden_namespaces == 0
    assert (await listed(past, NOBODY)).hidden_namespaces == 2


async def test_a_right_that_is_taken_away_ends_within_a_minute(past: Past) -> None:
    assert (await listed(past)).rows
    past.world.reviewer.allowed.clear()
    past.world.clock.now += 56
    assert not (await listed(past)).rows


async def test_pages_are_full_whatever_is_hidden_between(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may not be seen is left out by the query, not after it; the cursor leads on."""
    monkeypatch.setattr(history_reader, "PAGE", 4)
    many = [
        PastJob(namespace, f"run-{number}", NOW - number * DAY)
        for number in range(6)
        for namespace in ("nlp", "vision")
    ]
    async with with_history(world, tmp_path, tuple(many)) as past:
        first = await listed(past)
        second = await listed(past, after=first.next)
    assert (len(first.rows), len(second.rows), second.next) == (4, 2, "")
    assert [row.name for row in (*first.rows, *second.rows)] == [f"run-{number}" for number in range(6)]


async def test_filters_are_those_of_the_query(past: Past) -> None:
    assert [row.name for row in (await listed(past, user="mei.lin")).rows] == ["bert", "old"]
    assert [row.name for row in (await listed(past, state="Failed")).rows] == ["resnet"]
    assert [row.name for row in (await listed(past, text="ber")).rows] == ["bert"]
    assert [row.name for row in (await listed(past, queue="gpus", kind="pytorch", namespace="nlp")).rows] == [
        "bert",
        "old",
    ]
    assert not (await listed(past, kind="mpijob")).rows


async def test_a_foreign_namespace_and_one_that_is_not_there_answer_alike(past: Past) -> None:
    """Lists and pages; only the name that was asked for differs."""
    answers = []
    for namespace in ("vision", "absent"):
        with pytest.raises(RefusalError) as refusal:
            await listed(past, namespace=namespace)
        answers.append((refusal.value.status, str(refusal.value).replace(namespace, "")))
    assert answers[0] == answers[1]
    assert answers[0][0] == 403
    foreign = next(job for job in JOBS if job.namespace == "vision")
    known, unknown = [await refused(past, ADA, HIDDEN, uid, "vision") for uid in (foreign.uid, "no-such-uid")]
    assert known == unknown
    assert known[0] == 403


async def test_a_uid_opens_nothing_under_another_name(past: Past) -> None:
    """Neither with the namespace, nor with the kind, nor with the name of a job that may be seen."""
    other, foreign = JOBS[4], JOBS[5]
    absent = await refused(past, ADA, HIDDEN, "no-such-uid")
    assert absent[0] == 404
    assert await refused(past, ADA, HIDDEN, foreign.uid) == absent
    assert await refused(past, ADA, HIDDEN, other.uid) == absent
    assert await refused(past, ADA, HIDDEN, BERT.uid) == absent
    assert (await refused(past, ADA, HIDDEN, other.uid, kind="tfjob"))[0] == 403


async def test_the_page_of_a_job_has_all_that_is_recorded(past: Past) -> None:
    page = await past.world.pages.of_past.job(ADA, "pytorchjob", ObjectKey("nlp", "bert"), BERT.uid)
    assert (page.job.state, page.job.user, page.job.deletion, page.message) == (
        "Succeeded",
        "mei.lin",
        "Observed",
        "all workers succeeded",
    )
    assert page.job.deleted is not None
    assert [(pod.replica, pod.phase, pod.log) for pod in page.pods] == [
        ("worker-0", "Failed", ""),
        ("worker-0", "Succeeded", "s3://logs/nlp/bert-worker-0"),
    ]
    assert [event.message for event in page.events] == ["bert has succeeded"]
    assert page.receipt is not None
    assert page.receipt.cost is not None
    assert (page.receipt.cost.currency, page.receipt.gpu_seconds, page.receipt.lost_seconds) == ("EUR", 8 * 3660, 60)
    assert page.receipt.cost.micros == pytest.approx(8 * 2_000_000 * 3660 / 3600)
    assert not page.receipt.unpriced


async def test_what_has_no_price_is_not_free(past: Past) -> None:
    page = await past.world.pages.of_past.job(ADA, "pytorchjob", ObjectKey("nlp", "resnet"), JOBS[1].uid)
    assert page.receipt is not None
    assert page.receipt.cost is None
    assert page.receipt.unpriced
    assert [line.cost for line in page.receipt.lines] == [None]


async def test_pods_and_events_need_rights_of_their_own(past: Past) -> None:
    """An event about a pod names it."""
    past.world.reviewer.allowed -= {("ada", "pods", "nlp"), ("ada", "events", "nlp")}
    page = await past.world.pages.of_past.job(ADA, "pytorchjob", ObjectKey("nlp", "bert"), BERT.uid)
    assert (page.pods, page.events) == ((), ())
    assert [one.resource for one in page.missing] == ["pods", "events"]
    assert "s3://" not in repr(page)


async def test_a_console_of_one_namespace_shows_no_other(past: Past) -> None:
    """Also to those who may list more."""
    past.reader.only = "nlp"
    assert {row.namespace for row in (await listed(past, ROOT)).rows} == {"nlp"}
    assert not (await listed(past, ROOT, namespace="vision")).rows
    assert (await refused(past, ROOT, HIDDEN, JOBS[5].uid, "vision"))[0] == 404


async def test_a_cursor_that_is_none_is_refused(past: Past) -> None:
    with pytest.raises(RefusalError, match="no such page") as refusal:
        await listed(past, after="garbage")
    assert refusal.value.status == 400


async def test_too_many_namespaces_are_said_not_left_out(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may list everything needs no question for each of them."""
    monkeypatch.setattr(history_rights, "MOST_QUESTIONS", 1)
    with pytest.raises(RefusalError, match="too many namespaces"):
        await listed(past)
    assert (await listed(past, ROOT)).rows
    assert (await listed(past, namespace="nlp")).rows


async def test_without_a_database_the_answer_says_so(world: World) -> None:
    """The list says that there is no history, which is not the same as no jobs; a page is refused by rights first."""
    assert not (await world.pages.of_past.deleted_jobs(ADA, Wanted(), "")).installed
    for who, status in ((ADA, 404), (BEN, 403)):
        with pytest.raises(RefusalError) as refusal:
            await world.pages.of_past.job(who, "pytorchjob", ObjectKey("nlp", "bert"), "1")
        assert refusal.value.status == status


async def test_a_database_that_is_down_is_said_without_its_address(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", "postgresql://user:password@127.0.0.1:1/history")
    async with opened("prod-1", "") as history:
        world.have(history)
        with pytest.raises(RefusalError, match="the history cannot be read now") as refusal:
            await world.pages.of_past.deleted_jobs(ADA, Wanted(), "")
    assert refusal.value.status == 503
    assert "127.0.0.1" not in str(refusal.value)
    world.put_job("nlp", "bert")
    assert len((await world.pages.jobs(ADA)).rows) == 1


async def test_an_address_that_is_none_stops_no_console(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", "nonsense")
    async with opened("prod-1", "") as history:
        world.have(history)
        with pytest.raises(RefusalError, match="not valid"):
            await world.pages.of_past.deleted_jobs(ADA, Wanted(), "")


async def test_without_an_address_there_is_no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEDL_HISTORY_DATABASE", raising=False)
    async with opened("prod-1", "") as history:
        assert history == History()
        assert not history.installed


def test_the_console_does_not_need_the_packages_of_the_history() -> None:
    """They are an extra; only a console that has a database loads them."""
    blocked = "import sys; sys.modules |= dict.fromkeys(('sqlalchemy', 'alembic', 'asyncpg', 'aiosqlite'))"
    script = f"""{blocked}
import asyncio, os
import kubedl.entrypoints.console
from kubedl.console.history_source import opened
from kubedl.console.problems import RefusalError
os.environ["KUBEDL_HISTORY_DATABASE"] = "sqlite:///none.db"
async def main():
    async with opened("", "") as history:
        try:
            history.insist()
        except RefusalError as error:
            print(error)
asyncio.run(main())
"""
    environment = {"PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert "the packages of kubedl[history] are not installed" in done.stdout, done.stderr
