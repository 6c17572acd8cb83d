"""Lists and watches: every line is read whole, and silence is noticed."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube import codec, watch
from kubedl.kube.client import Client
from kubedl.kube.errors import GoneError, InvalidError, TooManyRequestsError, UnauthorizedError, UnknownOutcomeError
from kubedl.kube.rate_limiter import RateLimiter
from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.watch import INITIAL_EVENTS_END, ListOptions, WatchEvent
from tests.unit.kube.server import Script, answer, hang_up, status, stay_silent, stream

Connect = Callable[..., Client]


def event(kind: str, name: str = "", **fields: object) -> bytes:
    """A line of a watch."""
    body = {"metadata": {"name": name, "namespace": "team", "resourceVersion": "5"}, **fields}
    return codec.encode({"type": kind, "object": body}) + b"\n"


async def read(client: Client, version: str | None = "1", silence: float = 10) -> list[WatchEvent[Pod]]:
    """All steps of one watch."""
    return [step async for steps in watch.watch(client, PODS, ListOptions(), version, silence) for step in steps]


async def test_a_watch_brings_what_happened(client: Client, script: Script) -> None:
    lines = [event("ADDED", "a"), event("MODIFIED", "a", status={"phase": "Running"}), event("DELETED", "a")]
    script.usual = stream(lines)
    steps = await read(client, "41")
    assert [step.type for step in steps] == ["ADDED", "MODIFIED", "DELETED"]
    assert steps[1].object is not None
    assert steps[1].object.status.phase == "Running"
    expected = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "290", "resourceVersion": "41"}
    assert script.received[0].query == expected


async def test_without_a_version_all_that_exists_comes_first(client: Client, script: Script) -> None:
    """WatchList: a bookmark says that the start is over."""
    end = {"metadata": {"resourceVersion": "9", "annotations": {INITIAL_EVENTS_END: "true"}}}
    script.usual = stream(
        [event("ADDED", "a"), event("BOOKMARK"), codec.encode({"type": "BOOKMARK", "object": end}) + b"\n"]
    )
    steps = await read(client, None)
    assert [step.ends_initial_events for step in steps] == [False, False, True]
    assert steps[2].metadata.resource_version == "9"
    query = script.received[0].query
    assert (query["sendInitialEvents"], query["resourceVersionMatch"]) == ("true", "NotOlderThan")
    assert "resourceVersion" not in query


async def test_a_scope_is_a_namespace_and_labels(client: Client, script: Script) -> None:
    script.usual = stream([])
    async for _ in watch.watch(client, PODS, ListOptions("team", "a=b,!c"), "1"):
        pass
    assert script.received[0].path == "/api/v1/namespaces/team/pods"
    assert script.received[0].query["labelSelector"] == "a=b,!c"


@pytest.mark.parametrize("size", [130_000, 1_500_000])
async def test_a_line_may_be_as_long_as_an_object(client: Client, script: Script, size: int) -> None:
    """Longer than what a stream reader buffers, up to what etcd holds."""
    line = event("ADDED", "big", status={"message": "x" * size})
    script.usual = stream([line[:70_000], line[70_000:] + event("ADDED", "next")])
    big, following = await read(client)
    assert big.object is not None
    assert len(big.object.status.message) == size
    assert following.metadata.name == "next"


def nested(levels: int) -> bytes:
    """An object that is nested so deep, before its metadata and in it."""
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    meta = b'{"managedFields":[' + deep + b'],"name":"deep","namespace":"team","uid":"u","resourceVersion":"7"}'
    return b'{"extra":' + deep + b',"metadata":' + meta + b"}"


@pytest.mark.parametrize("levels", [300, 900, 1_100, 5_000, 9_999])
async def test_an_object_that_is_nested_too_deep_spoils_no_other(client: Client, script: Script, levels: int) -> None:
    """In a watch and in a list; which one it is can be told."""
    deep = nested(levels)
    line = b'{"type":"ADDED","object":' + deep + b"}\n"
    script.usual = stream([event("ADDED", "before") + line + event("DELETED", "after")])
    before, unread, after = await read(client)
    assert (before.metadata.name, after.metadata.name) == ("before", "after")
    assert (unread.metadata.name, unread.metadata.namespace) == ("deep", "team")
    assert (unread.metadata.uid, unread.metadata.resource_version) == ("u", "7")
    good = codec.encode({"metadata": {"name": "good", "namespace": "team", "resourceVersion": "5"}})
    body = b'{"metadata":{"resourceVersion":"9"},"items":[' + deep + b"," + good + b"]}"
    script.usual = answer(200, body)
    version, steps = await watch.list_all(client, PODS, ListOptions())
    assert (version, [step.metadata.name for step in steps]) == ("9", ["deep", "good"])
    assert steps[1].object is not None
    if levels > 1_000:
        assert (unread.object, steps[0].object) == (None, None)
        assert "nested too deep" in unread.error
        assert "nested too deep" in steps[0].error


class _Chunks(Client):
    """A client whose watch brings these pieces, as they are."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self.chunks = chunks

    @asynccontextmanager
    async def stream(self, *_: object) -> AsyncIterator[Any]:
        async def parts() -> AsyncIterator[bytes]:
            for chunk in self.chunks:
                yield chunk

        yield parts()


