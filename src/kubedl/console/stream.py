"""The live stream: server-sent events that a browser resumes where it was cut off.

Each event has an id, which the browser sends back as Last-Event-ID. If the changes after it are all in the journal and
the viewer's rights are the same, the stream goes on exactly there; otherwise it says `reset`, and the browser takes the
list anew. Rights are asked again every five seconds, from a memory of less than a minute, so a right that is taken
away ends here within a minute.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass

import msgspec

from kubedl.console import cursor
from kubedl.console.cursor import Cursor
from kubedl.console.feed import Feed
from kubedl.console.journal import Change, merge
from kubedl.console.people import Caller
from kubedl.console.rights import Rights, View
from kubedl.console.wire import Alive, Frame

SIGN_OF_LIFE = 5.0  # seconds
RETRY = b"retry: 1000\n\n"

Again = Callable[[], Awaitable[Caller | None]]


@dataclass
class Stream:
    """The stream of one viewer."""

    feed: Feed
    rights: Rights
    again: Again  # proves who calls, before rights are asked
    signs_of_life: Callable[[], Alive]
    clock: Callable[[], float]
    _view: View | None = None
    _asked_at: float = float("-inf")

    async def events(self, last: str) -> AsyncGenerator[bytes, None]:
        """Yield events until the caller is signed out; `last` is the id of the last event that the browser has."""
        yield RETRY
        known, sent_at = cursor.parse(last), float("-inf")
        position = known.position if known is not None and known.epoch == self.feed.epoch else None
        while True:
            head = self.feed.journal.head
            changes = self.feed.journal.since(position) if position is not None else None
            before = self._view
            view = await self._current_view(changes or ())
            if view is None:
                yield _event("signed-out", b"{}", "")
                return
            same = not view.differs(before) if before is not None else known is None or view.digest == known.view
            answer = self._answer(changes if same else None, view, sent_at)
            position = head
            if answer is not None:
                sent_at = self.clock()
                yield _event(*answer, str(Cursor(self.feed.epoch, position, view.digest)))
            await self.feed.after(position, SIGN_OF_LIFE)

    async def _current_view(self, changes: Sequence[Change]) -> View | None:
        """Return what the caller may see, asked again every few seconds and for new places; None: signed out."""
        now, view = self.clock(), self._view
        if view is None or now - self._asked_at >= SIGN_OF_LIFE or not all(view.decides(one.place) for one in changes):
            caller = await self.again()
            if caller is None:
                return None
            self._asked_at = now
            self._view = view = await self.rights.view(caller, self.feed.places(one.place for one in changes))
        return view

    def _answer(self, changes: Sequence[Change] | None, view: View, sent_at: float) -> tuple[str, bytes] | None:
        """Return the next event, if there is anything to say."""
        if changes is None:
            return "reset", b"{}"
        merged = merge(changes, view.shows)
        if any(merged):
            rows = [msgspec.Raw(row) for row in merged.rows]
            return "frame", msgspec.json.encode(Frame(rows=rows, gone=merged.gone, touched=merged.touched))
        if self.clock() - sent_at >= SIGN_OF_LIFE:
            return "alive", msgspec.json.encode(self.signs_of_life())
        return None


def _event(name: str, data: bytes, identity: str) -> bytes:
    """Return one event. JSON has no line breaks of its own, so the data is one line."""
    mark = f"id: {identity}\n" if identity else ""
    return b"event: " + name.encode() + b"\n" + mark.encode() + b"data: " + data + b"\n\n"
