"""A layer as a stream of bytes that is the same every time: an uncompressed tar whose size is known beforehand.

Times, owners and names of owners are zero or empty, modes are 0755 or 0644, parents come before what they hold: nothing
of the machine or the day gets into the digest. The format is GNU's, which has sizes above 8 GiB and long names, and
which every unpacker of images reads. A stream can be begun anywhere, so that an upload that was cut can go on.
"""

import hashlib
import json
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kubedl.api.inventory import INVENTORY, MODELS, SMALL
from kubedl.models.packer.failure import shown, source_changed
from kubedl.models.packer.layers import Group
from kubedl.models.packer.source import Entry, Source, parents, read

FORMER = "kubedl-model"  # where the first KubeDL put models
PIECE = 1 << 20

Told = Callable[[int], None]
Segment = bytes | Entry


@dataclass(frozen=True)
class Layer:
    """What a tar holds, and how large it is. Headers are made when they are read: of many files they are large."""

    entries: Group  # none: the link to where models used to be, and the list of files
    size: int
    inventory: bytes = b""

    @property
    def name(self) -> str:
        """For people."""
        first = shown(self.entries[0].path) if self.entries else FORMER
        return first if len(self.entries) < 2 else f"{first} and {len(self.entries) - 1} more"


def head(inventory: bytes) -> Layer:
    """The first layer: a link, so that models are also found where they used to be, and the list of the files."""
    return Layer((), sum(_size(segment) for segment in _segments((), inventory)), inventory)


def archived(group: Group) -> Layer:
    """The layer of some entries, below models/."""
    return Layer(group, sum(_size(segment) for segment in _segments(group)))


def inventory(source: Source) -> bytes:
    """Every file's size, and of small ones the SHA-256, so that whoever mounts the image can see that all is there."""
    files = {entry.path: (entry.size, _small(source, entry)) for entry in source.entries if entry.kind == "file"}
    return json.dumps({"files": files}, separators=(",", ":")).encode()


def pieces(layer: Layer, source: Source, start: int = 0, end: int | None = None) -> Iterator[memoryview]:
    """The bytes of a layer from one offset to another; a piece is valid until the next one is asked for."""
    stop = layer.size if end is None else end
    buffer = memoryview(bytearray(PIECE))
    at = 0
    for segment in _segments(layer.entries, layer.inventory):
        size = _size(segment)
        first, last = max(start - at, 0), min(stop - at, size)
        if first < last:
            if isinstance(segment, Entry):
                yield from _read(source, segment, first, last, buffer)
            else:
                yield memoryview(segment)[first:last]
        at += size
        if at >= stop:
            return


def digest(layer: Layer, source: Source, told: Told) -> str:
    """The digest of a layer, as registries write it."""
    found = hashlib.sha256()
    for piece in pieces(layer, source):
        found.update(piece)
        told(len(piece))
    return f"sha256:{found.hexdigest()}"


def _size(segment: Segment) -> int:
    return segment.size if isinstance(segment, Entry) else len(segment)


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
    yield bytes(2 * tarfile.BLOCKSIZE)  # the end of a tar


def _member(path: str, entry: Entry) -> Iterator[Segment]:
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


def _small(source: Source, entry: Entry) -> str:
    if entry.size > SMALL:
        return ""
    found = hashlib.sha256()
    for piece in _read(source, entry, 0, entry.size, memoryview(bytearray(PIECE))):
        found.update(piece)
    return found.hexdigest()


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


def _read(source: Source, entry: Entry, first: int, last: int, buffer: memoryview) -> Iterator[memoryview]:
    with source.opened(entry) as descriptor:
        os.posix_fadvise(descriptor, first, last - first, os.POSIX_FADV_SEQUENTIAL)
        while first < last:
            count = read(entry, descriptor, buffer[: min(PIECE, last - first)], first)
            if not count:
                raise source_changed(f"{shown(entry.path)} became shorter while it was read")
            yield buffer[:count]
            first += count
