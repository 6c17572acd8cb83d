"""What the console sends about logs of the archive."""

from collections.abc import Sequence

from kubedl.console.wire_base import Wire


class LogLineRow(Wire, frozen=True):
    """A line, of which at most 4,096 characters are sent."""

    time: str  # RFC 3339 with nanoseconds; empty if it is not known
    text: str


class LogPage(Wire, frozen=True):
    """Some lines of a log."""

    total: int
    first: int  # number of the first of these lines, counted from 1
    lines: Sequence[LogLineRow]
    cut: bool  # lines before the first one were not kept
    silent_seconds: int  # for which the container had run when it wrote line 1, if others may be missing; else 0


class LogHit(Wire, frozen=True):
    """A line that has the text of a search."""

    line: int
    time: str
    text: str


class LogHits(Wire, frozen=True):
    """The first lines of a log that have a text."""

    hits: Sequence[LogHit]
    more: bool  # there may be others
