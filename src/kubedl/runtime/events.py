"""Events for `kubectl describe`. Recording never fails, never blocks and never floods the API server.

A repeated message about the same object increments the count of one Event. Its name is derived from the message, so a
restarted operator continues the count. After ten different messages with one reason within ten minutes, further ones
are combined. Each object may cause a burst of 25 writes and one more per minute, separately for warnings, so that
normal events do not hide them. Events that could not be written are included in the next count.
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
from kubedl.kube.errors import AlreadyExistsError, NamespaceTerminatingError, NotFoundError, UnknownOutcomeError
from kubedl.kube.types.core import EVENTS
from kubedl.kube.types.meta import ObjectKey, ObjectT, Resource

COMPONENT = "kubedl"
LONGEST = 1024  # bytes of a message
SIMILAR, SIMILAR_SECONDS = 10, 600.0
BURST, REFILL_SECONDS = 25, 60.0
WAITING = 1000  # events in the send queue
REMEMBERED = 4096  # events, and as many objects
TRIES, PAUSE = 3, 2.0

log = structlog.get_logger()

EventType = Literal["Normal", "Warning"]
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class ObjectReference(msgspec.Struct, frozen=True, rename="camel"):
    """A reference to the object of an event."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, resource: Resource[ObjectT], obj: ObjectT) -> "ObjectReference":
        """Return the reference to an object of this kind."""
        meta = obj.metadata
        return cls(resource.api_version, resource.kind, meta.namespace, meta.name, meta.uid)


class _Series:
    """One Event object."""

    def __init__(self, about: ObjectReference, type_: EventType, reason: str, message: str) -> None:
        self.about, self.type, self.reason = about, type_, reason
        text = "\0".join((about.uid, type_, reason, message)).encode()
        name = f"{about.name[:230]}.{hashlib.blake2b(text, digest_size=8).hexdigest()}"
        self.key = ObjectKey(about.namespace or "default", name)
        self.message = ""
        self.said_at = ""
        self.written = 0  # count on the server; 0 until it was read
        self.pending = 0
        self.tries = 0


class EventRecorder:
    """Queues events at once and sends them one after another."""

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
        self._full_at: OrderedDict[tuple[str, ...], float] = OrderedDict()  # time when the bucket is full again
        self._due: OrderedDict[ObjectKey, _Series] = OrderedDict()
        self._arrived = asyncio.Event()

    def event(self, about: ObjectReference, type_: EventType, reason: str, message: str) -> None:
        """Record an event about an object."""
        now = self._clock()
        text = message = _cut(message)
        if self._is_one_of_many(about.uid, type_, reason, message, now):
            text, message = "", _cut(f"(combined from similar events): {message}")
        identity = (about.uid, type_, reason, text)
        series = _recall(self._series, identity, lambda: _Series(about, type_, reason, text))
        series.message, series.said_at = message, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        series.pending += 1
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
                await self._send(self._due.popitem(last=False)[1])

    def _is_one_of_many(self, uid: str, type_: str, reason: str, message: str, now: float) -> bool:
        heard = _recall(self._messages, (uid, type_, reason), dict[str, float])
        for old in [text for text, at in heard.items() if now - at > SIMILAR_SECONDS]:
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

    async def _send(self, series: _Series) -> None:
        new = series.pending
        try:
            series.written = await self._write(series, new)
            series.pending -= new
            series.tries = 0
        except Exception as error:  # noqa: BLE001 - whatever it is, the next event may go well
            series.tries += 1
            if isinstance(error, UnknownOutcomeError) and series.tries % TRIES:
                self._due[series.key] = series
                await asyncio.sleep(PAUSE)  # the server is overloaded, and events are the least important
            elif isinstance(error, NamespaceTerminatingError):
                log.debug("event not sent, its namespace is being deleted", about=series.about.name)
            else:
                log.warning("event not sent", about=series.about.name, reason=series.reason, error=str(error))
                self._dropped()

    async def _write(self, series: _Series, new: int) -> int:
        if not series.written:
            try:
                return (await self._client.create(EVENTS, series.key.namespace, self._body(series, new))).count
            except AlreadyExistsError:  # written before our start, or by a create without a response
                series.written = (await self._client.get(EVENTS, series.key)).count
        body = {"count": series.written + new, "message": series.message, "lastTimestamp": series.said_at}
        try:
            return (await self._client.patch(EVENTS, series.key, body)).count
        except NotFoundError:  # events expire after an hour
            series.written = 0
            return await self._write(series, new)

    def _body(self, series: _Series, count: int) -> dict[str, object]:
        head = {"apiVersion": EVENTS.api_version, "kind": EVENTS.kind, "metadata": {"name": series.key.name}}
        content = {"type": series.type, "reason": series.reason, "message": series.message, "count": count}
        times = {"firstTimestamp": series.said_at, "lastTimestamp": series.said_at}
        source = {"component": COMPONENT}
        reporter = {"source": source, "reportingComponent": COMPONENT, "reportingInstance": self._instance}
        return head | content | times | reporter | {"involvedObject": series.about}


def _cut(message: str) -> str:
    return message.encode(errors="replace")[:LONGEST].decode(errors="ignore")


def _recall(memory: OrderedDict[KeyT, ValueT], key: KeyT, make: Callable[[], ValueT]) -> ValueT:
    """Get or create an entry, and evict the least recently used."""
    if key in memory:
        memory.move_to_end(key)
    else:
        memory[key] = make()
        if len(memory) > REMEMBERED:
            memory.popitem(last=False)
    return memory[key]
