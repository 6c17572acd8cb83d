"""The last changes of the job list, in order, in bounded number and age. Pure.

A viewer holds a position in it. A slow viewer costs nothing: what it has missed is merged when it reads again, and a
position that is no longer covered is answered with None, upon which the viewer takes the list anew.
"""

import enum
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

MOST = 20_000
SECONDS = 300.0


class Place(NamedTuple):
    """Where a job is, as rights know it: the name of its resource, and the namespace."""

    resource: str
    namespace: str


class Mark(enum.Enum):
    """A change without a row."""

    GONE = "gone"
    TOUCHED = "touched"


class Change(NamedTuple):
    """A new row, or a mark."""

    place: Place
    uid: str
    what: bytes | Mark
    at: float


class Merged(NamedTuple):
    """Many changes as one: the last row of each job."""

    rows: Sequence[bytes]
    gone: Sequence[str]
    touched: Sequence[str]


class Journal:
    """Numbered changes; the first has number 1."""

    def __init__(self, clock: Callable[[], float], most: int = MOST, seconds: float = SECONDS) -> None:
        self.head = 0
        self._clock, self._most, self._seconds = clock, most, seconds
        self._changes: deque[Change] = deque()

    def add(self, place: Place, uid: str, what: bytes | Mark) -> None:
        """Add a change and drop those that are too many or too old."""
        now = self._clock()
        self._changes.append(Change(place, uid, what, now))
        self.head += 1
        while len(self._changes) > self._most or self._changes[0].at < now - self._seconds:
            self._changes.popleft()

    def since(self, position: int) -> list[Change] | None:
        """Return the changes after a position; None if they are not all here, or the position never was."""
        number = self.head - position
        if not 0 <= number <= len(self._changes):
            return None
        return list(islice(self._changes, len(self._changes) - number, None))


def merge(changes: Iterable[Change], visible: Callable[[Place], bool]) -> Merged:
    """Merge the changes of the places that a viewer may see; nothing else is in the result."""
    rows: dict[str, bytes] = {}
    gone: dict[str, None] = {}
    touched: dict[str, None] = {}
    for change in changes:
        if not visible(change.place):
            continue
        if isinstance(change.what, bytes):
            rows[change.uid] = change.what
            gone.pop(change.uid, None)
        elif change.what is Mark.GONE:
            rows.pop(change.uid, None)
            touched.pop(change.uid, None)
            gone[change.uid] = None
        else:
            touched[change.uid] = None
    return Merged(list(rows.values()), list(gone), [uid for uid in touched if uid not in gone])
