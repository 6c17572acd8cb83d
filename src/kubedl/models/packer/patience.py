"""How long to go on after failures: ever longer pauses, none foreseeable, and an end when nothing moves any more."""

import random
import time
from collections.abc import Callable

FIRST = 0.5
LONGEST = 30.0
LONGEST_ASKED = 120.0  # that a registry may ask us to wait
GIVE_UP = 300.0  # seconds since something last moved


class Patience:
    """For one piece of work. Whatever moves it on begins the count anew."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._pause = pause
        self.moved()

    def moved(self) -> None:
        """There was progress."""
        self._since = self._clock()
        self._failures = 0

    def spent(self) -> bool:
        """Whether to give up."""
        return self._clock() - self._since > GIVE_UP

    def wait(self, asked: float | None = None) -> None:
        """Pause before the next attempt, at least as long as the registry asked for."""
        longest = min(LONGEST, FIRST * 2**self._failures)
        self._failures = min(self._failures + 1, 16)
        drawn = random.uniform(longest / 2, longest)  # noqa: S311  nobody gains by foreseeing it
        self._pause(max(drawn, min(asked or 0.0, LONGEST_ASKED)))


def asked_for(header: str) -> float | None:
    """The seconds of a Retry-After header; dates are left alone, since clocks differ."""
    return float(header) if header.isascii() and header.isdigit() and len(header) < 9 else None
