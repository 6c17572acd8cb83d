"""Figures from a Prometheus and from a gateway's page, each played by a server that may answer anything."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from kubedl.serving import analysis
from kubedl.serving.analysis import GatewayPage, Prometheus, UnmeasuredError
from kubedl.serving.queries import ISTIO, TRAEFIK, Queries, Target
from kubedl.serving.verdict import WINDOW, Figures

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


def page(requests: int, failures: int, slow: int = 0) -> str:
    """Traefik's page: so many answers, so many of them 502, so many of the others in more than 0.1 seconds."""
    name, lines = "traefik_service_request_duration_seconds", []
    for code, count, late in (("200", requests - failures, slow), ("502", failures, 0)):
        labels = f'code="{code}",method="POST",protocol="http",service="{LABEL}"'
        lines += [
            f'{name}_bucket{{{labels},le="0.1"}} {count - late}',
            f'{name}_bucket{{{labels},le="0.3"}} {count}',
            f'{name}_bucket{{{labels},le="+Inf"}} {count}',
            f"{name}_count{{{labels}}} {count}",
        ]
    return "\n".join((f"# TYPE {name} histogram", *lines, ""))


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
    assert await source.figures(TARGET, SINCE, NOW) == Figures(200, 5, timedelta(milliseconds=250))
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
    assert await source.figures(TARGET, NOW, NOW) == Figures(0, 0, None)
    assert not any("$" in query for query in asked)
    assert all("[1s]" in query for query in asked)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1"])
async def test_a_number_that_is_none_is_not_known(serve: Serve, session: aiohttp.ClientSession, value: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(vector(value))

    assert await Prometheus(session, await serve(answer)).figures(TARGET, SINCE, NOW) == Figures(0, 0, None)


async def test_more_failures_than_requests_are_as_many(serve: Serve, session: aiohttp.ClientSession) -> None:
    """Prometheus extrapolates each series on its own."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response(vector("12.4" if "5.." in request.query["query"] else "11.6"))

    assert (await Prometheus(session, await serve(answer)).figures(TARGET, SINCE, NOW)).failures == 12


async def test_a_scalar_is_a_number_too(serve: Serve, session: aiohttp.ClientSession) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"status": "success", "data": {"resultType": "scalar", "result": [1, "3"]}})

    found = await Prometheus(session, await serve(answer)).figures(TARGET, SINCE, NOW)
    assert found == Figures(3, 3, timedelta(seconds=3))


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

    with pytest.raises(UnmeasuredError, match="is not a number") as refusal:
        await Prometheus(session, await serve(answer)).figures(TARGET, SINCE, NOW)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_another_answer_than_200_is_no_figure(serve: Serve, session: aiohttp.ClientSession, status: int) -> None:
    """A redirection is not followed."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": f"/other{request.path}"})

    with pytest.raises(UnmeasuredError, match=str(status)):
        await Prometheus(session, await serve(answer)).figures(TARGET, SINCE, NOW)


async def test_nobody_there_is_no_figure(session: aiohttp.ClientSession) -> None:
    with pytest.raises(UnmeasuredError, match="request for metrics failed"):
        await Prometheus(session, "http://127.0.0.1:1").figures(TARGET, SINCE, NOW)


@pytest.mark.parametrize(("kind", "limit"), [(GatewayPage, "LARGEST_PAGE"), (Prometheus, "LARGEST_ANSWER")])
async def test_an_answer_without_end_is_no_figure(
    serve: Serve,
    session: aiohttp.ClientSession,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[GatewayPage] | type[Prometheus],
    limit: str,
) -> None:
    monkeypatch.setattr(analysis, limit, 10_000)

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 4095 + b"\n")
            await asyncio.sleep(0)

    with pytest.raises(UnmeasuredError, match="is larger than"):
        await kind(session, await serve(answer)).figures(TARGET, SINCE, NOW)


