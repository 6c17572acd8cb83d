"""Events for the people who read `kubectl describe`. Recording one never fails, never waits and never floods.

What was said before only counts up: the same words about the same object are one Event, whose name follows from them,
so that a restarted operator goes on counting where the last one was. After ten different messages with one reason
within ten minutes the rest is folded into one. Each object may cause 25 writes at once and one more a minute, warnings
and the rest apart, so that many small news do not hide the bad. What could not be written is in the next count.
"""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, TypeVar

import msgspec
import structlog

from kubedl.kube.client import Client
from kubedl.kube.errors import AlreadyExistsError, NotFoundError, UnsureError
from kubedl.wire.core import EVENTS
from kubedl.wire.meta import Key

COMPONENT = "kubedl"
LONGEST = 1024  # bytes of a message
SIMILAR, SIMILAR_SECONDS = 10, 600.0
BURST, REFILL_SECONDS = 25, 60.0
WAITING = 1000  # events not yet sent
REMEMBERED = 4096  # events, and as many objects
TRIES, PAUSE = 3, 2.0

log = structlog.get_logger()

Type = Literal["Normal", "Warning"]
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class _Series:
    """One Event object."""

    def __init__(self, about: Reference, type_: Type, reason: str, words: str) -> None:
        self.about, self.type, self.reason = about, type_, reason
        text = "\0".join((about.uid, type_, reason, words)).encode()
        name = f"{about.name[:230]}.{hashlib.blake2b(text, digest_size=8).hexdigest()}"
        self.key = Key(about.namespace or "default", name)
        self.message = ""
        self.said_at = ""
        self.told = 0  # how often, as the server knows it; 0 until we have asked
        self.untold = 0
        self.tries = 0


class Recorder:
    """Takes events at once and sends them one after another."""

    def __init__(
        self,
        client: Client,
        *,
        instance: str = COMPONENT,
        dropped: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._instance, self._dropped, self._clock = client, instance, dropped, clock
        self._series: OrderedDict[tuple[str, ...], _Series] = OrderedDict()
        self._messages: OrderedDict[tuple[str, ...], dict[str, float]] = OrderedDict()
        self._full_at: OrderedDict[tuple[str, ...], float] = OrderedDict()  # when a bucket is full again
        self._due: OrderedDict[Key, _Series] = OrderedDict()
        self._arrived = asyncio.Event()

    def event(self, about: Reference, type_: Type, reason: str, message: str) -> None:
        """Say what happened to an object."""
        now = self._clock()
        words = message = _cut(message)
        if self._is_one_of_many(about.uid, type_, reason, message, now):
            words, message = "", _cut(f"(combined from similar events): {message}")
        identity = (about.uid, type_, reason, words)
        series = _recall(self._series, identity, lambda: _Series(about, type_, reason, words))
        series.message, series.said_at = message, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        series.untold += 1
        if series.key in self._due:
            return
        if len(self._due) < WAITING and self._may_write(about.uid, type_, now):
            self._due[series.key] = series
            self._arrived.set()
        else:
            self._dropped()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._due:
                await self._tell(self._due.popitem(last=False)[1])

    def _is_one_of_many(self, uid: str, type_: str, reason: str, message: str, now: float) -> bool:
        heard = _recall(self._messages, (uid, type_, reason), dict[str, float])
        for old in [words for words, at in heard.items() if now - at > SIMILAR_SECONDS]:
            del heard[old]
        if message not in heard and len(heard) >= SIMILAR:
            return True
        heard[message] = now
        return False

    def _may_write(self, uid: str, type_: str, now: float) -> bool:
        full_at = max(_recall(self._full_at, (uid, type_), lambda: now), now)
        if full_at - now > (BURST - 1) * REFILL_SECONDS:
            return False
        self._full_at[uid, type_] = full_at + REFILL_SECONDS
        return True

    async def _tell(self, series: _Series) -> None:
        new = series.untold
        try:
            series.told = await self._write(series, new)
            series.untold -= new
            series.tries = 0
        except Exception as error:  # noqa: BLE001 - whatever it is, the next event may go well
            series.tries += 1
            if isinstance(error, UnsureError) and series.tries % TRIES:
                self._due[series.key] = series
                await asyncio.sleep(PAUSE)  # the server is in trouble, and this is the least that it must hear
            else:
                log.warning("event not sent", about=series.about.name, reason=series.reason, error=str(error))
                self._dropped()

    async def _write(self, series: _Series, new: int) -> int:
        if not series.told:
            try:
                return (await self._client.create(EVENTS, series.key.namespace, self._body(series, new))).count
            except AlreadyExistsError:  # written before our start, or by a create that went unanswered
                series.told = (await self._client.get(EVENTS, series.key)).count
        body = {"count": series.told + new, "message": series.message, "lastTimestamp": series.said_at}
        try:
            return (await self._client.patch(EVENTS, series.key, body)).count
        except NotFoundError:  # events last an hour
            series.told = 0
            return await self._write(series, new)

    def _body(self, series: _Series, count: int) -> dict[str, object]:
        head = {"apiVersion": EVENTS.api_version, "kind": EVENTS.kind, "metadata": {"name": series.key.name}}
        words = {"type": series.type, "reason": series.reason, "message": series.message, "count": count}
        times = {"firstTimestamp": series.said_at, "lastTimestamp": series.said_at}
        source = {"component": COMPONENT}
        reporter = {"source": source, "reportingComponent": COMPONENT, "reportingInstance": self._instance}
        return head | words | times | reporter | {"involvedObject": series.about}


def _cut(message: str) -> str:
    return message.encode(errors="replace")[:LONGEST].decode(errors="ignore")


def _recall(memory: OrderedDict[KeyT, ValueT], key: KeyT, make: Callable[[], ValueT]) -> ValueT:
    """Find or make, and forget what was not asked for the longest."""
    if key in memory:
        memory.move_to_end(key)
    else:
        memory[key] = make()
        if len(memory) > REMEMBERED:
            memory.popitem(last=False)
    return memory[key]
