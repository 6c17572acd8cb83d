"""The model as it lies on disk, read without ever following a link.

Whoever trained the model decides what is in the directory, so nothing in it is believed: every name is opened below a
directory that is already open, links are never followed, and what is neither file, directory nor a link that stays
inside is refused by name. A file is read only while it is the one that was seen first (inode, size, time of the last
change; no inode on FUSE, where drivers of object storage give out new numbers), so a layer never holds parts of two
versions of it; and in the end the whole must be listed as it was in the beginning, so an image never holds half of what
somebody was about to write. Hard links and sparse files are packed as the ordinary files that they look like.
"""

import errno
import functools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from kubedl.models.packer.failure import PackingError, bad_model, shown, source_changed
from kubedl.models.packer.links import Link, check_links

MOST_ENTRIES = 200_000  # of all names are kept in memory
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Whoever puts a pipe in the place of a file that was seen must not make us wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NOT_AS_SEEN = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE}  # gone, or a link now

_WRITE_THERE = "the job must write its model to $KUBEDL_MODEL_PATH (by default /kubedl-model)"

Identity = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, a link that stays inside, or a directory that holds nothing. The path is below the model's root."""

    path: str
    kind: Literal["file", "link", "directory"]
    size: int = 0
    executable: bool = False
    target: str = ""  # of a link
    identity: Identity = (0, 0, 0, 0)


class Source:
    """A file or directory while it is packed: its entries in the order of their paths' bytes."""

    def __init__(self, path: str) -> None:
        self._root, self._single_name = _open_root(path)
        try:
            self.entries = self._found()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the root; nothing can be opened after that."""
        os.close(self._root)

    @contextmanager
    def opened(self, entry: Entry) -> Iterator[int]:
        """The descriptor of a file, and at the end the certainty that it was the same all the while."""
        descriptor = self._open(entry)
        try:
            _insist(entry, descriptor)
            yield descriptor
            _insist(entry, descriptor)
        finally:
            os.close(descriptor)

    def insist_unchanged(self) -> None:
        """The certainty that nothing came, went or changed since the beginning, also among what was never read."""
        try:
            now = self._found()
        except PackingError as error:
            if not error.permanent:
                raise
            raise source_changed(error.message) from error
        if changed := set(now).symmetric_difference(self.entries):
            path = min(entry.path for entry in changed)
            raise source_changed(f"{shown(path)} came, went or changed while the model was packed")

    def _found(self) -> tuple[Entry, ...]:
        return self._single(self._single_name) if self._single_name else self._tree()

    def _open(self, entry: Entry) -> int:
        *directories, name = entry.path.split("/")
        try:
            with _below(self._root, directories) as directory:
                return os.open(name, _FILE, dir_fd=directory)
        except OSError as error:
            raise _explained(error, entry.path) from error

    def _single(self, name: str) -> tuple[Entry, ...]:
        entry = _entry(self._root, name, name)
        if entry.kind != "file":
            raise bad_model(f"{shown(name)} is a {entry.kind}, not a file or a directory")
        return (entry,)

    def _tree(self) -> tuple[Entry, ...]:
        found: list[Entry] = []
        directories: set[str] = set()
        pending: list[str] = [""]
        while pending:
            path = pending.pop()
            directories.add(path)
            for entry in self._listed(path):
                if entry.kind == "directory":
                    pending.append(entry.path)
                else:
                    found.append(entry)
                if len(found) + len(directories) + len(pending) > MOST_ENTRIES:
                    raise bad_model(f"the model has more than {MOST_ENTRIES:,} files; put them into an archive first")
        if not any(entry.kind == "file" for entry in found):
            raise bad_model(f"there is no file in the model's directory; {_WRITE_THERE}")
        check_links({e.path: Link(e.path, e.target) for e in found if e.kind == "link"}, directories, _files(found))
        holding = {parent for entry in found for parent in parents(entry.path)}
        holding |= {parent for directory in directories for parent in parents(directory)}
        found += [Entry(path, "directory") for path in directories - holding if path]
        return tuple(sorted(found, key=lambda entry: entry.path.encode()))

    def _listed(self, path: str) -> Iterator[Entry]:
        try:
            steps = path.split("/") if path else []
            with _below(self._root, steps) as directory, os.scandir(directory) as listing:
                for name in (found.name for found in listing):
                    if path or name != "lost+found":  # of the file system, which lets nobody read it
                        yield _entry(directory, name, f"{path}/{name}" if path else name)
        except OSError as error:
            raise _explained(error, path or ".") from error


def read(entry: Entry, descriptor: int, buffer: memoryview, offset: int) -> int:
    """Read some of a file; 0 at its end. An error is the storage's, and cannot be taken for one of the network."""
    try:
        return os.preadv(descriptor, [buffer], offset)
    except OSError as error:
        raise _explained(error, entry.path) from error


