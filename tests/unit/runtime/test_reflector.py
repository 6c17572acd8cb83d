"""The store starts level with the server and stays so: history that is gone, silence, watches that end."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from kubedl.kube.errors import GoneError, InvalidError
from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.watch import ListOptions
from kubedl.runtime.reflector import BETWEEN_LISTS, Reflector
from kubedl.runtime.store import Store
from tests.unit.runtime.background import running
from tests.unit.runtime.fake_server import NAMESPACE, Server
from tests.unit.runtime.store_view import held, lose_history, starts

pytestmark = [pytest.mark.looptime(noop_cycles=0), pytest.mark.usefixtures("logs")]

HALF_OPEN = 75  # seconds, the most that a silent watch may go unnoticed
RECOVERY = 5  # seconds, the most that it may take to list again when history is gone
Logs = list[dict[str, object]]


# How it starts.


async def test_it_starts_with_one_call(server: Server, store: Store[Pod], reflector: Reflector[Pod]) -> None:
    server.elsewhere(7)
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 600)
        assert held(store) == server.readable()
        assert store.version == server.version
        server.put("d")
        await asyncio.sleep(1)
        assert held(store) == server.readable()
    assert [call.verb for call in server.calls] == ["watch"]


@pytest.mark.parametrize("code", [400, 422])
async def test_a_server_without_watch_list_is_read_in_pages(
    server: Server, store: Store[Pod], reflector: Reflector[Pod], code: int, logs: Logs
) -> None:
    """It is asked once, and the answer is neither a fault nor a reason to wait."""
    server.watch_list = False
    server.refusals.append(InvalidError(code, "", "sendInitialEvents is forbidden for watch"))
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 0.1)
        assert held(store) == server.readable()
        server.put("d")
        lose_history(server)
        await asyncio.sleep(20)
        assert held(store) == server.readable()
    assert [call.verb for call in server.calls] == ["watch", "list", "list", "watch", "watch", "list", "list", "watch"]
    assert [call.detail.get("resourceVersion") for call in server.called("watch")].count(None) == 1
    assert "the watch ended at once" not in str(logs)


@pytest.mark.usefixtures("both_ways")
async def test_what_changes_during_the_start_is_not_lost(
    server: Server, store: Store[Pod], reflector: Reflector[Pod]
) -> None:
    """Pages are of one moment and the watch goes on from there; a WatchList tells changes before its start is over."""
    server.call_seconds = server.initial_seconds = 3
    async with running(reflector.run()):
        await asyncio.sleep(server.call_seconds + 1)
        server.put("a")
        server.remove("b")
        server.put("d")
        server.remove("d")
        server.remove("c")
        server.put("c")
        server.put("e")
        for connection in server.connections:
            connection.repeat(4)
        await asyncio.wait_for(reflector.synced.wait(), 30)
        await asyncio.sleep(server.call_seconds + 1)
        assert held(store) == server.readable()
        assert set(held(store)) == {"a", "c", "e"}


async def test_an_old_tale_told_twice_changes_nothing(
    server: Server, store: Store[Pod], reflector: Reflector[Pod]
) -> None:
    server.initial_seconds = 3
    async with running(reflector.run()):
        await asyncio.sleep(1)
        [connection] = server.connections
        server.remove("a")
        server.put("b")
        connection.repeat(5, 3)  # what was there at the start
        await asyncio.wait_for(reflector.synced.wait(), 600)
        assert held(store) == server.readable()
        told: list[object] = []
        store.subscribe(lambda old, new: told.append((old, new)))
        server.put("b")
        server.remove("c")
        await asyncio.sleep(1)
        connection.repeat(7)
        await asyncio.sleep(1)
        assert held(store) == server.readable()
        assert len(told) == 2


# History that is gone.


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("gone_as_event", [False, True], ids=["status", "event"])
async def test_history_that_is_gone_is_replaced_by_a_list(
    server: Server, store: Store[Pod], reflector: Reflector[Pod], gone_as_event: bool
) -> None:
    server.gone_as_event = gone_as_event
    removed: list[str] = []
    store.subscribe(lambda old, new: removed.append(old.metadata.uid) if old and not new else None)
    async with running(reflector.run()):
        await asyncio.sleep(BETWEEN_LISTS)
        gone = [server.readable()["a"][0], server.readable()["b"][0]]
        lose_history(server)
        await asyncio.sleep(RECOVERY)
        assert held(store) == server.readable()
        assert store.version == server.version
        assert sorted(removed) == sorted(gone)


async def test_an_open_watch_that_says_gone_is_left(
    server: Server, store: Store[Pod], reflector: Reflector[Pod]
) -> None:
    async with running(reflector.run()):
        await asyncio.sleep(BETWEEN_LISTS)
        [connection] = server.connections
        connection.held = True
        server.remove("a")
        connection.fail(GoneError(410, "Expired", "too old"))
        connection.release()
        await asyncio.sleep(RECOVERY)
        assert held(store) == server.readable()
        assert server.connections != [connection]


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("gone_as_event", [False, True], ids=["status", "event"])
async def test_a_server_that_keeps_no_history_is_not_flooded_with_lists(
    server: Server, reflector: Reflector[Pod], gone_as_event: bool
) -> None:
    server.gone_as_event = gone_as_event
    async with running(reflector.run()):
        for _ in range(130):
            await asyncio.sleep(0.77)
            server.put("a")
            server.compact()
            for connection in server.connections:
                connection.drop()
    asked = starts(server)
    assert 9 <= len(asked) <= 12
    # The first may be the refused WatchList.
    assert all(later - earlier > BETWEEN_LISTS - 0.001 for earlier, later in pairwise(asked[1:]))


@pytest.mark.usefixtures("both_ways")
async def test_a_list_that_is_itself_gone_is_not_repeated_at_once(
    server: Server, store: Store[Pod], reflector: Reflector[Pod], logs: Logs
) -> None:
    """A continue token can expire between two pages, for ever."""
    async with running(reflector.run()):
        await asyncio.sleep(BETWEEN_LISTS)
        server.refusals.extend([GoneError(410, "Expired", "the continue token is too old")] * 100)
        server.put("d")
        server.connections[0].drop()
        called = len(server.calls)
        await asyncio.sleep(30)
        assert len(server.calls) - called < 10
        server.refusals.clear()
        await asyncio.sleep(60)
        assert held(store) == server.readable()
    assert "a bug" not in str(logs)


# Silence, and a server that ends its watches.


@pytest.mark.usefixtures("both_ways")
async def test_a_half_open_watch_is_noticed(server: Server, store: Store[Pod], reflector: Reflector[Pod]) -> None:
    async with running(reflector.run()):
        await asyncio.sleep(100)
        [connection] = server.connections
        connection.held = True
        server.put("d")
        await asyncio.sleep(HALF_OPEN)
        assert held(store) == server.readable()
        assert connection not in server.connections
    assert len(starts(server)) <= 2  # going on needs no list


async def test_bookmarks_are_signs_of_life(server: Server, reflector: Reflector[Pod]) -> None:
    async with running(reflector.run()):
        await asyncio.sleep(200)
        assert reflector.age() < 60
        assert len(server.calls) == 1
        server.bookmarks = False
        await asyncio.sleep(65)
        assert reflector.age() > 60


async def test_a_kind_without_bookmarks_is_not_silent_when_nothing_happens(server: Server, logs: Logs) -> None:
    """Its watches end early instead. One that is dead is still noticed."""
    server.bookmarks = False
    events: Reflector[Pod] = Reflector(server.client, replace(PODS, bookmarks=False), Store(), ListOptions(NAMESPACE))
    async with running(events.run()):
        for _ in range(30):
            await asyncio.sleep(20)
            assert events.age() < 60
        assert len(starts(server)) == 1
        assert not logs
        [connection] = server.connections
        connection.held = True
        await asyncio.sleep(HALF_OPEN)
        assert connection not in server.connections


@pytest.mark.usefixtures("both_ways")
async def test_a_watch_that_the_server_ends_goes_on_where_it_was(
    server: Server, store: Store[Pod], reflector: Reflector[Pod]
) -> None:
    """It ends every few minutes, perhaps in the middle of a line; bookmarks have said where to go on."""
    async with running(reflector.run()):
        await asyncio.sleep(5)
        lists = len(starts(server))
        for _ in range(5):
            server.elsewhere(10)
            await asyncio.sleep(100)
            server.compact()
            [connection] = server.connections
            connection.say(b'{"type": "ADDED", "obj')
            connection.end()
            await asyncio.sleep(0.01)
            server.put("d")
            await asyncio.sleep(0.01)
            assert held(store) == server.readable()
        assert len(starts(server)) == lists


async def test_a_server_that_ends_every_watch_at_once_is_not_hammered(
    server: Server, reflector: Reflector[Pod]
) -> None:
    async with running(reflector.run()):
        await asyncio.wait_for(reflector.synced.wait(), 600)
        for _ in range(1000):
            await asyncio.sleep(0.1)
            for connection in server.connections:
                connection.end()
    assert len(server.calls) < 20


async def test_a_start_that_never_ends_is_not_hammered(
    server: Server, store: Store[Pod], reflector: Reflector[Pod]
) -> None:
    """Each try costs the server a list; half of one is not what exists."""
    server.initial_seconds = 60
    async with running(reflector.run()):
        for _ in range(50):
            await asyncio.sleep(2)
            for connection in server.connections:
                connection.end()
        assert len(store) == 0
        assert not reflector.synced.is_set()
    assert len(server.calls) < 15