@pytest.mark.parametrize("line", [b" " * 100_000, page(1, 0).encode() * 2000])
async def test_no_more_of_a_page_is_kept_than_is_needed(
    serve: Serve, session: aiohttp.ClientSession, line: bytes
) -> None:
    """Neither a line without end nor a backend without end."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=line)

    with pytest.raises(UnmeasuredError, match="has no metrics"):
        await GatewayPage(session, await serve(answer)).figures(TARGET, SINCE, NOW)


async def test_a_page_of_many_services_is_read_in_parts(serve: Serve, session: aiohttp.ClientSession) -> None:
    """Wherever it is cut; what is not about the backend is let go by."""
    others = page(7, 0).replace(LABEL, "team-other-http-8080@kubernetesgateway") * 3000
    asked = iter(((0, 0), (20, 3)))

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=others + page(*next(asked)) + others)

    source = GatewayPage(session, await serve(answer))
    await source.figures(TARGET, SINCE, NOW)
    found = await source.figures(TARGET, SINCE, NOW)
    assert (found.requests, found.failures) == (20, 3)


async def test_a_gateways_page_is_compared_with_what_it_was(serve: Serve, session: aiohttp.ClientSession) -> None:
    pages = iter((page(1000, 900), page(1100, 905, slow=20), page(1200, 905, slow=120)))

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=next(pages))

    source = GatewayPage(session, await serve(answer))
    assert await source.figures(TARGET, SINCE, NOW) == Figures(0, 0, None)
    second = await source.figures(TARGET, SINCE, NOW)
    assert (second.requests, second.failures) == (100, 5)
    assert second.p99 is not None
    assert timedelta(milliseconds=280) < second.p99 < timedelta(milliseconds=300)
    assert (await source.figures(TARGET, SINCE, NOW)).requests == 200


async def test_a_service_with_two_dashes_is_found_under_traefiks_name(
    serve: Serve, session: aiohttp.ClientSession
) -> None:
    pages = iter((page(0, 0), page(20, 3)))

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=next(pages))

    source, target = GatewayPage(session, await serve(answer)), Target("team", "hello--a-next", 8080)
    await source.figures(target, SINCE, NOW)
    assert (await source.figures(target, SINCE, NOW)).requests == 20


async def test_a_new_step_counts_anew(serve: Serve, session: aiohttp.ClientSession) -> None:
    """As do a gateway that has started anew and a version that was forgotten."""
    pages = iter((page(10, 0), page(20, 5), page(30, 5), page(3, 0), page(5, 1), page(9, 9)))

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=next(pages))

    source = GatewayPage(session, await serve(answer))
    seen = [await source.figures(TARGET, SINCE, NOW) for _ in range(2)]
    seen += [await source.figures(TARGET, NOW, NOW) for _ in range(3)]
    source.forget(TARGET)
    seen.append(await source.figures(TARGET, NOW, NOW))
    assert [(one.requests, one.failures) for one in seen] == [(0, 0), (10, 5), (0, 0), (0, 0), (2, 1), (0, 0)]


async def test_a_page_that_cannot_be_read_is_no_figure(serve: Serve, session: aiohttp.ClientSession) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=page(3, 0).replace(" 3", " many"))

    with pytest.raises(UnmeasuredError, match="has no metrics"):
        await GatewayPage(session, await serve(answer)).figures(TARGET, SINCE, NOW)


async def test_prometheus_is_asked_about_the_last_minutes_of_a_long_step(
    serve: Serve, session: aiohttp.ClientSession
) -> None:
    async def answer(request: web.Request) -> web.Response:
        recent = "[300s]" in request.query["query"]
        if "quantile" in request.query["query"]:
            return web.json_response(vector("0.5" if recent else "0.25"))
        return web.json_response(vector("60" if recent else "400000"))

    source = Prometheus(session, await serve(answer))
    found = await source.figures(TARGET, NOW - timedelta(hours=12), NOW)
    assert found.recent == Figures(60, 60, timedelta(milliseconds=500))
    assert (await source.figures(TARGET, NOW - WINDOW, NOW)).recent is None


async def test_the_page_is_remembered_for_some_minutes(serve: Serve, session: aiohttp.ClientSession) -> None:
    """What came in them is known after them, whatever came before; little is kept."""
    counts = [0, 0]

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=page(*counts))

    source = GatewayPage(session, await serve(answer))
    since = now = NOW
    for _ in range(400):
        now += timedelta(seconds=2)
        counts[0] += 20
        found = await source.figures(TARGET, since, now)
    assert (found.requests, found.failures) == (20 * 399, 0)
    counts = [counts[0] + 20, 20]
    found = await source.figures(TARGET, since, now + timedelta(seconds=2))
    assert found.recent is not None
    assert found.recent.failures == 20
    assert 3000 <= found.recent.requests <= 3200
    assert len(source._begun[TARGET]._kept) <= analysis.KEPT + 2  # noqa: SLF001 - that memory is bounded
    counts = [5, 0]  # the gateway has started anew
    assert await source.figures(TARGET, since, now + timedelta(seconds=4)) == Figures(0, 0, None)
