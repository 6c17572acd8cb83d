"""Which files a tree has gained, changed and lost since it was unpacked.

Times are never looked at: layers do not carry them.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

Fingerprint = tuple[int, int, int, str]


@dataclass(frozen=True)
class Changes:
    """Paths below the tree's root, sorted, a directory before what it holds."""

    written: list[str]
    removed: list[str]


def snapshot(tree: Path) -> dict[str, Fingerprint]:
    """What to compare the tree with later."""
    return {name: _fingerprint(tree / name) for name in _names(tree)}


def changes(tree: Path, before: Mapping[str, Fingerprint]) -> Changes:
    """What has happened to the tree since the snapshot; a directory counts with anything inside it."""
    names = set(_names(tree))
    written = {name for name in names if name not in before or before[name] != _fingerprint(tree / name)}
    written |= {parent for name in written for parent in _parents(name)}
    gone = before.keys() - names
    # The directory above stands for what was in it.
    removed = {name for name in gone if not gone.intersection(_parents(name))}
    return Changes(sorted(written), sorted(_still_inside(removed, tree)))


def _names(tree: Path) -> Iterable[str]:
    for directory, directories, files in os.walk(tree):
        for leaf in directories + files:
            yield (Path(directory) / leaf).relative_to(tree).as_posix()


def _parents(name: str) -> list[str]:
    return [parent.as_posix() for parent in PurePosixPath(name).parents if parent.name]


def _still_inside(names: Iterable[str], tree: Path) -> Iterable[str]:
    """Without those whose directory became something else: what replaces it also hides them."""
    return (name for name in names if _is_directory((tree / name).parent))


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _fingerprint(path: Path) -> Fingerprint:
    status = path.lstat()
    return status.st_mode, status.st_uid, status.st_gid, _content(path, status.st_mode)


def _content(path: Path, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return str(path.readlink())
    if stat.S_ISREG(mode):
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return ""
