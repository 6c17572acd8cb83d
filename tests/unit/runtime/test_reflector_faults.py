"""What a server, an object or a bug can do to a reflector: the store keeps what it has, and is level again soon."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from kubedl.kube.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    NotFoundError,
    TooManyRequestsError,
    UnknownOutcomeError,
)
from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.reflector import BEHIND, BETWEEN_LISTS, Reflector, StaleResourceVersionError
from kubedl.runtime.store import Store
from tests.unit.runtime.background import running
from tests.unit.runtime.fake_server import NAMESPACE, Server
from tests.unit.runtime.store_view import held, lose_history, starts

pytestmark = [pytest.mark.looptime(noop_cycles=0), pytest.mark.usefixtures("logs")]

Logs = list[dict[str, object]]


# Errors.


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    "error",
    [
        UnknownOutcomeError(500, "InternalError", "etcd is down"),
        UnknownOutcomeError(0, "", "connection refused"),
        ForbiddenError(403, "Forbidden", "the role was taken away"),
        NotFoundError(404, "NotFound", "the kind was taken away"),
        TooManyRequestsError(429, "TooManyRequests", "later"),
        ApiError(418, "", "what?"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_list_that_fails_is_not_an_empty_list(
    server: Server, store: Store[Pod], reflector: Reflector[Pod], error: ApiError
) -> None:
    told: list[object] = []
    async with running(reflector.run()):
        await asyncio.sleep(BETWEEN_LISTS)
        before = held(store)
        store.subscribe(lambda old, new: told.append((old, new)))
        server.refusals.extend([None, error, error, error])
        lose_history(server)
        await asyncio.sleep(1)
        assert held(store) == before
        assert told == []
        await asyncio.sleep(60)
        assert held(store) == server.readable()


async def test_what_a_client_may_not_read_is_not_waited_for(server: Server, reflector: Reflector[Pod]) -> None:
    """Until it may."""
    server.refusals.extend([ForbiddenError(403, "Forbidden", "no role")] * 2)
    assert reflector.unread
    async with running(reflector.run()):
        await asyncio.sleep(0.1)
        assert (reflector.refused, reflector.unread) == (True, False)
        await asyncio.sleep(60)
        assert (reflector.refused, reflector.unread, reflector.synced.is_set()) == (False, False, True)


async def test_half_a_list_is_not_a_list(server: Server, store: Store[Pod], reflector: Reflector[Pod]) -> None:
    server.watch_list = False
    async with running(reflector.run()):
        await asyncio.sleep(BETWEEN_LISTS)
        before = held(store)
        server.refusals.extend([None, None, UnknownOutcomeError(500, "", "on the second page")])
        lose_history(server)
        await asyncio.sleep(0.7)
        assert server.called("list")[-1].detail.get("continue")
        assert held(store) == before
        await asyncio.sleep(30)
        assert held(store) == server.readable()


async def test_pauses_grow_until_it_goes_well(server: Server, reflector: Reflector[Pod]) -> None:
    server.refusals.extend([UnknownOutcomeError(503, "", "down")] * 10)
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 600)
        times = [call.at for call in server.calls]
        pauses = [later - earlier for earlier, later in pairwise(times)]
        assert pauses[:3] == pytest.approx([0.3, 0.6, 1.2])
        assert max(pauses) == pytest.approx(45)
        [connection] = server.connections
        connection.drop()
        await asyncio.sleep(0.4)
        assert server.connections


async def test_a_pause_that_the_server_asks_for_is_kept(server: Server, reflector: Reflector[Pod]) -> None:
    server.refusals.append(TooManyRequestsError(429, "TooManyRequests", "later", retry_after=17))
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 600)
    assert [call.at for call in server.calls] == [0, 17]


async def test_a_pause_of_hours_is_not_kept(server: Server, reflector: Reflector[Pod]) -> None:
    """A load balancer that shows a page about maintenance; the API server may be back in a minute."""
    server.refusals.append(UnknownOutcomeError(503, "", "maintenance", retry_after=86400))
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 600)
    assert [call.at for call in server.calls] == [0, 60]


@pytest.mark.parametrize(("refusals", "levels"), [(1, {"info"}), (8, {"info", "warning"})])
async def test_a_server_that_is_busy_for_a_moment_is_no_warning(
    server: Server, reflector: Reflector[Pod], refusals: int, levels: set[str]
) -> None:
    """Right after an install, a server refuses every new kind for a second: warnings for each would bury a true one."""
    server.refusals.extend([TooManyRequestsError(429, "TooManyRequests", "storage is (re)initializing")] * refusals)
    with capture_logs() as logs:
        async with running(reflector.run()):
            await asyncio.wait_for(reflector.synced.wait(), 600)
    assert {entry["log_level"] for entry in logs if entry["event"] == "watch failed"} == levels


async def test_a_kind_that_is_installed_later_is_found(
    server: Server, store: Store[Pod], reflector: Reflector[Pod]
) -> None:
    """What fails meanwhile does not say that it is there."""
    missing = NotFoundError(404, "NotFound", "no such kind")
    server.refusals.extend([missing, missing, TooManyRequestsError(429, "TooManyRequests", "later"), missing])
    async with running(reflector.run()):
        while server.refusals:
            await asyncio.sleep(0.1)
            assert (reflector.absent, reflector.synced.is_set()) == (True, False)
        await asyncio.wait_for(reflector.synced.wait(), 10)
        assert not reflector.absent
        assert held(store) == server.readable()


# A server that lags behind.


@pytest.mark.usefixtures("both_ways")
async def test_a_server_that_lags_behind_does_not_set_the_store_back(
    server: Server, store: Store[Pod], reflector: Reflector[Pod]
) -> None:
    """As after a switch to another server that was cut from etcd: it shows what is deleted and hides what is new."""
    told: list[object] = []
    async with running(reflector.run()):
        await asyncio.sleep(1)
        server.lag()
        behind = server.version
        server.stuck_at = None
        server.put("d")
        server.remove("a")
        await asyncio.sleep(BETWEEN_LISTS)
        before, version = held(store), store.version
        store.subscribe(lambda old, new: told.append((old, new)))
        server.stuck_at = behind
        server.connections[0].fail(GoneError(410, "Expired", "too old"))
        for _ in range(40):
            await asyncio.sleep(1)
            assert held(store) == before
            assert store.version == version
            assert server.connections == []  # a watch that is given up is closed
        assert told == []
        asked = starts(server)[1:]
        assert all(later - earlier > BETWEEN_LISTS - 0.001 for earlier, later in pairwise(asked[1:]))
        server.catch_up()
        server.remove("b")
        await asyncio.sleep(60)
        assert held(store) == server.readable()


async def test_a_watch_that_lags_behind_is_heard_only_where_it_is_new(
    server: Server, store: Store[Pod], reflector: Reflector[Pod]
) -> None:
    async with running(reflector.run()):
        await asyncio.sleep(1)
        server.put("a")
        server.remove("b")
        await asyncio.sleep(1)
        told: list[object] = []
        store.subscribe(lambda old, new: told.append((old, new)))
        [connection] = server.connections
        connection.repeat(3)
        connection.say(b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "90"}}}\n')
        await asyncio.sleep(1)
        assert told == []
        connection.drop()
        await asyncio.sleep(1)
        assert server.calls[-1].detail["resourceVersion"] == str(server.version)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("broken", ["gone", "silent"])
async def test_a_server_that_was_set_back_ends_the_process(
    server: Server, reflector: Reflector[Pod], broken: str, logs: Logs
) -> None:
    """As after a restore of etcd: nothing in memory is true any more, and waiting would never end."""
    task = asyncio.create_task(reflector.run())
    await asyncio.sleep(1)
    behind = server.version
    server.put("d")
    await asyncio.sleep(BETWEEN_LISTS)
    server.stuck_at = behind
    if broken == "gone":
        server.connections[0].fail(GoneError(410, "Expired", "too old"))
        await asyncio.sleep(BEHIND - 10)
        assert not task.done()
    else:
        server.bookmarks = False
        server.connections[0].drop()
    with pytest.raises(StaleResourceVersionError, match="stays there"):
        await asyncio.wait_for(task, 600)
    assert "restore of etcd" in str(logs[-1]["event"])


# Objects that cannot be read, and bugs.


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("part", ["status", "labels"])
async def test_an_object_that_cannot_be_read_is_missing_alone(
    server: Server, store: Store[Pod], reflector: Reflector[Pod], part: str, logs: Logs
) -> None:
    server.put("b", spoiled=part)
    async with running(reflector.run()):
        await asyncio.sleep(1)
        assert set(held(store)) == {"a", "c"}
        server.put("c", spoiled=part)
        server.put("d")
        await asyncio.sleep(1)
        assert held(store) == server.readable()
        assert set(held(store)) == {"a", "d"}
        server.put("b")
        server.put("e", spoiled=part)
        server.remove("e")
        server.remove("c")
        await asyncio.sleep(1)
        assert held(store) == server.readable()
        assert set(held(store)) == {"a", "b", "d"}
        lose_history(server)
        server.put("e", spoiled=part)
        await asyncio.sleep(20)
        assert held(store) == server.readable()
    blamed = {entry["key"] for entry in logs if entry["event"] == "cannot decode object"}
    assert blamed == {f"{NAMESPACE}/{name}" for name in "bce"}
    assert "a bug" not in str(logs)


async def test_an_object_may_be_large(server: Server, store: Store[Pod], reflector: Reflector[Pod]) -> None:
    """A line of a watch is longer than what a stream reader buffers; pieces come as they come."""
    server.chunk = 10_000
    server.put("a", status={"message": "x" * 300_000})
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 600)
        server.put("b", status={"message": "é" * 1_000_000})
        server.put("c")
        await asyncio.sleep(1)
        assert held(store) == server.readable()
        large = store.get(ObjectKey(NAMESPACE, "b"))
        assert large is not None
        assert len(large.status.message) == 1_000_000


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("error", [ValueError, KeyError, RecursionError, TimeoutError, OSError])
async def test_no_exception_ends_it(
    server: Server, store: Store[Pod], reflector: Reflector[Pod], error: type[Exception], logs: Logs
) -> None:
    server.refusals.extend([error(), error(), None, error()])
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 60)
        server.refusals.extend([error(), error()])
        lose_history(server)
        await asyncio.sleep(60)
        assert held(store) == server.readable()
    assert "reflector failed" in str(logs)


@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b'{"type": "ADDED"}\n',
        b'{"type": "ADDED", "object": null}\n',
        b'{"type": "ADDED", "object": {"metadata": 5}}\n',
        b'{"type": "ADDED", "object": {"metadata": {"name": "z", "resourceVersion": "of another sort"}}}\n',
        b'{"type": "BOOKMARK", "object": {}}\n',
        b'{"type": "ERROR", "object": "what?"}\n',
        b'{"type": "ERROR", "object": {"code": 500, "message": "etcd is down"}}\n',
        b'{"type": "ADDED", "object": {"metadata": {"name": "\xff"}}}\n',
    ],
)
async def test_nonsense_ends_the_watch_and_not_the_reflector(
    server: Server, store: Store[Pod], reflector: Reflector[Pod], line: bytes
) -> None:
    async with running(reflector.run()):
        await asyncio.sleep(BETWEEN_LISTS)
        [connection] = server.connections
        connection.say(line)
        server.put("d")
        await asyncio.sleep(5)
        assert held(store) == server.readable()
        assert connection not in server.connections


async def test_a_subscriber_that_fails_costs_nobody_else_anything(
    server: Server, store: Store[Pod], reflector: Reflector[Pod], logs: Logs
) -> None:
    """A key that is never told of is never looked at."""
    told: list[str] = []

    def fail(_: object, new: Pod | None) -> None:
        if new is not None and new.metadata.name == "b":
            raise ValueError("poison")

    def tell(_: object, new: Pod | None) -> None:
        told.append(new.metadata.name if new else "")

    store.subscribe(fail)
    store.subscribe(tell)
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 600)
        assert told == ["a", "b", "c"]
        server.put("b")
        server.put("a")
        await asyncio.sleep(1)
        assert told == ["a", "b", "c", "b", "a"]
        assert held(store) == server.readable()
    assert any(entry["log_level"] == "error" and entry.get("key") == f"{NAMESPACE}/b" for entry in logs)


async def test_an_index_that_fails_costs_nobody_else_anything(server: Server, logs: Logs) -> None:
    def group(pod: Pod) -> Any:  # noqa: ANN401 - whatever a bug returns
        if pod.metadata.name == "b":
            raise ValueError("poison")
        return "good"

    store: Store[Pod] = Store({"group": group})
    reflector = Reflector(server.client, PODS, store)
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 600)
        server.put("b")
        server.put("d")
        server.remove("c")
        await asyncio.sleep(1)
        assert held(store) == server.readable()
        assert set(held(store.by_index("group", "good"))) == {"a", "d"}
    assert any(entry["log_level"] == "error" and entry.get("key") == f"{NAMESPACE}/b" for entry in logs)
