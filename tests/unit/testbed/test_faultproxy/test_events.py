"""A watch loses, delays and reorders exactly the events that its rules name."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.faultproxy.faults import DelayEvents, DropEvents, EventFault, Freeze, ReorderEvents, SendGone
from testbed.faultproxy.match import MatchEvents
from testbed.faultproxy.relay import EventRelay, StreamBrokenError
from testbed.faultproxy.rules import Rule, RuleBook
from testbed.faultproxy.watch import EventFaults, LineSplitter

TYPES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")


def event(event_type: str, name: str) -> bytes:
    return json.dumps({"type": event_type, "object": {"metadata": {"name": name}}}).encode() + b"\n"


def rule_book(*rules: Rule) -> RuleBook:
    book = RuleBook()
    for rule in rules:
        book.add(rule)
    return book


async def relay(book: RuleBook, chunks: AsyncIterator[bytes]) -> list[bytes]:
    sent: list[bytes] = []

    async def send(line: bytes) -> None:
        sent.append(line)

    await EventRelay(EventFaults(book, "pods"), send).run(chunks)
    return sent


async def ended_watch(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


lines_of_a_watch = st.lists(
    st.one_of(
        st.builds(event, st.sampled_from(TYPES), st.text("abc", min_size=1, max_size=3)),
        st.binary(max_size=20).map(lambda junk: junk.replace(b"\n", b"") + b"\n"),
    ),
    max_size=12,
)


@given(lines=lines_of_a_watch, rest=st.sampled_from([b"", b'{"type":']), data=st.data())
async def test_without_a_rule_the_bytes_are_the_same(lines: list[bytes], rest: bytes, data: st.DataObject) -> None:
    whole = b"".join(lines) + rest
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    edges = [0, *cuts, len(whole)]
    chunks = [whole[start:end] for start, end in pairwise(edges)]

    assert b"".join(await relay(rule_book(), ended_watch(*chunks))) == whole


@given(lines=lines_of_a_watch, event_type=st.sampled_from(TYPES), name=st.text("abc", max_size=1))
async def test_drop_removes_exactly_the_matched(lines: list[bytes], event_type: str, name: str) -> None:
    rule = Rule(MatchEvents(type=event_type, name=name or None, times=None), DropEvents())

    kept = await relay(rule_book(rule), ended_watch(*lines))

    matched = [line for line in lines if line in {event(event_type, name or other) for other in names(lines)}]
    assert kept == [line for line in lines if line not in matched]
    assert rule.fired == len(matched)


def names(lines: list[bytes]) -> set[str]:
    return {json.loads(line)["object"]["metadata"]["name"] for line in lines if line.startswith(b'{"type"')}


@given(lines=lines_of_a_watch, window=st.integers(2, 4), nth=st.integers(1, 3))
async def test_reorder_yields_a_permutation(lines: list[bytes], window: int, nth: int) -> None:
    rule = Rule(MatchEvents(nth=nth, times=None), ReorderEvents(window))

    sent = await relay(rule_book(rule), ended_watch(*lines))

    assert sorted(sent) == sorted(lines)


@pytest.mark.parametrize(
    ("match", "window", "expected", "fired"),
    [
        (MatchEvents(), 2, "baBcde", 1),
        (MatchEvents(nth=2), 3, "aBdcbe", 1),
        (MatchEvents(times=2), 2, "baBdce", 2),
        (MatchEvents(times=None), 4, "Bdcbae", 1),
    ],
)
async def test_reorder_reverses_each_window(match: MatchEvents, window: int, expected: str, fired: int) -> None:
    rule = Rule(match, ReorderEvents(window))
    lines = [event("BOOKMARK" if name == "B" else "ADDED", name) for name in "abBcde"]

    sent = await relay(rule_book(rule), ended_watch(*lines))

    assert "".join(json.loads(line)["object"]["metadata"]["name"] for line in sent) == expected
    assert rule.fired == fired


async def test_gone_takes_the_place_of_the_event_and_ends_the_watch() -> None:
    rule = Rule(MatchEvents(nth=2), SendGone())

    first, last = await relay(rule_book(rule), ended_watch(*(event("ADDED", name) for name in "abc")))

    assert first == event("ADDED", "a")
    assert json.loads(last)["type"] == "ERROR"
    assert (json.loads(last)["object"]["code"], json.loads(last)["object"]["reason"]) == (410, "Expired")


def test_lines_of_megabytes_stay_whole() -> None:
    line = event("ADDED", "x" * 3_000_000)
    splitter = LineSplitter()

    lines = [done for start in range(0, len(line), 65_536) for done in splitter.feed(line[start : start + 65_536])]

    assert lines == [line]


@pytest.mark.looptime
async def test_a_delay_counts_from_the_arrival_of_each_event() -> None:
    arrivals: list[tuple[float, bytes]] = []
    clock = asyncio.get_running_loop()

    async def send(line: bytes) -> None:
        arrivals.append((clock.time(), line))

    async def one_event_per_second() -> AsyncIterator[bytes]:
        for name in "abc":
            yield event("ADDED", name)
            await asyncio.sleep(1)

    rule = Rule(MatchEvents(times=2), DelayEvents(5))
    await EventRelay(EventFaults(rule_book(rule), "pods"), send).run(one_event_per_second())

    # c is not delayed itself, but does not overtake.
    assert arrivals == [(5, event("ADDED", "a")), (6, event("ADDED", "b")), (6, event("ADDED", "c"))]


@pytest.mark.parametrize("fault", [DelayEvents(3600), ReorderEvents(3)])
async def test_released_events_go_on(fault: EventFault) -> None:
    sent: asyncio.Queue[bytes] = asyncio.Queue()
    rule = Rule(MatchEvents(), fault)
    running = EventRelay(EventFaults(rule_book(rule), "pods"), sent.put)
    task = asyncio.create_task(running.run(open_watch(event("ADDED", "a"), event("BOOKMARK", "b"))))
    if isinstance(fault, ReorderEvents):
        assert await asyncio.wait_for(sent.get(), 5) == event("BOOKMARK", "b")

    rule.released.set()
    running.flush()

    assert await asyncio.wait_for(sent.get(), 5) == event("ADDED", "a")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def open_watch(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
    await asyncio.Event().wait()


async def test_a_frozen_watch_is_broken_when_released() -> None:
    rule = Rule(MatchEvents(nth=2), Freeze())
    rule.released.set()

    with pytest.raises(StreamBrokenError, match="frozen"):
        await relay(rule_book(rule), open_watch(event("ADDED", "a"), event("ADDED", "b")))


async def test_a_watch_that_breaks_upstream_breaks_here() -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield event("ADDED", "a")
        raise aiohttp.ClientPayloadError("cut")

    with pytest.raises(StreamBrokenError, match="cut"):
        await relay(rule_book(), breaking())
