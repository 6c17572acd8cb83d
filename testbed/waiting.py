"""Waiting for a condition with a deadline: the only way that the test bed and its tests wait.

A condition is polled, because most of what a test bed waits for (a port, a file, a process that is
gone) has no event to subscribe to. The error says what was waited for and what was seen last.

A deadline tells "not yet" from "never", so it counts only time in which the machine could have got
there. A virtual machine whose host is busy stands still for more than half of its time, for minutes.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from testbed.errors import DeadlineError

T = TypeVar("T")

# Not there yet, as opposed to broken: refused connections, missing files, servers that say "not now".
NOT_YET: tuple[type[Exception], ...] = (OSError, DeadlineError)

START = 300.0  # seconds for one part: one that ends is noticed at once, and how long starts take is for proofs to judge

_PROCESSORS = Path("/proc/stat")
_STOLEN = 8  # which word of its first line


def stolen_seconds() -> float:
    """How long the host has given this machine's processors to others while we wanted them; a mean of all of them."""
    ticks = int(_PROCESSORS.read_text().split(maxsplit=_STOLEN + 1)[_STOLEN])
    return ticks / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)


def working_seconds() -> float:
    """A clock that stands still in so far as time is stolen."""
    return time.monotonic() - stolen_seconds()


def until(
    what: str,
    condition: Callable[[], T],
    *,
    deadline: float,
    interval: float = 0.1,
    clock: Callable[[], float] = working_seconds,
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """Return the condition's first true value, or raise DeadlineError after `deadline` working seconds."""
    end = clock() + deadline
    seen = "nothing yet"
    while True:
        try:
            value = condition()
            if value:
                return value
            seen = repr(value)
        except NOT_YET as error:
            seen = f"{type(error).__name__}: {error}"
        left = end - clock()
        if left <= 0:
            raise DeadlineError(f"waited {deadline:g} s for {what}; last seen: {seen}")
        pause(min(interval, left))
