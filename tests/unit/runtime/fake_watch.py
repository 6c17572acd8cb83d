"""A watch of the model server: what is visible goes into an outbox, and what is not held back is read from there."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

from kubedl.kube import codec
from kubedl.kube.errors import ApiError, UnknownOutcomeError
from kubedl.kube.watch import INITIAL_EVENTS_END

BOOKMARK_SECONDS = 60.0

Body = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """One change."""

    version: int
    type: str
    body: Body

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def readable(self) -> bool:
        """Whether the object fits the type that it is read into."""
        return "spoiled" not in self.body

    @property
    def line(self) -> bytes:
        """As a watch says it."""
        return line(self.type, self.body)


class Source(Protocol):
    """What a watch must know of its server."""

    chunk: int
    initial_seconds: float
    bookmarks: bool
    history: list[Event]

    @property
    def visible(self) -> int: ...

    def state(self, at: int | None = None) -> dict[str, Event]: ...


class Connection:
    """One open watch, from a version or, without one, from all that exists."""

    def __init__(self, server: Source, start: int | None, silence: float, lasts: float) -> None:
        self.held = False
        self._server = server
        self._silence = silence
        self._outbox: deque[bytes] = deque()
        self._sent: list[bytes] = []
        self._failure: Exception | None = None
        self._ended = False
        self._wake = asyncio.Event()
        self._at = server.visible if start is None else start
        self._loop = asyncio.get_running_loop()
        self._bookmark_timer = self._loop.call_later(BOOKMARK_SECONDS, self._bookmark)
        self._end_timer = self._loop.call_later(lasts, self.end)
        self._initial_timer: asyncio.TimerHandle | None = None
        if start is None:
            for event in server.state(self._at).values():
                self._send(line("ADDED", event.body))
            self._initial_timer = self._loop.call_later(server.initial_seconds, self._end_initial_events)
        else:
            self.pump()

    async def parts(self) -> AsyncIterator[bytes]:
        """What arrives, in pieces as the network brings them."""
        heard = self._loop.time()
        while self._failure is None:
            if self._outbox and not self.held:
                data = b"".join(self._outbox)
                self._outbox.clear()
                for start in range(0, len(data), self._server.chunk):
                    yield data[start : start + self._server.chunk]
                heard = self._loop.time()
                continue
            if self._ended and not self.held:
                return
            self._wake.clear()
            try:
                async with asyncio.timeout_at(heard + self._silence):
                    await self._wake.wait()
            except TimeoutError:
                raise UnknownOutcomeError(0, "", "silence") from None
        raise self._failure

    def pump(self) -> None:
        """Send what has become visible."""
        for event in self._server.history:
            if self._at < event.version <= self._server.visible:
                self._send(event.line)
        self._at = max(self._at, self._server.visible)
        self._wake.set()

    def release(self) -> None:
        """Deliver what was held back."""
        self.held = False
        self._wake.set()

    def repeat(self, back: int, count: int | None = None) -> None:
        """Say once more what was said so many events ago, all since then or only the first of it."""
        self._outbox.extend(self._sent[-back:][:count])
        self._wake.set()

    def drop(self) -> None:
        """Break, with whatever is under way."""
        self._failure = UnknownOutcomeError(0, "", "connection reset")
        self._wake.set()

    def end(self) -> None:
        """End as a server does that has had enough, in the middle of a line if it is under way."""
        self._ended = True
        self._wake.set()

    def fail(self, error: ApiError) -> None:
        """Say an error and end."""
        status = {"kind": "Status", "code": error.code, "reason": error.reason, "message": error.message}
        self.say(line("ERROR", status))
        self.end()

    def say(self, data: bytes) -> None:
        """Send anything."""
        self._outbox.append(data)
        self._wake.set()

    def close(self) -> None:
        self._bookmark_timer.cancel()
        self._end_timer.cancel()
        if self._initial_timer is not None:
            self._initial_timer.cancel()

    def _send(self, line: bytes) -> None:
        self._outbox.append(line)
        self._sent.append(line)

    def _bookmark(self) -> None:
        self._bookmark_timer = self._loop.call_later(BOOKMARK_SECONDS, self._bookmark)
        if self._server.bookmarks:
            self.pump()
            self.say(line("BOOKMARK", {"metadata": {"resourceVersion": str(self._at)}}))

    def _end_initial_events(self) -> None:
        self.pump()
        meta = {"resourceVersion": str(self._at), "annotations": {INITIAL_EVENTS_END: "true"}}
        self.say(line("BOOKMARK", {"metadata": meta}))


def line(kind: str, body: Body) -> bytes:
    """A change, or anything else, as a watch says it."""
    return codec.encode({"type": kind, "object": body}) + b"\n"
