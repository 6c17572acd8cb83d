"""Lines of logs with the time at which they were written, and the place in a log up to which it has been read."""

from collections import Counter
from datetime import UTC, datetime

_SECOND = 10**9


class LogLine(str):
    """A line, with the replica that wrote it and the time in nanoseconds since 1970.

    `rank` is what the operator told the program (RANK, JAX_PROCESS_ID); None where a kind has none. `attempt` is that
    of its pod, from 0: it grows when the operator replaces the pod, not when a container restarts in it.
    """

    __slots__ = ("attempt", "nanoseconds", "rank", "replica")
    replica: str
    nanoseconds: int
    rank: int | None
    attempt: int

    @classmethod
    def of(cls, text: str, replica: str, nanoseconds: int, rank: int | None = None, attempt: int = 0) -> "LogLine":
        """Return a line."""
        line = cls(text)
        line.replica, line.nanoseconds, line.rank, line.attempt = replica, nanoseconds, rank, attempt
        return line

    @property
    def time(self) -> datetime:
        """Return when it was written."""
        return datetime.fromtimestamp(self.nanoseconds / _SECOND, UTC)


def parse(line: bytes, replica: str, rank: int | None = None, attempt: int = 0) -> LogLine:
    """Return a line that begins with its time; without a readable time it counts as written in 1970."""
    stamp, _, text = line.partition(b" ")
    moment = nanoseconds(stamp.decode("ascii", errors="replace"))
    if moment is None:
        return LogLine.of(line.decode(errors="replace"), replica, 0, rank, attempt)
    return LogLine.of(text.decode(errors="replace"), replica, moment, rank, attempt)


def nanoseconds(stamp: str) -> int | None:
    """Return a time of RFC 3339, which may have up to nine digits after the second; None if it is none."""
    if len(stamp) > 40:
        return None
    whole, dot, rest = stamp.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))] if dot else ""
    zone = rest[len(digits) :] if dot else ""
    try:
        moment = datetime.fromisoformat(whole + zone)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return int(moment.timestamp()) * _SECOND + int((digits + "000000000")[:9])


class Position:
    """How far a log has been read, so that it can be read again after a break without a line missing or twice.

    The server reads again from a whole second. Lines of the last seconds are remembered, and dropped when they come
    again, each as often as it was there; so lines need not be in order of time.
    """

    def __init__(self) -> None:
        self._last = 0
        self._recent: Counter[tuple[int, int]] = Counter()
        self._again: Counter[tuple[int, int]] = Counter()
        self._resumed = False
        self._floor = 0

    @property
    def is_begun(self) -> bool:
        """Return whether a line has been read."""
        return self._last > 0

    @property
    def since(self) -> str:
        """Return the second from which to read again, as the server understands it."""
        return f"{datetime.fromtimestamp(self._start() // _SECOND, UTC):%Y-%m-%dT%H:%M:%SZ}"

    def resume(self) -> None:
        """Note that the log is read again from `since`."""
        self._again, self._resumed, self._floor = self._recent.copy(), self.is_begun, self._start()

    def take(self, line: LogLine) -> tuple[bool, float]:
        """Return whether a line is new, and how many seconds of the log were lost before it."""
        known, lost = (line.nanoseconds, hash(line)), 0.0
        if line.nanoseconds < self._floor:  # older than what was asked for
            return False, 0.0
        if self._again.get(known, 0) > 0:
            self._again[known] -= 1
            self._resumed = False
            return False, 0.0
        if self._resumed and line.nanoseconds > self._last:  # nothing came again: the node has removed it
            lost = (line.nanoseconds - self._last) / _SECOND
        self._resumed = False
        if line.nanoseconds // _SECOND > self._last // _SECOND:
            self._last = line.nanoseconds
            start = self._start()
            self._recent = Counter({one: count for one, count in self._recent.items() if one[0] >= start})
        self._last = max(self._last, line.nanoseconds)
        if line.nanoseconds >= self._start():
            self._recent[known] += 1
        return True, lost

    def _start(self) -> int:
        return max(0, self._last // _SECOND - 1) * _SECOND
