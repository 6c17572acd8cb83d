"""Questions for progress over real sockets: what is understood, and that no request for a checkpoint waits for them."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

from kubedl.training.elastic import asking, checkpoint_token
from kubedl.training.elastic.asking import CheckpointAsker
from kubedl.training.plan import CheckpointRequest, ProgressRequest
from kubedl.training.spot import reports as reporting
from kubedl.training.spot.progress import NOTHING
from kubedl.training.spot.reports import ProgressReports
from kubedl.training_runtime import Checkpoints
from tests.training_builders import NOW, after
from tests.unit.training.elastic.test_asking import HERE, KEY, POD, Api, program

if TYPE_CHECKING:
    from kubedl.kube.client import Client

STATE = b'HTTP/1.1 200 OK\r\n\r\n{"step": 5, "total": 10, "durableStep": 4, "confirmed": "x-1"}'
JOB = "job-1"


@pytest.fixture(autouse=True)
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have no other address than those that no pod may have, and no time to wait but for a busy machine."""
    monkeypatch.setattr(asking, "allowed", lambda text: text)
    monkeypatch.setattr(asking, "SECONDS", 60.0)
    monkeypatch.setattr(reporting, "PAUSE", 0.0, raising=False)


@pytest.fixture
def checkpoints() -> Iterator[Checkpoints]:
    """The library's own server, as it is in a pod of the job."""
    made = Checkpoints(10, host=HERE, port=0, token=checkpoint_token.token(KEY, JOB))
    yield made
    made.close()


def reports(api: Api) -> ProgressReports:
    return ProgressReports(cast("Client", api), KEY, lambda: NOW)


async def asked(made: ProgressReports, port: int) -> None:
    """Ask once, to the end."""
    made.ask(JOB, ProgressRequest(POD, port))
    await asyncio.wait_for(made._jobs[JOB].task, 60)  # noqa: SLF001 - there is nothing else to wait for


async def test_a_program_says_how_far_it_is(checkpoints: Checkpoints) -> None:
    checkpoints.reached(5)
    checkpoints.saved(4)
    made = reports(Api())
    await asked(made, checkpoints.port)
    heard = made.heard(JOB)
    assert heard.report is not None
    assert (heard.report.step, heard.report.total, heard.report.durable_step) == (5, 10, 4)
    assert (heard.report.at, heard.asked_since) == (NOW, None)


async def test_the_address_of_a_pod_is_read_for_each_question() -> None:
    """Another pod may have got it, and must not get what only the program of the job may know."""
    api = Api()
    async with program(STATE) as (port, heard):
        made = reports(api)
        await asked(made, port)
        api.uid = "another"
        await asked(made, port)
    assert (api.reads, len(heard)) == (2, 1)


async def test_a_program_is_asked_no_more_often_than_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may answer something else each time, which would be written."""
    monkeypatch.setattr(reporting, "PAUSE", 10.0)
    async with program(STATE) as (port, heard):
        made = reports(Api())
        for _ in range(3):
            await asked(made, port)
        assert len(heard) == 1
        made._jobs[JOB].asked_at -= 10  # noqa: SLF001
        await asked(made, port)
    assert len(heard) == 2


@pytest.mark.parametrize(
    "answer",
    [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 401 No\r\n\r\n", b'HTTP/1.1 200 OK\r\n\r\n{"step": "many"}', b"x" * 9000],
)
async def test_any_other_answer_is_none(answer: bytes) -> None:
    async with program(answer) as (port, _):
        made = reports(Api())
        await asked(made, port)
    assert (made.heard(JOB).report, made.heard(JOB).asked_since) == (None, NOW)


async def test_what_was_said_before_stays_while_nobody_answers() -> None:
    moments = map(after, range(0, 900, 15))
    made = ProgressReports(cast("Client", Api()), KEY, lambda: next(moments))
    async with program(STATE) as (port, _):
        await asked(made, port)
    before = made.heard(JOB).report
    for _ in range(2):
        await asked(made, port)
    assert made.heard(JOB).report == before
    assert made.heard(JOB).asked_since == after(30)
    made.stop(JOB)
    assert made.heard(JOB).asked_since is None
    made.forget(JOB)
    assert made.heard(JOB) == NOTHING


async def test_a_program_that_reports_nothing_delays_no_checkpoint() -> None:
    """Neither its own, nor those of other programs of the namespace: questions have turns of their own."""
    silent = b"HTTP/1.1 200 OK\r\n"  # the rest never comes
    answer = b'HTTP/1.1 202 Accepted\r\n\r\n{"confirmed": "uid-1", "step": null, "total": "none"}'
    async with program(silent, hangs=True) as (slow, heard), program(answer) as (quick, _):
        made = reports(Api())
        for number in range(64):
            made.ask(f"silent-{number}", ProgressRequest(POD, slow))
        async with asyncio.timeout(60):
            while len(heard) < reporting.OF_A_NAMESPACE:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
        asker = CheckpointAsker(cast("Client", Api()), KEY)
        asker.ask(JOB, CheckpointRequest(POD, quick, "uid-1"))
        await asyncio.wait_for(asker._jobs[JOB].task, asking.SECONDS / 2)  # noqa: SLF001
        for number in range(64):
            made.forget(f"silent-{number}")
        await asyncio.sleep(0)


async def test_a_checkpoint_is_confirmed_whatever_is_said_of_progress() -> None:
    """What a request needs to know is read alone."""
    odd = b'HTTP/1.1 200 OK\r\n\r\n{"confirmed": "uid-1", "step": null, "total": "none", "durableStep": 1e99}'
    async with program(odd) as (port, _):
        assert (await asking.read_state(HERE, port, "x", asking._STATE)).confirmed == "uid-1"  # noqa: SLF001


async def test_a_question_ends_when_a_checkpoint_is_asked_for() -> None:
    async with program(b"", hangs=True) as (port, _):
        made = reports(Api())
        made.ask(JOB, ProgressRequest(POD, port))
        await asyncio.sleep(0.05)
        made.stop(JOB)
        task = made._jobs[JOB].task  # noqa: SLF001
        await asyncio.wait([task], timeout=asking.SECONDS / 2)
        assert task.cancelled()
