"""Retry policy: exponential backoff with jitter, and an end when there is no progress."""

import random
import time
from collections.abc import Callable

FIRST = 0.5
LONGEST = 30.0
LONGEST_ASKED = 120.0  # longest Retry-After that is respected
GIVE_UP = 300.0  # seconds without progress


class RetryPolicy:
    """The policy of one operation. Progress resets it."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._pause = pause
        self.progressed()

    def progressed(self) -> None:
        """Record progress."""
        self._since = self._clock()
        self._failures = 0

    def spent(self) -> bool:
        """Return whether to give up."""
        return self._clock() - self._since > GIVE_UP

    def wait(self, asked: float | None = None) -> None:
        """Sleep before the next attempt, at least as long as the registry asked for."""
        longest = min(LONGEST, FIRST * 2**self._failures)
        self._failures = min(self._failures + 1, 16)
        drawn = random.uniform(longest / 2, longest)  # noqa: S311  not security-relevant
        self._pause(max(drawn, min(asked or 0.0, LONGEST_ASKED)))


def asked_for(header: str) -> float | None:
    """Parse the seconds of a Retry-After header; dates are ignored, since clocks differ."""
    return float(header) if header.isascii() and header.isdigit() and len(header) < 9 else None
