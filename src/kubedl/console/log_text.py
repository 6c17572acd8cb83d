"""The lines of an archived log: some of them, or those that have a text. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.console.wire_logs import LogHit, LogLineRow

LONGEST_LINE = 4096  # characters that are sent of a line
LONGEST_ROW = 4 * LONGEST_LINE + 64  # bytes that they and the time have
MARK = b"[kubedl: "  # of the line that says that the beginning is missing
_TIME = len("2026-11-18T00:00:00Z")
# A node that rotates a log gives to nobody what it has put aside, and does not say that it did. A program that has said
# nothing for longer than it takes to start may have said something that is not there.
SILENCE = timedelta(minutes=1)


@dataclass(frozen=True)
class LogText:
    """A log as it was archived; `timed`: each line begins with the time at which it was written."""

    content: bytes
    timed: bool
    started: datetime | None = None  # the container

    @classmethod
    def of(cls, content: bytes, *, timed: bool, cut: bool, started: datetime | None = None) -> "LogText":
        """Return a log without the words of the archive about its beginning."""
        if cut and content.startswith(MARK):
            content = content.partition(b"\n")[2]
        return cls(content, timed, started)

    @property
    def total(self) -> int:
        """Return how many lines it has."""
        return self.content.count(b"\n") + (not self.content.endswith(b"\n") and bool(self.content))

    @property
    def silence(self) -> timedelta:
        """Return how long the container had run when it wrote the first line, if lines before it may be missing."""
        first = next(iter(self.rows(1, 1)), None)
        if self.started is None or first is None:
            return timedelta(0)
        try:
            passed = datetime.fromisoformat(first.time) - self.started
        except (ValueError, TypeError):  # the line has no time, or one without its zone
            return timedelta(0)
        return passed if passed > SILENCE else timedelta(0)

    def rows(self, first: int, count: int) -> list[LogLineRow]:
        """Return lines from a number on, counted from 1."""
        start = self._start_of(first)
        return [self._row(start, end) for start, end in self._from(start, count)]

    def number_at(self, time: str) -> int:
        """Return the number of the first line of a time; 0 if no line is of that time."""
        if not self.timed or not time:
            return 0
        mark = f"{time} ".encode()
        if self.content.startswith(mark):
            return 1
        found = self.content.find(b"\n" + mark)
        return self.content.count(b"\n", 0, found + 1) + 1 if found >= 0 else 0

    def hits(self, text: str, most: int) -> list[LogHit]:
        """Return the first lines that have a text; letters of the alphabet match in either case."""
        if "\n" in text:
            return []  # no line has it
        wanted, where = text.encode().lower(), self.content.lower()
        found: list[LogHit] = []
        at, number, counted = 0, 1, 0
        while wanted and len(found) < most and (at := where.find(wanted, at)) >= 0:
            number += where.count(b"\n", counted, at)
            start = where.rfind(b"\n", 0, at) + 1
            end = where.find(b"\n", at)
            end = len(where) if end < 0 else end
            row = self._row(start, end)
            if wanted in row.text.encode().lower() or end - start > LONGEST_LINE:  # not in its time
                found.append(LogHit(line=number, time=row.time, text=row.text))
            at, counted = end + 1, end
        return found

    def _start_of(self, number: int) -> int:
        """Return where a line begins. Counted in large steps: a log has millions of bytes."""
        left, at, step = number - 1, 0, 1 << 16
        while left > 0:
            here = self.content.count(b"\n", at, at + step)
            if here >= left:
                for _ in range(left):
                    at = self.content.index(b"\n", at) + 1
                return at
            left, at = left - here, at + step
            if at >= len(self.content):
                return len(self.content)
        return at

    def _from(self, start: int, count: int) -> Iterator[tuple[int, int]]:
        for _ in range(count):
            if start >= len(self.content):
                return
            end = self.content.find(b"\n", start)
            end = len(self.content) if end < 0 else end
            yield start, end
            start = end + 1

    def _row(self, start: int, end: int) -> LogLineRow:
        line = self.content[start : min(end, start + LONGEST_ROW)]  # a line may be the whole log
        time, text = "", line
        if self.timed:
            stamp, _, rest = line.partition(b" ")
            if len(stamp) >= _TIME and stamp.endswith(b"Z"):
                time, text = stamp.decode(errors="replace"), rest
        words = text[: 4 * LONGEST_LINE].decode(errors="replace")
        return LogLineRow(time=time, text=words[:LONGEST_LINE].rstrip("\r"))
