"""A console that has just started, or whose API server is away, says so: it never answers that there is nothing."""

import asyncio
from typing import cast

import pytest

from kubedl.console.cache import Cache
from kubedl.console.kinds import NODES
from kubedl.console.people import Caller
from kubedl.console.problems import from_api
from kubedl.console.pulse import EVERY, Pulse
from kubedl.console.rights import Question
from kubedl.kube.client import Client
from kubedl.kube.errors import UnknownOutcomeError
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from tests.unit.console.test_server import JOB, browsing, signed_in
from tests.unit.console.world import SERVER, World

LISTS = ["jobs", "nodes", "capacity", "queues", "models", "services", "crons"]
PAGES = [JOB.removeprefix("/api/v1/"), "nodes/a", "models/nlp/a", "services/nlp/a", "crons/nlp/a"]


@pytest.mark.parametrize("path", [*LISTS, *PAGES])
async def test_nothing_is_answered_from_what_was_not_read(world: World, path: str) -> None:
    """As soon as it is read, there is an answer."""

    async def everything(caller: Caller, question: Question) -> bool:
        return question.verb == "list"

    world.rights.review = everything
    world.put_job("nlp", "bert")
    world.stores.unread = lambda name: True
    async with browsing(world.console()) as browser:
        await signed_in(browser, "token-of-ada")
        answer = await browser.get(f"/api/v1/{path}")
        problem = await answer.json()
        assert (answer.status, problem["what"]) == (503, "not known yet")
        world.stores.unread = lambda name: False
        assert (await browser.get(f"/api/v1/{path}")).status in (200, 404)


async def test_who_may_not_list_is_refused_before() -> None:
    """So that nobody learns from it what there is."""
    world = World()
    world.reviewer.tokens["token-of-ada"] = "ada"
    world.stores.unread = lambda name: True
    async with browsing(world.console()) as browser:
        await signed_in(browser, "token-of-ada")
        for path in PAGES:
            assert (await browser.get(f"/api/v1/{path}")).status == 403, path


async def test_what_will_not_come_is_not_waited_for() -> None:
    """What the cluster does not have, what the console may not read, and what it does not follow."""
    client = Client(SERVER)
    assert Cache(client).stores.unread("nodes")
    assert not Cache(client, without={"nodes"}).stores.unread("nodes")
    for name in ("absent", "refused"):
        nodes = Reflector(client, NODES, Store())
        assert nodes.unread
        setattr(nodes, name, True)
        assert not nodes.unread
    nodes = Reflector(client, NODES, Store())
    nodes.synced.set()
    assert not nodes.unread


def test_an_api_server_that_is_away_did_not_answer() -> None:
    """And people are not told its address."""
    refusal = from_api(UnknownOutcomeError(0, "", "create of tokenreviews: Cannot connect to 10.0.0.1:6443"), "x")
    assert (refusal.status, refusal.why) == (502, "the API server does not answer")


@pytest.mark.looptime
async def test_the_pulse_counts_from_the_last_answer() -> None:
    """A refusal to answer is none."""

    class Server:
        answers = True

        async def call(self, *_: object) -> bytes:
            if not self.answers:
                raise UnknownOutcomeError(0, "", "refused")
            return b"{}"

    server = Server()
    pulse = Pulse(cast("Client", server))
    assert pulse.unanswered_seconds() == 0
    running = asyncio.create_task(pulse.run())
    await asyncio.sleep(4 * EVERY)
    assert pulse.unanswered_seconds() <= EVERY
    server.answers = False
    await asyncio.sleep(4 * EVERY)
    assert 3 * EVERY <= pulse.unanswered_seconds() <= 5 * EVERY
    server.answers = True
    await asyncio.sleep(EVERY + 1)
    assert pulse.unanswered_seconds() <= EVERY
    running.cancel()
