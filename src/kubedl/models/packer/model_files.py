"""Reads the model from disk without following links.

The author of the training code controls the directory, so its content is untrusted: every name is opened relative to an
open directory, links are never followed, and anything but files, directories and links within the model is rejected by
name. A file is read only while its inode, size and mtime are those that were listed (no inode on FUSE, where drivers of
object storage change the numbers), so a layer never mixes two versions of a file. At the end the directory must list as
at the start, so an image never has a partially written model. Hard links and sparse files are packed as regular files.
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

from kubedl.oci.errors import ImageError, bad_model, quote_for_display, source_changed
from kubedl.oci.symlinks import Link, check_links

MOST_ENTRIES = 200_000  # the names of all entries are kept in memory
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a pipe that replaced a listed file must not block us.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NOT_AS_SEEN = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE}  # deleted, or replaced by a link

_WRITE_THERE = "the job must write its model to $KUBEDL_MODEL_PATH (by default /kubedl-model)"

Identity = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file, a link within the model, or an empty directory. The path is relative to the model's root."""

    path: str
    kind: Literal["file", "link", "directory"]
    size: int = 0
    executable: bool = False
    target: str = ""  # target of a link
    identity: Identity = (0, 0, 0, 0)


class ModelFiles:
    """A file or directory that is being packed: its entries, sorted by the bytes of their paths."""

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
        """Close the root; nothing can be opened after that."""
        os.close(self._root)

    @contextmanager
    def opened(self, entry: FileEntry) -> Iterator[int]:
        """Open a file; verifies at the end that it did not change."""
        descriptor = self._open(entry)
        try:
            _insist(entry, descriptor)
            yield descriptor
            _insist(entry, descriptor)
        finally:
            os.close(descriptor)

    def insist_unchanged(self) -> None:
        """Verify that no entry was added, removed or changed since the start, including entries that were not read."""
        try:
            now = self._found()
        except ImageError as error:
            if not error.permanent:
                raise
            raise source_changed(error.message) from error
        if changed := set(now).symmetric_difference(self.entries):
            path = min(entry.path for entry in changed)
            raise source_changed(f"{quote_for_display(path)} was added, removed or changed while the model was packed")

    def _found(self) -> tuple[FileEntry, ...]:
        return self._single(self._single_name) if self._single_name else self._tree()

    def _open(self, entry: FileEntry) -> int:
        *directories, name = entry.path.split("/")
        try:
            with _below(self._root, directories) as directory:
                return os.open(name, _FILE, dir_fd=directory)
        except OSError as error:
            raise _explained(error, entry.path) from error

    def _single(self, name: str) -> tuple[FileEntry, ...]:
        entry = _entry(self._root, name, name)
        if entry.kind != "file":
            raise bad_model(f"{quote_for_display(name)} is a {entry.kind}, not a file or a directory")
        return (entry,)

    def _tree(self) -> tuple[FileEntry, ...]:
        files: list[FileEntry] = []
        directories: set[str] = set()
        pending: list[str] = [""]
        while pending:
            path = pending.pop()
            directories.add(path)
            for entry in self._listed(path):
                if entry.kind == "directory":
                    pending.append(entry.path)
                else:
                    files.append(entry)
                if len(files) + len(directories) + len(pending) > MOST_ENTRIES:
                    raise bad_model(f"the model has more than {MOST_ENTRIES:,} files; put them into an archive first")
        if not any(entry.kind == "file" for entry in files):
            raise bad_model(f"there is no file in the model's directory; {_WRITE_THERE}")
        check_links({e.path: Link(e.path, e.target) for e in files if e.kind == "link"}, directories, _files(files))
        holding = {parent for entry in files for parent in parents(entry.path)}
        holding |= {parent for directory in directories for parent in parents(directory)}
        files += [FileEntry(path, "directory") for path in directories - holding if path]
        return tuple(sorted(files, key=lambda entry: entry.path.encode()))

    def _listed(self, path: str) -> Iterator[FileEntry]:
        try:
            steps = path.split("/") if path else []
            with _below(self._root, steps) as directory, os.scandir(directory) as listing:
                for name in (found.name for found in listing):
                    if path or name != "lost+found":  # of the file system itself, not readable by users
                        yield _entry(directory, name, f"{path}/{name}" if path else name)
        except OSError as error:
            raise _explained(error, path or ".") from error


