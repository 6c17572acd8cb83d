"""Figures from a Prometheus, played by a server that may answer anything."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from kubedl.serving.rollout import prometheus
from kubedl.serving.rollout.analysis import WINDOW, Metrics
from kubedl.serving.rollout.prometheus import MetricsUnavailableError, Prometheus
from kubedl.serving.rollout.promql import ISTIO, TRAEFIK, Queries, Target

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SINCE = NOW - timedelta(seconds=90)
TARGET = Target("team", "hello-a-next", 8080)
LABEL = "team-hello-a-next-http-8080@kubernetesgateway"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[[Handler], Awaitable[str]]


@pytest_asyncio.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest_asyncio.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start a server that answers everything so, and return its address."""
    servers: list[TestServer] = []

    async def start(handler: Handler) -> str:
        application = web.Application()
        application.router.add_get("/{path:.*}", handler)
        servers.append(TestServer(application))
        await servers[-1].start_server()
        return str(servers[-1].make_url("")).rstrip("/")

    yield start
    for server in servers:
        await server.close()


def vector(*values: str) -> dict[str, Any]:
    """An instant vector, as Prometheus writes it."""
    result = [{"metric": {}, "value": [NOW.timestamp(), value]} for value in values]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


async def test_prometheus_is_asked_about_the_version_since_its_step(
    serve: Serve, session: aiohttp.ClientSession
) -> None:
    asked: list[tuple[str, str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.path, request.query["query"], request.query["time"]))
        if "quantile" in request.query["query"]:
            return web.json_response(vector("0.25"))
        return web.json_response(vector("5.01" if "5.." in request.query["query"] else "199.6"))

    source = Prometheus(session, await serve(answer) + "/base/")
    assert await source.metrics(TARGET, SINCE, NOW) == Metrics(200, 5, timedelta(milliseconds=250))
    assert {path for path, _, _ in asked} == {"/base/api/v1/query"}
    assert {moment for _, _, moment in asked} == {f"{NOW.timestamp():.3f}"}
    selector = f'traefik_service_requests_total{{service="{LABEL}"}}[90s]'
    assert any(f"increase({selector})" in query for _, query, _ in asked)


@pytest.mark.parametrize("queries", [TRAEFIK, ISTIO])
async def test_every_word_of_a_query_is_filled_in(
    serve: Serve, session: aiohttp.ClientSession, queries: Queries
) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.query["query"])
        return web.json_response(vector())

    source = Prometheus(session, await serve(answer), queries)
    assert await source.metrics(TARGET, NOW, NOW) == Metrics(0, 0, None)
    assert not any("$" in query for query in asked)
    assert all("[1s]" in query for query in asked)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1"])
async def test_a_number_that_is_none_is_not_known(serve: Serve, session: aiohttp.ClientSession, value: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(vector(value))

    assert await Prometheus(session, await serve(answer)).metrics(TARGET, SINCE, NOW) == Metrics(0, 0, None)


async def test_more_failures_than_requests_are_as_many(serve: Serve, session: aiohttp.ClientSession) -> None:
    """Prometheus extrapolates each series on its own."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response(vector("12.4" if "5.." in request.query["query"] else "11.6"))

    assert (await Prometheus(session, await serve(answer)).metrics(TARGET, SINCE, NOW)).failures == 12


async def test_a_scalar_is_a_number_too(serve: Serve, session: aiohttp.ClientSession) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"status": "success", "data": {"resultType": "scalar", "result": [1, "3"]}})

    found = await Prometheus(session, await serve(answer)).metrics(TARGET, SINCE, NOW)
    assert found == Metrics(3, 3, timedelta(seconds=3))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"status":"error","error":"secret"}',
        b'{"status":"success","data":{"resultType":"matrix","result":[]}}',
        b'{"status":"success","data":{"resultType":"scalar","result":[1,"many"]}}',
        b'{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"1"]},{"value":[1,"2"]}]}}',
        b'{"status":"success","data":{"resultType":"vector","result":[{"value":1}]}}',
        b'{"status":"success","data":{"resultType":"vector","result":[3]}}',
        b'{"status":"success","data":{"resultType":"scalar","result":[1]}}',
    ],
)
async def test_what_prometheus_should_not_say_is_no_figure(
    serve: Serve, session: aiohttp.ClientSession, body: bytes
) -> None:
    """And is not repeated: the address may be one that its user should not see."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body)

    with pytest.raises(MetricsUnavailableError, match="is not a number") as refusal:
        await Prometheus(session, await serve(answer)).metrics(TARGET, SINCE, NOW)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_another_answer_than_200_is_no_figure(serve: Serve, session: aiohttp.ClientSession, status: int) -> None:
    """A redirection is not followed."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": f"/other{request.path}"})

    with pytest.raises(MetricsUnavailableError, match=str(status)):
        await Prometheus(session, await serve(answer)).metrics(TARGET, SINCE, NOW)


async def test_nobody_there_is_no_figure(session: aiohttp.ClientSession) -> None:
    with pytest.raises(MetricsUnavailableError, match="Prometheus does not answer"):
        await Prometheus(session, "http://127.0.0.1:1").metrics(TARGET, SINCE, NOW)


async def test_an_invalid_name_is_not_asked_about(serve: Serve, session: aiohttp.ClientSession) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.json_response(vector("1"))

    source = Prometheus(session, await serve(answer))
    with pytest.raises(MetricsUnavailableError, match="name of the Service"):
        await source.metrics(Target("team", 'chat"} or sum(up) #', 8080), SINCE, NOW)
    assert asked == []


async def test_an_answer_without_end_is_no_figure(
    serve: Serve, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "LARGEST_ANSWER", 10_000)

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 4095 + b"\n")
            await asyncio.sleep(0)

    with pytest.raises(MetricsUnavailableError, match="is larger than"):
        await Prometheus(session, await serve(answer)).metrics(TARGET, SINCE, NOW)


async def test_prometheus_is_asked_about_the_last_minutes_of_a_long_step(
    serve: Serve, session: aiohttp.ClientSession
) -> None:
    async def answer(request: web.Request) -> web.Response:
        recent = "[300s]" in request.query["query"]
        if "quantile" in request.query["query"]:
            return web.json_response(vector("0.5" if recent else "0.25"))
        return web.json_response(vector("60" if recent else "400000"))

    source = Prometheus(session, await serve(answer))
    found = await source.metrics(TARGET, NOW - timedelta(hours=12), NOW)
    assert found.recent == Metrics(60, 60, timedelta(milliseconds=500))
    assert (await source.metrics(TARGET, NOW - WINDOW, NOW)).recent is None
