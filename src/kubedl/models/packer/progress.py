"""How far packing is, for people and for the controller that reads the last line.

A line begins `progress <bytes that the registry has>/<bytes in all> `; one is written for each layer that is done, and
between them at most one every two seconds.
"""

import threading
import time
from collections.abc import Callable

EVERY = 2.0


def _print(line: str) -> None:
    print(line, flush=True)


class Progress:
    """Counts for all threads. Bytes of a layer that must be sent again are taken back."""

    def __init__(
        self, total: int, write: Callable[[str], None] = _print, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total = total
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._at: dict[int, int] = {}
        self._done = 0
        self._last = clock() - EVERY

    def hashed(self, name: str) -> None:
        """Some of a layer was read; nothing of it is at the registry for that."""
        self._say(f"reading {name}")

    def sent(self, layer: int, offset: int, name: str) -> None:
        """So many bytes of a layer are there."""
        with self._lock:
            self._done += offset - self._at.get(layer, 0)
            self._at[layer] = offset
        self._say(f"sending {name}")

    def present(self, name: str, *, reused: bool) -> None:
        """All of a layer is there."""
        self._say(f"{'found' if reused else 'sent'} {name}", now=True)

    def note(self, words: str) -> None:
        """Something else that a reader wants to know."""
        self._say(words, now=True)

    def _say(self, words: str, *, now: bool = False) -> None:
        with self._lock:
            moment = self._clock()
            if now or moment - self._last >= EVERY:
                self._last = moment
                self._write(f"progress {self._done}/{self._total} {words}")
