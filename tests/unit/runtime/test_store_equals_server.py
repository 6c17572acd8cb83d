"""Any interleaving of changes, doubles, drops, silence, lost history and servers that lag ends with store == server.

More than that: at any moment the store is what the server was at the version that the store claims, which is what the
gate on own writes relies on.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import looptime
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from kubedl.kube.errors import GoneError, UnknownOutcomeError
from kubedl.kube.types.core import PODS, Pod
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from tests.hypothesis_settings import tried
from tests.unit.runtime.background import running
from tests.unit.runtime.fake_server import Server
from tests.unit.runtime.store_view import held

QUIET = 200.0  # seconds in which a healthy server is followed again, whatever was before
GROUPS = ("red", "green", "")
HALVES = ("even", "odd")
NAMES = "abc"


@dataclass(frozen=True)
class Step:
    """Something happens, then time passes."""

    what: str
    arguments: tuple[Any, ...]
    then: float


def group(pod: Pod) -> str | None:
    return pod.metadata.labels.get("group") or None


def half(pod: Pod) -> str:
    return HALVES[ord(pod.metadata.name) % 2]


class Witness:
    """Hears what a store tells, and keeps a copy by that alone."""

    def __init__(self, store: Store[Pod]) -> None:
        self.copy: dict[str, Pod] = {}
        self.complaints: list[str] = []
        self.added: Counter[str] = Counter()
        self.removed: Counter[str] = Counter()
        self._store = store
        self._version = 0
        store.subscribe(self._hear)

    def _hear(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        name, uid = pod.metadata.name, pod.metadata.uid
        known = self.copy.get(name)
        if (known and known.metadata.uid) != (old and old.metadata.uid) or (new and old and known is not old):
            self.complaints.append(f"was told {old} -> {new}, but knew {known}")
        if new and old and new.metadata.resource_version == old.metadata.resource_version:
            self.complaints.append(f"was told twice of {new}")
        if new is None:
            self.removed[uid] += 1
            self.copy.pop(name, None)
        else:
            self.added[uid] += old is None
            self.copy[name] = new

    def check(self, server: Server) -> None:
        """What must hold at any moment."""
        store = self._store
        assert self.complaints == []
        assert self.copy == {pod.metadata.name: pod for pod in store}
        assert store.version >= self._version
        self._version = store.version
        assert held(store) == server.readable(store.version)
        for index, function, values in (("group", group, GROUPS), ("half", half, HALVES)):
            for value in values:
                assert held(store.by_index(index, value)) == held(pod for pod in store if function(pod) == value)
        gone = {uid for uid in self.removed if uid not in {pod.metadata.uid for pod in store}}
        assert {pod.metadata.uid for value in HALVES for pod in store.tombstones(value)} == gone


async def follow(server: Server, steps: list[Step]) -> None:
    store: Store[Pod] = Store({"group": group, "half": half}, remember="half")
    witness = Witness(store)
    reflector = Reflector(server.client, PODS, store, jitter=lambda: 0.5)
    reflector.patience = math.inf  # servers lag for minutes here, and catch up in the end
    for name in NAMES:
        server.put(name)
    async with running(reflector.run()):
        for step in steps:
            OPERATIONS[step.what](server, *step.arguments)
            await asyncio.sleep(step.then)
            witness.check(server)
        heal(server)
        await asyncio.sleep(QUIET)
        witness.check(server)
        assert held(store) == server.readable()
        assert store.version == server.version
        for uid in witness.added:
            assert witness.added[uid] - witness.removed[uid] == (uid in {pod.metadata.uid for pod in store})
        spoiled = {event.body["metadata"]["uid"] for event in server.history if not event.readable}
        assert all(count == 1 for uid, count in witness.added.items() if uid not in spoiled)


def heal(server: Server) -> None:
    """What is frozen stays so: it must be noticed."""
    server.bookmarks = True
    server.refusals.clear()
    server.catch_up()


# What can happen.


def put(server: Server, name: str, color: str) -> None:
    server.put(name, metadata={"labels": {"group": color}})


def spoil(server: Server, name: str, part: str) -> None:
    server.put(name, spoiled=part)


def recreate(server: Server, name: str) -> None:
    server.remove(name)
    server.put(name)


def refuse(server: Server, count: int, gone: bool) -> None:
    """The next reads fail; a list can be gone between two pages."""
    error = GoneError(410, "Expired", "the continue token is too old") if gone else UnknownOutcomeError(503, "", "down")
    server.refusals.extend([error] * count)


def switch(server: Server, back: int) -> None:
    """To another server, which lags behind what was seen."""
    server.stuck_at = server.version - back
    drop(server)


def compact(server: Server) -> None:
    """Whoever has not heard the very last has missed something."""
    server.elsewhere()
    server.compact()


def drop(server: Server) -> None:
    for connection in server.connections:
        connection.drop()


def end(server: Server) -> None:
    """In the middle of a line."""
    for connection in server.connections:
        connection.say(b'{"type": "MODIF')
        connection.end()


def hold(server: Server) -> None:
    """Delay what is under way; for good, if nobody releases it."""
    for connection in server.connections:
        connection.held = True


def release(server: Server) -> None:
    for connection in server.connections:
        connection.release()


def repeat(server: Server, back: int, count: int) -> None:
    for connection in server.connections:
        connection.repeat(back, count)


def expire(server: Server) -> None:
    for connection in server.connections:
        connection.fail(GoneError(410, "Expired", "too old resource version"))


def bookmarks(server: Server, on: bool) -> None:
    server.bookmarks = on


OPERATIONS: dict[str, Callable[..., object]] = {
    "put": put,
    "remove": Server.remove,
    "recreate": recreate,
    "spoil": spoil,
    "elsewhere": Server.elsewhere,
    "compact": compact,
    "lag": Server.lag,
    "catch_up": Server.catch_up,
    "switch": switch,
    "refuse": refuse,
    "drop": drop,
    "end": end,
    "hold": hold,
    "release": release,
    "repeat": repeat,
    "expire": expire,
    "bookmarks": bookmarks,
}
NAME = st.sampled_from(NAMES)
ARGUMENTS: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "put": st.tuples(NAME, st.sampled_from(GROUPS)),
    "remove": st.tuples(NAME),
    "recreate": st.tuples(NAME),
    "spoil": st.tuples(NAME, st.sampled_from(["status", "labels"])),
    "switch": st.tuples(st.integers(1, 8)),
    "refuse": st.tuples(st.integers(1, 4), st.booleans()),
    "repeat": st.tuples(st.integers(1, 8), st.integers(1, 8)),
    "bookmarks": st.tuples(st.booleans()),
}
PAUSES = st.sampled_from([0.0, 0.0, 0.0, 0.05, 0.05, 1.0, 1.0, 12.0, 80.0])
# A fault shows only beside changes.
OFTEN = ["put"] * 6 + [
    "remove",
    "recreate",
    "repeat",
    "repeat",
    "drop",
    "hold",
    "release",
    "compact",
    "switch",
    "refuse",
]
STEPS = st.one_of(
    [st.builds(Step, st.just(what), ARGUMENTS.get(what, st.just(())), PAUSES) for what in [*OPERATIONS, *OFTEN]]
)
SERVERS = st.builds(
    Server,
    page_size=st.integers(1, 3),
    chunk=st.sampled_from([64, 1 << 16]),
    call_seconds=st.sampled_from([0.0, 0.05, 2.0]),
    initial_seconds=st.sampled_from([0.0, 0.05, 2.0]),
    watch_list=st.booleans(),
    gone_as_event=st.booleans(),
)


@tried(daily=30)
@given(SERVERS, st.lists(STEPS, min_size=15, max_size=40))
def test_the_store_becomes_what_the_server_is(server: Server, steps: list[Step]) -> None:
    with capture_logs(), asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(noop_cycles=0)) as runner:
        runner.run(follow(server, steps))
