"""Building a directory once, however many processes ask for it.

A finished directory appears under its final name in one rename. Until then everything happens in
`<name>.partial` under the lock of that name, so whoever holds the lock may remove a partial
directory: its builder is dead.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed import locks


def build_once(directory: Path, name: str, key: str, build: Callable[[Path], Path]) -> Path:
    """The finished directory; `build` gets an empty one to work in and returns what to keep of it."""
    finished = directory / f"{name}-{key[:16]}"
    if finished.exists():
        return finished
    directory.mkdir(parents=True, exist_ok=True)
    with locks.held(directory / f"{name}.lock"):
        if not finished.exists():  # another process may have built it while this one waited
            with _scratch(directory / f"{name}.partial") as scratch:
                build(scratch).rename(finished)
    return finished


@contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir()
    try:
        yield directory
    finally:
        shutil.rmtree(directory)
