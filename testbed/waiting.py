"""Waiting for a condition with a deadline: the only way that the test bed and its tests wait.

A condition is polled, because most of what a test bed waits for (a port, a file, a process that is
gone) has no event to subscribe to. The error says what was waited for and what was seen last.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from testbed.errors import DeadlineError

T = TypeVar("T")

# Not there yet, as opposed to broken: refused connections, missing files, servers that say "not now".
NOT_YET: tuple[type[Exception], ...] = (OSError, DeadlineError)


def until(
    what: str,
    condition: Callable[[], T],
    *,
    deadline: float,
    interval: float = 0.1,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """Return the condition's first true value, or raise DeadlineError after `deadline` seconds."""
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
