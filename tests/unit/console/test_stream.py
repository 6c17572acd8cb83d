"""The live stream: what a viewer gets, where it goes on after a cut, and when it starts anew."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, NamedTuple

import msgspec
import pytest

from kubedl.console.people import Caller
from kubedl.console.stream import Stream
from tests.unit.console.world import ALIVE, World, caller

pytestmark = pytest.mark.looptime  # frames wait for a quarter of a second


class Event(NamedTuple):
    """An event as a browser reads it."""

    name: str
    id: str
    data: dict[str, Any]


class Viewer:
    """A browser. Time passes for it when it has nothing to read."""

    def __init__(self, world: World, person: str) -> None:
        self.world, self.caller = world, caller(person)
        self.signed_in = True

    async def again(self) -> Caller | None:
        """Prove who calls."""
        return self.caller if self.signed_in else None

    @asynccontextmanager
    async def stream(self, last: str = "") -> AsyncIterator[AsyncIterator[Event]]:
        """Open the stream after an event."""
        stream = Stream(self.world.feed, self.world.rights, self.again, lambda: ALIVE, self.world.clock)
        async with aclosing(stream.events(last)) as parts:
            yield (parsed async for part in parts if (parsed := _parsed(part)) is not None)

    async def cursor(self) -> str:
        """Take the list."""
        return (await self.world.pages.jobs(self.caller)).cursor


def _parsed(part: bytes) -> Event | None:
    fields = dict(line.split(": ", 1) for line in part.decode().splitlines() if line)
    if "event" not in fields:
        return None
    return Event(fields["event"], fields.get("id", ""), msgspec.json.decode(fields["data"]))


async def following(events: AsyncIterator[Event]) -> Event:
    """Return the next event, without signs of life."""
    async with asyncio.timeout(5):
        while (event := await anext(events)).name == "alive":
            pass
    return event


def names(event: Event) -> list[str]:
    """Return the names of the jobs in a frame."""
    return [row["name"] for row in event.data["rows"]]


async def test_a_change_after_the_list_arrives_in_a_frame(world: World) -> None:
    """Together with others of the same moment, each job once."""
    world.put_job("nlp", "bert")
    viewer = Viewer(world, "ada")
    async with viewer.stream(await viewer.cursor()) as events:
        assert (await anext(events)).name == "alive"
        world.put_job("nlp", "gpt", state="Running")
        world.put_job("nlp", "gpt", state="Failed")
        frame = await following(events)
        assert (frame.name, names(frame)) == ("frame", ["gpt"])
        assert frame.data["rows"][0]["state"] == "Failed"


async def test_rows_of_others_are_not_in_the_stream(world: World) -> None:
    """Two viewers of one cache: each gets their own, and nothing about the other's."""
    ada, ben = Viewer(world, "ada"), Viewer(world, "ben")
    async with ada.stream(await ada.cursor()) as for_ada, ben.stream(await ben.cursor()) as for_ben:
        await anext(for_ada)
        await anext(for_ben)
        world.put_job("nlp", "bert")
        secret = world.put_job("vision", "resnet")
        world.put_pod("vision", "resnet-worker-0", secret)
        frames = await following(for_ada), await following(for_ben)
        assert [names(frame) for frame in frames] == [["bert"], ["resnet"]]
        assert b"vision" not in msgspec.json.encode(frames[0])
        world.delete_job("vision", "resnet")
        world.delete_job("nlp", "bert")
        assert (await following(for_ada)).data["gone"] == ["uid-nlp-bert"]


async def test_a_stream_goes_on_where_it_was_cut(world: World) -> None:
    """Nothing twice, nothing lost."""
    viewer = Viewer(world, "ada")
    world.put_job("nlp", "a")
    async with viewer.stream(await viewer.cursor()) as events:
        await anext(events)
        world.put_job("nlp", "b")
        last = (await following(events)).id
    world.put_job("nlp", "c")
    world.put_job("nlp", "d")
    async with viewer.stream(last) as events:
        frame = await following(events)
        assert (frame.name, names(frame)) == ("frame", ["c", "d"])