def parents(path: str) -> list[str]:
    """The directories above a path, the outermost first, without the root."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]


def _files(entries: list[Entry]) -> set[str]:
    return {entry.path for entry in entries if entry.kind == "file"}


def _open_root(path: str) -> tuple[int, str]:
    """The model's directory, or the one that its only file is in and the file's name. No link leads there either."""
    if not path.startswith("/"):
        raise PackingError("BadOrder", f"the source {shown(path)} is not an absolute path", permanent=True)
    parts = [part for part in path.split("/") if part]
    if not parts or ".." in parts or "." in parts:
        raise PackingError("BadOrder", f"the source {shown(path)} is not the plain path of a model", permanent=True)
    try:
        with _below(None, parts[:-1]) as directory:
            status = os.stat(parts[-1], dir_fd=directory, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                return os.open(parts[-1], _DIRECTORY, dir_fd=directory), ""
            return os.dup(directory), parts[-1]
    except FileNotFoundError as error:
        raise bad_model(f"there is no {shown(path)}; {_WRITE_THERE}") from error
    except OSError as error:
        if error.errno in _NOT_AS_SEEN:
            raise bad_model(f"{shown(path)} leads over a link or a file; name the directory itself") from error
        raise _explained(error, path) from error


@contextmanager
def _below(root: int | None, directories: list[str]) -> Iterator[int]:
    """A directory, reached one step at a time; with O_DIRECTORY a link on the way is NotADirectoryError."""
    current = os.dup(root) if root is not None else os.open("/", _DIRECTORY)
    try:
        for name in directories:
            below = os.open(name, _DIRECTORY, dir_fd=current)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def _entry(directory: int, name: str, path: str) -> Entry:
    _check_name(name, path)
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        return Entry(path, "directory")
    if stat.S_ISLNK(status.st_mode):
        return Entry(path, "link", target=os.readlink(name, dir_fd=directory))
    if stat.S_ISREG(status.st_mode):
        executable = bool(status.st_mode & stat.S_IXUSR)
        return Entry(path, "file", status.st_size, executable, identity=_identity(status))
    raise bad_model(f"{shown(path)} is a {_kind(status.st_mode)}; a model holds files, directories and links only")


def _check_name(name: str, path: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise bad_model(f"the name {shown(path)} is not UTF-8; rename it") from None
    if not name.isprintable():
        raise bad_model(f"the name {shown(path)} has characters that cannot be printed; rename it")
    if name.startswith(".wh."):
        raise bad_model(f"the name {shown(path)} would delete a file when the image is unpacked; rename it")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket", stat.S_IFBLK: "device", stat.S_IFCHR: "device"}
    return kinds.get(stat.S_IFMT(mode), "special file")


def _identity(status: os.stat_result) -> Identity:
    inode = 0 if status.st_dev in fuse_devices() else status.st_ino
    return status.st_dev, inode, status.st_size, status.st_mtime_ns


@functools.cache
def fuse_devices(table: str = "/proc/self/mountinfo") -> frozenset[int]:
    """Devices of file systems in user space, which may give a file another inode number when it is looked up again."""
    try:
        lines = Path(table).read_text(errors="replace").splitlines()
    except OSError:
        return frozenset()
    found = set()
    for line in lines:
        mount, _, kind = line.partition(" - ")
        if kind.startswith("fuse"):
            major, _, minor = mount.split()[2].partition(":")
            found.add(os.makedev(int(major), int(minor)))
    return frozenset(found)


def _insist(entry: Entry, descriptor: int) -> None:
    try:
        status = os.fstat(descriptor)
    except OSError as error:
        raise _explained(error, entry.path) from error
    if not stat.S_ISREG(status.st_mode) or _identity(status) != entry.identity:
        raise source_changed(f"{shown(entry.path)} changed while it was read")


def _explained(error: OSError, path: str) -> PackingError:
    if isinstance(error, PermissionError):  # somebody may let us read it
        message = (
            f"{shown(path)} cannot be read by user {os.geteuid()}; let everybody read the model's files (chmod a+r)"
        )
        return PackingError("SourceUnreadable", message, retry=False)
    if error.errno in _NOT_AS_SEEN:
        return source_changed(f"{shown(path)} is not there any more")
    return PackingError("SourceUnreadable", f"{shown(path)} cannot be read: {error.strerror}; look at the storage")
