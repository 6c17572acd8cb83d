"""Locks that the kernel gives back when their holder is killed: `flock` on a file, shared or exclusive."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

SHARED = fcntl.LOCK_SH
EXCLUSIVE = fcntl.LOCK_EX


@contextmanager
def held(path: Path, mode: int = EXCLUSIVE) -> Iterator[IO[str]]:
    """Wait for the lock and hold it as long as the block lasts."""
    with path.open("w") as file:
        take(file, mode)
        yield file


def take(file: IO[str], mode: int) -> None:
    """Wait for the lock, or change the one held; it ends when the file is closed."""
    fcntl.flock(file, mode)


def take_if_free(file: IO[str], mode: int) -> bool:
    """Take the lock unless that would mean waiting."""
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def release(file: IO[str]) -> None:
    """Give the lock back before the file is closed."""
    fcntl.flock(file, fcntl.LOCK_UN)
