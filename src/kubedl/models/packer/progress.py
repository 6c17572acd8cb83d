"""Progress of packing, for the log and for the controller, which reads the last line.

A line begins with `progress <bytes in the registry>/<bytes in total> `. One is written per finished layer, and
otherwise at most every two seconds. `retrying <reason>: ` begins an error after which the registry is tried again.
"""

import threading
import time
from collections.abc import Callable

from kubedl.models.pack_protocol import RETRYING
from kubedl.oci.errors import ImageError

EVERY = 2.0


def _print(line: str) -> None:
    print(line, flush=True)


def report_retry(error: ImageError, write: Callable[[str], None] = _print) -> None:
    """Report an error after which the registry is tried again."""
    write(f"{RETRYING}{error.reason}: {error.message}")


class Progress:
    """Thread-safe counters. Bytes of a layer that must be sent again are subtracted."""

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
        """Record that part of a layer was read; this does not count as uploaded."""
        self._say(f"reading {name}")

    def sent(self, layer: int, offset: int, name: str) -> None:
        """Record how many bytes of a layer are uploaded."""
        with self._lock:
            self._done += offset - self._at.get(layer, 0)
            self._at[layer] = offset
        self._say(f"sending {name}")

    def present(self, name: str, *, reused: bool) -> None:
        """Record that a layer is complete."""
        self._say(f"{'found' if reused else 'sent'} {name}", now=True)

    def note(self, message: str) -> None:
        """Print a message."""
        self._say(message, now=True)

    def _say(self, message: str, *, now: bool = False) -> None:
        with self._lock:
            moment = self._clock()
            if now or moment - self._last >= EVERY:
                self._last = moment
                self._write(f"progress {self._done}/{self._total} {message}")