async def test_a_viewer_that_was_away_too_long_starts_anew(world: World) -> None:
    """And goes on after that; so does one of another process, or without a place."""
    viewer = Viewer(world, "ada")
    world.put_job("nlp", "a")
    old = await viewer.cursor()
    for number in range(101):
        world.put_job("nlp", "a", restarts=number)
    for last in (old, "", "abcdef12-0-abc", "nonsense"):
        async with viewer.stream(last) as events:
            reset = await following(events)
            assert reset.name == "reset"
            world.put_job("nlp", "a", message=f"after {last}")
            assert (await following(events)).name == "frame"


async def test_a_right_that_is_taken_away_ends_the_rows(world: World) -> None:
    """Within a minute: the viewer is told to list again, and gets no more of them."""
    world.put_job("nlp", "bert")
    viewer = Viewer(world, "ada")
    async with viewer.stream(await viewer.cursor()) as events:
        await anext(events)
        world.reviewer.allowed.clear()
        world.clock.now += 60
        world.put_job("nlp", "bert", message="secret")
        assert (await following(events)).name == "reset"
        assert (await world.pages.jobs(viewer.caller)).rows == []


async def test_rights_that_changed_while_away_are_noticed(world: World) -> None:
    """More rights bring rows that did not change, so the list is needed."""
    world.put_job("nlp", "bert")
    world.put_job("vision", "resnet")
    viewer = Viewer(world, "ada")
    cursor = await viewer.cursor()
    world.reviewer.allow("ada", "vision")
    world.clock.now += 60
    async with viewer.stream(cursor) as events:
        assert (await following(events)).name == "reset"
    assert len((await world.pages.jobs(viewer.caller)).rows) == 2


async def test_the_first_job_of_a_namespace_needs_no_new_list(world: World) -> None:
    """Its right is asked when it appears."""
    viewer = Viewer(world, "ada")
    async with viewer.stream(await viewer.cursor()) as events:
        await anext(events)
        world.put_job("nlp", "first")
        frame = await following(events)
        assert (frame.name, names(frame)) == ("frame", ["first"])


async def test_the_last_job_of_a_namespace_is_gone_for_its_viewers(world: World) -> None:
    """Also if rights are asked anew at that moment, when the namespace has no jobs any more."""
    world.put_job("nlp", "bert")
    viewer = Viewer(world, "ada")
    async with viewer.stream(await viewer.cursor()) as events:
        await anext(events)
        world.clock.now += 6
        world.delete_job("nlp", "bert")
        assert (await following(events)).data["gone"] == ["uid-nlp-bert"]


async def test_a_token_that_was_taken_back_ends_the_stream(world: World) -> None:
    """With a word, so that the page asks to sign in instead of trying again."""
    viewer = Viewer(world, "ada")
    async with viewer.stream(await viewer.cursor()) as events:
        await anext(events)
        viewer.signed_in = False
        world.clock.now += 60
        world.put_job("nlp", "bert")
        assert (await following(events)).name == "signed-out"
        assert [event async for event in events] == []


async def test_pods_and_events_touch_their_job(world: World) -> None:
    """So that an open page reads it again."""
    uid = world.put_job("nlp", "bert")
    viewer = Viewer(world, "ada")
    async with viewer.stream(await viewer.cursor()) as events:
        await anext(events)
        world.put_pod("nlp", "bert-worker-0", uid)
        assert (await following(events)).data == {"rows": [], "gone": [], "touched": [uid]}
        world.put_event("nlp", "Pulled", "Pod", "uid-bert-worker-0")
        assert (await following(events)).data["touched"] == [uid]
        world.put_event("nlp", "Created", "PyTorchJob", uid)
        assert (await following(events)).data["touched"] == [uid]
