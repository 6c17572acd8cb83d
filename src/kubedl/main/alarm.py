"""A clock that the kernel keeps, so that who was frozen ends before he goes on with what he had begun.

The door of every write asks whether the lease is still ours, but a process may be stopped between that question and
the write, and would go on with the write when it wakes. A timer runs while the process stands still. Its signal waits,
is there before the first instruction, and is answered before the next call: what is left of the gap is the one
instruction that was about to enter the kernel.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS = 0.25


@contextmanager
def ringing(check: Callable[[], None]) -> Iterator[None]:
    """Ask every quarter of a second, and at once after a sleep; for the main thread, which alone may."""
    before = signal.signal(signal.SIGALRM, lambda *_: check())
    signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
