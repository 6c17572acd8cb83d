"""A layer as a reproducible byte stream: an uncompressed tar whose size is known in advance.

Times, owners and owner names are zero or empty, modes are 0755 or 0644, and parents precede their children, so the
digest does not depend on machine or date. The format is GNU tar, which supports sizes above 8 GiB and long names, and
which all container runtimes read. A stream can start at any offset, so that an interrupted upload can resume.
"""

import hashlib
import json
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kubedl.models.packer.layering import Group
from kubedl.models.packer.model_files import FileEntry, ModelFiles, parents, read
from kubedl.oci.errors import quote_for_display, source_changed
from kubedl.podspec.image_layout import INVENTORY, MODELS, SMALL

FORMER = "kubedl-model"  # where KubeDL 0.5 stored models
PIECE = 1 << 20

OnProgress = Callable[[int], None]
Segment = bytes | FileEntry


@dataclass(frozen=True)
class Layer:
    """The entries and size of a tar. Headers are rendered on demand: for many files they are large."""

    entries: Group  # None: the link from the old model path, and the list of files
    size: int
    inventory: bytes = b""

    @property
    def name(self) -> str:
        """Return a short description of the content."""
        first = quote_for_display(self.entries[0].path) if self.entries else FORMER
        return first if len(self.entries) < 2 else f"{first} and {len(self.entries) - 1} more"


def head(inventory: bytes) -> Layer:
    """Return the first layer: a link from the old model path, and the list of files."""
    return Layer((), sum(_size(segment) for segment in _segments((), inventory)), inventory)


def archived(group: Group) -> Layer:
    """Return the layer of some entries, below models/."""
    return Layer(group, sum(_size(segment) for segment in _segments(group)))


def inventory(source: ModelFiles) -> bytes:
    """Return the list of files: sizes, and SHA-256 of small ones, so that a mounted image can be verified."""
    files = {entry.path: (entry.size, _small(source, entry)) for entry in source.entries if entry.kind == "file"}
    return json.dumps({"files": files}, separators=(",", ":")).encode()


def pieces(layer: Layer, source: ModelFiles, start: int = 0, end: int | None = None) -> Iterator[memoryview]:
    """Yield the bytes of a layer between two offsets; a piece is valid until the next one is read."""
    stop = layer.size if end is None else end
    buffer = memoryview(bytearray(PIECE))
    at = 0
    for segment in _segments(layer.entries, layer.inventory):
        size = _size(segment)
        first, last = max(start - at, 0), min(stop - at, size)
        if first < last:
            if isinstance(segment, FileEntry):
                yield from _read(source, segment, first, last, buffer)
            else:
                yield memoryview(segment)[first:last]
        at += size
        if at >= stop:
            return


def digest(layer: Layer, source: ModelFiles, on_progress: OnProgress) -> str:
    """Return the digest of a layer."""
    digest = hashlib.sha256()
    for piece in pieces(layer, source):
        digest.update(piece)
        on_progress(len(piece))
    return f"sha256:{digest.hexdigest()}"


def _size(segment: Segment) -> int:
    return segment.size if isinstance(segment, FileEntry) else len(segment)


def _segments(group: Group, listed: bytes = b"") -> Iterator[Segment]:
    made: set[str] = set()
    for entry in group:
        path = f"{MODELS}/{entry.path}"
        for parent in parents(path):
            if parent not in made:
                made.add(parent)
                yield _header(_directory(parent))
        yield from _member(path, entry)
    if not group:
        yield _header(_link(FORMER, MODELS))
        member = tarfile.TarInfo(INVENTORY)
        member.size = len(listed)
        yield _header(member)
        yield listed
        yield bytes(-len(listed) % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)  # end-of-archive marker of tar


def _member(path: str, entry: FileEntry) -> Iterator[Segment]:
    if entry.kind == "directory":
        yield _header(_directory(path))
    elif entry.kind == "link":
        yield _header(_link(path, entry.target))
    else:
        member = tarfile.TarInfo(path)
        member.size, member.mode = entry.size, 0o755 if entry.executable else 0o644
        yield _header(member)
        yield entry
        yield bytes(-entry.size % tarfile.BLOCKSIZE)


def _small(source: ModelFiles, entry: FileEntry) -> str:
    if entry.size > SMALL:
        return ""
    digest = hashlib.sha256()
    for piece in _read(source, entry, 0, entry.size, memoryview(bytearray(PIECE))):
        digest.update(piece)
    return digest.hexdigest()


def _link(path: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type, member.linkname, member.mode = tarfile.SYMTYPE, target, 0o777
    return member


def _directory(path: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type, member.mode = tarfile.DIRTYPE, 0o755
    return member


def _header(member: tarfile.TarInfo) -> bytes:
    return member.tobuf(tarfile.GNU_FORMAT, "utf-8", "strict")  # times and owners are 0 unless set


def _read(source: ModelFiles, entry: FileEntry, first: int, last: int, buffer: memoryview) -> Iterator[memoryview]:
    with source.opened(entry) as descriptor:
        os.posix_fadvise(descriptor, first, last - first, os.POSIX_FADV_SEQUENTIAL)
        while first < last:
            count = read(entry, descriptor, buffer[: min(PIECE, last - first)], first)
            if not count:
                raise source_changed(f"{quote_for_display(entry.path)} became shorter while it was read")
            yield buffer[:count]
            first += count