def read(entry: FileEntry, descriptor: int, buffer: memoryview, offset: int) -> int:
    """Read from a file; 0 at its end. Errors are reported as storage errors, to tell them from network errors."""
    try:
        return os.preadv(descriptor, [buffer], offset)
    except OSError as error:
        raise _explained(error, entry.path) from error


def parents(path: str) -> list[str]:
    """Return the parent directories of a path, outermost first, without the root."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]


def _files(entries: list[FileEntry]) -> set[str]:
    return {entry.path for entry in entries if entry.kind == "file"}


def _open_root(path: str) -> tuple[int, str]:
    """Open the model's directory, or the parent of its only file with the file's name, without following links."""
    if not path.startswith("/"):
        raise ImageError("BadOrder", f"the source {quote_for_display(path)} is not an absolute path", permanent=True)
    parts = [part for part in path.split("/") if part]
    if not parts or ".." in parts or "." in parts:
        raise ImageError("BadOrder", f"the source {quote_for_display(path)} is not a plain path", permanent=True)
    try:
        with _below(None, parts[:-1]) as directory:
            status = os.stat(parts[-1], dir_fd=directory, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                return os.open(parts[-1], _DIRECTORY, dir_fd=directory), ""
            return os.dup(directory), parts[-1]
    except FileNotFoundError as error:
        raise bad_model(f"{quote_for_display(path)} does not exist; {_WRITE_THERE}") from error
    except OSError as error:
        if error.errno in _NOT_AS_SEEN:
            raise bad_model(
                f"{quote_for_display(path)} leads through a link or a file; name the directory itself"
            ) from error
        raise _explained(error, path) from error


@contextmanager
def _below(root: int | None, directories: list[str]) -> Iterator[int]:
    """Open a directory step by step; with O_DIRECTORY a link in the path raises NotADirectoryError."""
    current = os.dup(root) if root is not None else os.open("/", _DIRECTORY)
    try:
        for name in directories:
            below = os.open(name, _DIRECTORY, dir_fd=current)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def _entry(directory: int, name: str, path: str) -> FileEntry:
    _check_name(name, path)
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        return FileEntry(path, "directory")
    if stat.S_ISLNK(status.st_mode):
        return FileEntry(path, "link", target=os.readlink(name, dir_fd=directory))
    if stat.S_ISREG(status.st_mode):
        executable = bool(status.st_mode & stat.S_IXUSR)
        return FileEntry(path, "file", status.st_size, executable, identity=_identity(status))
    raise bad_model(
        f"{quote_for_display(path)} is a {_kind(status.st_mode)}; a model holds files, directories and links only"
    )


def _check_name(name: str, path: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise bad_model(f"the name {quote_for_display(path)} is not UTF-8; rename it") from None
    if not name.isprintable():
        raise bad_model(f"the name {quote_for_display(path)} has characters that cannot be printed; rename it")
    if name.startswith(".wh."):
        raise bad_model(f"the name {quote_for_display(path)} would delete a file when the image is unpacked; rename it")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket", stat.S_IFBLK: "device", stat.S_IFCHR: "device"}
    return kinds.get(stat.S_IFMT(mode), "special file")


def _identity(status: os.stat_result) -> Identity:
    inode = 0 if status.st_dev in fuse_devices() else status.st_ino
    return status.st_dev, inode, status.st_size, status.st_mtime_ns


@functools.cache
def fuse_devices(table: str = "/proc/self/mountinfo") -> frozenset[int]:
    """Return the device numbers of FUSE file systems, which may change inode numbers between lookups."""
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


def _insist(entry: FileEntry, descriptor: int) -> None:
    try:
        status = os.fstat(descriptor)
    except OSError as error:
        raise _explained(error, entry.path) from error
    if not stat.S_ISREG(status.st_mode) or _identity(status) != entry.identity:
        raise source_changed(f"{quote_for_display(entry.path)} changed while it was read")


def _explained(error: OSError, path: str) -> ImageError:
    if isinstance(error, PermissionError):  # its permissions can be changed
        advice = "make the model's files readable for all users (chmod a+r)"
        message = f"{quote_for_display(path)} cannot be read by user {os.geteuid()}; {advice}"
        return ImageError("SourceUnreadable", message, retry=False)
    if error.errno in _NOT_AS_SEEN:
        return source_changed(f"{quote_for_display(path)} no longer exists")
    return ImageError(
        "SourceUnreadable", f"{quote_for_display(path)} cannot be read: {error.strerror}; check the storage"
    )