LINES = b"".join(event("ADDED", name, status={"message": "line\nbreak é"}) for name in ("a", "b", "c", "d"))


@given(st.sets(st.integers(1, len(LINES) - 1)))
def test_a_line_may_be_cut_anywhere(cuts: set[int]) -> None:
    """However the network splits them, the same steps come out, and each as soon as it is whole."""
    edges = [0, *sorted(cuts), len(LINES)]
    chunks = [LINES[start:end] for start, end in itertools.pairwise(edges)]
    steps = asyncio.run(read(_Chunks(chunks)))
    assert [(step.metadata.name, step.error) for step in steps] == [("a", ""), ("b", ""), ("c", ""), ("d", "")]


async def test_a_watch_that_falls_silent_is_noticed(client: Client, script: Script) -> None:
    """The connection is open and nobody speaks: without this we would wait forever."""
    script.usual = stream([event("ADDED", "a")], then=stay_silent)
    batches = watch.watch(client, PODS, ListOptions(), "1", silence=2.0)  # longer than a busy machine takes to answer
    assert [step.type for step in await anext(batches)] == ["ADDED"]
    with pytest.raises(UnknownOutcomeError, match="watch of pods: "):
        await asyncio.wait_for(anext(batches), 60)


async def test_a_watch_that_is_not_even_answered_is_noticed(client: Client, script: Script) -> None:
    script.usual = stay_silent
    with pytest.raises(UnknownOutcomeError):
        await asyncio.wait_for(read(client, silence=0.05), 60)


async def test_a_watch_cut_in_the_middle_of_a_line_is_noticed(client: Client, script: Script) -> None:
    script.usual = stream([event("ADDED", "a") + b'{"type": "ADD'], then=hang_up)
    with pytest.raises(UnknownOutcomeError):
        await read(client)


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (410, "Expired", GoneError),
        (410, "Gone", GoneError),
        (500, "InternalError", UnknownOutcomeError),
        (422, "Invalid", UnknownOutcomeError),
    ],
)
async def test_an_error_event_ends_the_watch(
    client: Client, script: Script, code: int, reason: str, expected: type[Exception]
) -> None:
    failure = {"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": reason, "message": "why"}}
    script.usual = stream([event("ADDED", "a"), codec.encode(failure) + b"\n"])
    with pytest.raises(expected, match="why"):
        await read(client)


async def test_what_is_not_an_event_ends_the_watch(client: Client, script: Script) -> None:
    script.usual = stream([b"<html>\n"])
    with pytest.raises(UnknownOutcomeError, match="sent an invalid event"):
        await read(client)


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [(410, "Expired", GoneError), (422, "Invalid", InvalidError), (401, "Unauthorized", UnauthorizedError)],
)
async def test_a_watch_can_be_refused(
    client: Client, script: Script, code: int, reason: str, expected: type[Exception]
) -> None:
    script.usual = status(code, reason)
    with pytest.raises(expected):
        await read(client)


async def test_a_refused_watch_pauses_everybody_too(connect: Connect, script: Script) -> None:
    pauses: list[float] = []

    class Pauses(RateLimiter):
        def pause(self, seconds: float) -> None:
            pauses.append(seconds)

    script.usual = status(429, "TooManyRequests", Retry_After="3")
    with pytest.raises(TooManyRequestsError):
        await read(connect(limiter=Pauses(0, 0)))
    assert pauses == [3]


async def test_an_object_that_does_not_fit_spoils_no_other(client: Client, script: Script) -> None:
    """One bad object must not stop the loop; its name and what is wrong are told."""
    script.usual = stream([event("ADDED", "bad", status={"phase": 7}) + event("ADDED", "good")])
    bad, good = await read(client)
    assert (bad.object, bad.metadata.name) == (None, "bad")
    assert "$.status.phase" in bad.error
    assert good.object is not None


async def test_a_list_is_read_page_by_page(client: Client, script: Script) -> None:
    def page(version: str, more: str, *names: str) -> dict[str, Any]:
        items = [{"metadata": {"name": name}, "status": {"phase": 7} if name == "bad" else {}} for name in names]
        return {"metadata": {"resourceVersion": version, "continue": more}, "items": items or None}

    script.plan(
        answer(200, page("8", "a+b=", "a", "bad")), answer(200, page("8", "c", "c")), answer(200, page("8", ""))
    )
    version, steps = await watch.list_all(client, PODS, ListOptions("team", "x=y"))
    assert (version, [step.metadata.name for step in steps]) == ("8", ["a", "bad", "c"])
    assert [bool(step.error) for step in steps] == [False, True, False]
    assert [call.query for call in script.received] == [
        {"limit": "500", "labelSelector": "x=y"},
        {"limit": "500", "labelSelector": "x=y", "continue": "a+b="},
        {"limit": "500", "labelSelector": "x=y", "continue": "c"},
    ]
