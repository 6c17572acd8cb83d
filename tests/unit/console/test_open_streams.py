"""Streams of lists and logs: how many one person has, and for how long a log may be read."""

import asyncio

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from kubedl.console import live_log, open_streams
from kubedl.console.access import ProxyAccess
from kubedl.console.open_streams import OpenStreams
from kubedl.console.people import Person
from kubedl.console.problems import RefusalError
from kubedl.kube.credentials import Credentials
from tests.unit.console.test_server import JOB, browsing
from tests.unit.console.world import SERVER, World


@pytest.mark.parametrize("ended", ["sign-in", "right"])
async def test_a_log_ends_with_what_allows_it(world: World, monkeypatch: pytest.MonkeyPatch, ended: str) -> None:
    """The API server asks once, when a log is opened; it goes on for as long as its pod."""
    more = asyncio.Event()

    async def log(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"step 1\n")
        await more.wait()
        await answer.write(b"step 2\n")
        return answer

    api = web.Application()
    api.router.add_get("/{path:.*}", log)
    world.put_pod("nlp", "bert-worker-0", world.put_job("nlp", "bert"))
    world.reviewer.let("ada", "nlp", "pods/log", "get")
    monkeypatch.setattr(live_log, "AGAIN", 0.0)
    async with TestServer(api) as server:
        access = ProxyAccess(world.reviews, Credentials(str(server.make_url("")).rstrip("/"), None))
        async with browsing(world.console(access)) as browser:
            header = {"Authorization": "Bearer token-of-ada"}
            answer = await browser.get(f"{JOB}/logs/bert-worker-0?lines=10", headers=header)
            assert await answer.content.readline() == b"step 1\n"
            world.clock.now += 60
            world.reviewer.tokens.clear() if ended == "sign-in" else world.reviewer.acts.clear()
            more.set()
            assert await answer.content.read() == b""


async def test_the_log_of_a_pod_without_a_node_is_empty(world: World) -> None:
    """The API server answers 204 for it."""

    async def nothing(_: web.Request) -> web.Response:
        return web.Response(status=204)

    api = web.Application()
    api.router.add_get("/{path:.*}", nothing)
    world.put_pod("nlp", "bert-worker-0", world.put_job("nlp", "bert"))
    world.reviewer.let("ada", "nlp", "pods/log", "get")
    async with TestServer(api) as server:
        access = ProxyAccess(world.reviews, Credentials(str(server.make_url("")).rstrip("/"), None))
        async with browsing(world.console(access)) as browser:
            header = {"Authorization": "Bearer token-of-ada"}
            answer = await browser.get(f"{JOB}/logs/bert-worker-0?lines=10", headers=header)
            assert (answer.status, await answer.read()) == (200, b"")


async def test_one_person_does_not_hold_all_connections(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_streams, "MOST", 2)
    console = world.console(ProxyAccess(world.reviews, SERVER))
    async with TestServer(console.application(), handler_cancellation=True) as server, ClientSession() as session:
        url = server.make_url("/api/v1/stream")
        ada, ben = ({"Authorization": f"Bearer token-of-{name}"} for name in ("ada", "ben"))
        async with asyncio.timeout(20), session.get(url, headers=ada), session.get(url, headers=ada):
            async with session.get(url, headers=ada) as third:
                assert (third.status, "ada has 2" in (await third.json())["why"]) == (429, True)
            async with session.get(url, headers=ben) as other:
                assert other.status == 200


def test_a_stream_that_ends_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_streams, "MOST", 1)
    counted = OpenStreams()
    for _ in range(2):
        with counted.one_of(Person("ada")), pytest.raises(RefusalError), counted.one_of(Person("ada", "uid")):
            pass
