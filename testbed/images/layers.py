"""A layer: a tar of chosen files, compressed, named by its digest.

The same files give the same layer on every machine and every day: names are sorted, times are
zero, and nothing of the building account is recorded. Devices and sockets are left out.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from testbed.errors import TestbedError
from testbed.images.tree_diff import Changes


@dataclass(frozen=True)
class Layer:
    """A compressed tar among the blobs."""

    digest: str  # of the blob
    size: int
    diff_id: str  # digest of the tar inside


def write_layer(blobs: Path, tree: Path, changed: Changes, *, public: bool = False) -> Layer:
    """Store some of a tree's files as a blob.

    With `public` the files belong to root and everybody may read them, whoever owned the tree;
    without it the tree is a file system whose owners and permissions mean something.
    """
    tidy = _made_public if public else _unchanged
    partial = blobs / "layer.partial"
    with _compressing(partial) as stream:
        digesting = _Digesting(stream)
        with tarfile.open(fileobj=cast("IO[bytes]", digesting), mode="w|", format=tarfile.PAX_FORMAT) as archive:
            _add_files(archive, tree, changed.written, tidy)
            _add_whiteouts(archive, changed.removed)
    with partial.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    partial.rename(blobs / digest)
    return Layer(f"sha256:{digest}", (blobs / digest).stat().st_size, f"sha256:{digesting.hexdigest()}")


class _Digesting:
    """A stream that knows the digest of what went through it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return self._stream.write(data)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


@contextmanager
def _compressing(target: Path) -> Iterator[IO[bytes]]:
    """A stream whose compressed form is in the file afterwards."""
    if not shutil.which("zstd"):
        raise TestbedError("zstd is not installed; layers are compressed with it: apt-get install zstd")
    command = ["zstd", "--quiet", "-3", "--threads=0", "--stdout"]
    failure = f"zstd could not write {target}; is the disk full?"
    try:
        with target.open("wb") as file, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file) as compressor:
            yield cast("IO[bytes]", compressor.stdin)
    except BrokenPipeError as error:
        raise TestbedError(failure) from error
    if compressor.returncode:
        raise TestbedError(failure)


Tidy = Callable[[tarfile.TarInfo], None]


def _add_files(archive: tarfile.TarFile, tree: Path, names: Iterable[str], tidy: Tidy) -> None:
    first_names: dict[tuple[int, int], str] = {}
    for name in names:
        path = tree / name
        status = path.lstat()
        member = _member(path, name, status)
        if member is None:
            continue
        tidy(member)
        if member.isreg() and status.st_nlink > 1:
            first = first_names.setdefault((status.st_dev, status.st_ino), name)
            if first != name:
                member.type, member.linkname, member.size = tarfile.LNKTYPE, first, 0
        if member.isreg():
            with path.open("rb") as file:
                archive.addfile(member, file)
        else:
            archive.addfile(member)


def _member(path: Path, name: str, status: os.stat_result) -> tarfile.TarInfo | None:
    member = tarfile.TarInfo(name)  # its time is 0 unless set
    member.mode = stat.S_IMODE(status.st_mode)
    member.uid, member.gid = status.st_uid, status.st_gid
    if stat.S_ISDIR(status.st_mode):
        member.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(status.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
    elif stat.S_ISREG(status.st_mode):
        member.size = status.st_size
    else:
        return None
    return member


def _add_whiteouts(archive: tarfile.TarFile, names: Iterable[str]) -> None:
    for name in names:
        path = PurePosixPath(name)
        archive.addfile(tarfile.TarInfo(str(path.with_name(f".wh.{path.name}"))))


def _made_public(member: tarfile.TarInfo) -> None:
    member.uid = member.gid = 0
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644


def _unchanged(_member: tarfile.TarInfo) -> None:
    pass
