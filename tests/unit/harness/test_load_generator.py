"""The load generator keeps its pace and accounts for every request."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from harness.drivers.load_generator import FEW, LATEST, Order, Report, Request, main, send
from testbed.errors import TestbedError


def request(at: float, by: str = "a", failure: str = "", took: float = 0.1, late: float = 0.0) -> Request:
    return Request(at, took, by, failure, late)


@pytest_asyncio.fixture
async def url() -> AsyncIterator[str]:
    """A server that answers in turn: a, b, an error, nonsense."""
    seen = 0

    async def answer(asked: web.Request) -> web.Response:
        nonlocal seen
        seen += 1
        if asked.host != "hello.team.example.org":
            return web.Response(status=404)
        answers = (
            web.json_response({"by": "a", "body": await asked.text()}),
            web.json_response({"by": "b", "body": ""}),
            web.Response(status=503),
            web.Response(text="nonsense"),
        )
        return answers[seen % 4]

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    server = TestServer(application)
    await server.start_server()
    yield str(server.make_url("/"))
    await server.close()


async def test_every_request_is_accounted_for(url: str) -> None:
    order = Order(url, "hello.team.example.org", rate=1000, count=40)
    report = await send(order, asyncio.Event())
    assert report.answered() == {"a": 10, "b": 10}
    assert sorted({one.failure for one in report.failed}) == ["503", "not JSON"]
    assert (report.sent, len(report.failed)) == (40, 20)


async def test_an_answer_that_is_not_what_is_expected_has_failed(url: str) -> None:
    order = Order(url, "hello.team.example.org", rate=1000, count=8, body='{"x": 1}', expect='{\\"x\\": 1}')
    report = await send(order, asyncio.Event())
    assert sorted((one.by, one.failure) for one in report.requests if one.by) == [("a", "")] * 2 + [("b", "wrong")] * 2


async def test_nobody_there_is_a_failure() -> None:
    report = await send(Order("http://127.0.0.1:1/", "h", rate=1000, count=3), asyncio.Event())
    assert [one.failure for one in report.requests] == ["ClientConnectorError"] * 3


async def test_it_ends_when_told(url: str) -> None:
    stop = asyncio.Event()
    stop.set()
    assert (await send(Order(url, "h", rate=1000), stop)).sent == 0


def test_shares_are_of_answers_alone() -> None:
    report = Report((request(1, "a"), request(2, "b"), request(3, "b"), request(4, "b"), request(5, "", "503")))
    assert report.shares() == {"a": 25.0, "b": 75.0}


def test_a_time_can_be_cut_out() -> None:
    report = Report(tuple(request(at) for at in range(10)))
    assert [one.at for one in report.between(3, 6).requests] == [3, 4, 5]
    assert report.between(8).sent == 2


@pytest.mark.parametrize(("part", "expected"), [(0.5, 0.05), (0.99, 0.1), (1.0, 0.1), (0.01, 0.01)])
def test_quantiles(part: float, expected: float) -> None:
    report = Report(tuple(request(0, took=number / 100) for number in range(1, 11)))
    assert report.quantile(part) == expected


def test_of_nothing_there_is_no_quantile() -> None:
    with pytest.raises(TestbedError, match="nothing was sent"):
        Report(()).quantile(0.5)


def test_a_generator_that_lags_is_an_error() -> None:
    """Moments of a busy machine are not."""
    few, slow, punctual = int(1000 * FEW), request(0, late=LATEST * 2), request(0)
    Report((*[slow] * few, *[punctual] * (1000 - few))).insist_on_pace()
    with pytest.raises(TestbedError, match="behind"):
        Report((*[slow] * (few + 1), *[punctual] * (999 - few))).insist_on_pace()


def test_words() -> None:
    told = Report((request(1), request(2, "", "503"))).words()
    assert told == "2 requests, answered {'a': 1}, failed {'503': 1}, 1.0 to 1.0 s after the first of 1.0 s"
    assert Report((request(1),)).words() == "1 requests, answered {'a': 1}, failed {}"


def test_as_a_program_it_reads_an_order_and_writes_what_became_of_it(tmp_path: Path) -> None:
    order = Order("http://127.0.0.1:1/", "h", rate=1000, count=2)
    (tmp_path / "order").write_bytes(msgspec.json.encode(order))
    assert main([str(tmp_path / "order"), str(tmp_path / "results")]) == 0
    found = msgspec.json.decode((tmp_path / "results").read_bytes(), type=list[Request])
    assert [one.failure for one in found] == ["ClientConnectorError"] * 2
