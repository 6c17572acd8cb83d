"""SIGALRM timer that re-checks the lease after the process was suspended.

Every write checks the lease first, but a process may be suspended between that check and the write, and would continue
with the write when it resumes. The kernel's timer runs meanwhile: its signal is pending before the first instruction
and is handled before the next system call. What is left of the gap is the one instruction about to enter the kernel.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS = 0.25


@contextmanager
def lease_timer(check: Callable[[], None]) -> Iterator[None]:
    """Check the lease every quarter of a second, and at once after a suspend. Call this from the main thread only."""
    before = signal.signal(signal.SIGALRM, lambda *_: check())
    signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
