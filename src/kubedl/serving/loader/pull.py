"""Pulls a model image from its registry into a directory.

Every layer is fetched by digest and hashed while it is written, so the files are exactly those of the version, or the
pull fails. A layer is an uncompressed tar, as the packer writes it. Its entries are untrusted: none is written outside
of the directory, and only files, directories and links within the model are accepted. An interrupted download resumes
where it stopped.
"""

import hashlib
import os
import re
import tarfile
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from kubedl.oci.errors import ImageError, quote_for_display
from kubedl.oci.manifests import LAYER, MANIFEST, Descriptor, digest_of
from kubedl.oci.registry import Registry
from kubedl.oci.symlinks import Link, check_links
from kubedl.podspec.image_layout import MODELS

PART = 4 << 20  # bytes of a range request; a response is kept in memory
AHEAD = 4  # ranges that are requested in advance
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

OnProgress = Callable[[int], None]


class _Manifest(msgspec.Struct, frozen=True, rename="camel"):
    layers: list[Descriptor] = []
    media_type: str = MANIFEST


def unpack(registry: Registry, digest: str, target: Path, on_progress: OnProgress = lambda _: None) -> None:
    """Extract models/ of the image into a directory that is empty, or has the rest of an earlier attempt."""
    layers = _layers(registry, digest)
    with ThreadPoolExecutor(AHEAD) as pool:  # one for all layers: each thread has connections of its own
        for layer in layers:
            with closing(_parts(pool, registry, layer, on_progress)) as parts:
                _take(layer, parts, target.resolve())
    _check_links(target.resolve())


def _layers(registry: Registry, digest: str) -> list[Descriptor]:
    content = registry.manifest(digest)
    if content is None:
        raise _refused(f"{registry.address} has no image {digest}; it may have been deleted there")
    if digest_of(content) != digest:
        raise ImageError("RegistryFailed", f"{registry.address} returned another manifest than {digest}")
    try:
        manifest = msgspec.json.decode(content, type=_Manifest)
    except msgspec.DecodeError as error:
        raise _refused(f"{digest} is not an image manifest: {error}") from error
    strange = [
        descriptor.media_type
        for descriptor in manifest.layers
        if descriptor.media_type != LAYER or not _DIGEST.fullmatch(descriptor.digest)
    ]
    if strange or manifest.media_type != MANIFEST:
        layer = quote_for_display(strange[0] if strange else "")
        raise _refused(f"{digest} has layers that were not created by KubeDL's packer: {layer}")
    return manifest.layers


def _take(layer: Descriptor, parts: Iterator[bytes], target: Path) -> None:
    stream = _Stream(parts)
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
            for member in archive:
                _write(archive, member, target)
    except tarfile.TarError as error:
        raise _refused(f"the layer {layer.digest} is not a tar: {error}") from error
    stream.drain()
    found = f"sha256:{stream.hash.hexdigest()}"
    if found != layer.digest:
        raise ImageError("RegistryFailed", f"the layer {layer.digest} arrived with digest {found}; it is fetched again")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    parts = PurePosixPath(member.name).parts
    if not parts or parts[0] != MODELS or ".." in parts or member.name.startswith("/"):
        return  # the link from the old model path, and other files outside of the model
    path = target.joinpath(*parts[1:])
    if path.parent.resolve() != path.parent and path != target:
        raise _refused(f"the path of {quote_for_display(member.name)} leads through a link")
    if member.isdir():
        path.mkdir(exist_ok=True)
    elif member.issym():
        _link(member, path)
    elif member.isfile():
        content = archive.extractfile(member)
        if content is not None:
            _store(content, member, path)
    else:
        raise _refused(f"{quote_for_display(member.name)} is neither a file, a directory nor a link")


def _link(member: tarfile.TarInfo, path: Path) -> None:
    """Create a link. Nothing is written through it; its target is checked after extraction."""
    path.unlink(missing_ok=True)
    path.symlink_to(member.linkname)


def _check_links(target: Path) -> None:
    """Reject links as the packer does, including chains of links; then none of them is kept."""
    links: dict[str, Link] = {}
    directories, files = {""}, set[str]()
    for place, below, names in os.walk(target):
        for path in (Path(place, name) for name in (*below, *names)):
            relative = path.relative_to(target).as_posix()
            if path.is_symlink():
                links[relative] = Link(relative, str(path.readlink()))
            else:
                (directories if path.is_dir() else files).add(relative)
    try:
        check_links(links, directories, files)
    except ImageError as error:
        for relative in links:
            (target / relative).unlink()
        raise _refused(error.message) from error


def _store(content: IO[bytes], member: tarfile.TarInfo, path: Path) -> None:
    path.unlink(missing_ok=True)
    mode = 0o755 if member.mode & 0o100 else 0o644
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        while piece := content.read(1 << 20):
            file.write(piece)
    path.chmod(mode)  # regardless of the umask


class _Stream:
    """A file object over the bytes of a layer, hashed while read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self.hash = hashlib.sha256()
        self._parts = parts
        self._rest = memoryview(b"")  # tarfile reads 10 KiB at a time, and of bytes each read would copy the rest

    def read(self, size: int) -> bytes:
        """Read exactly so many bytes, unless at the end."""
        pieces = [self._rest[:size]]
        missing, self._rest = size - len(pieces[0]), self._rest[size:]
        while missing > 0 and (part := next(self._parts, b"")):
            self.hash.update(part)
            view = memoryview(part)
            pieces.append(view[:missing])
            self._rest = view[missing:]
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def drain(self) -> None:
        """Read to the end: bytes after the end of the tar belong to the digest too."""
        for part in self._parts:
            self.hash.update(part)


def _parts(
    pool: ThreadPoolExecutor, registry: Registry, layer: Descriptor, on_progress: OnProgress
) -> Generator[bytes, None, None]:
    """Yield the layer in ranges, several of them requested in advance; each request may be repeated."""
    waiting = deque[Future[bytes]]()
    try:
        for start in range(0, layer.size, PART):
            waiting.append(pool.submit(_part, registry, layer, start))
            if len(waiting) > AHEAD:
                yield waiting[0].result()
                on_progress(len(waiting.popleft().result()))
        while waiting:
            yield waiting[0].result()
            on_progress(len(waiting.popleft().result()))
    finally:
        for one in waiting:
            one.cancel()


def _part(registry: Registry, layer: Descriptor, start: int) -> bytes:
    end = min(start + PART, layer.size)
    reply = registry.call("GET", f"blobs/{layer.digest}", {200, 206}, {"Range": f"bytes={start}-{end - 1}"})
    content = reply.content if reply.status == 206 else reply.content[start:end]
    if len(content) != end - start:
        raise ImageError("RegistryFailed", f"{registry.address} sent an incomplete layer {layer.digest}; try again")
    return content


def _refused(message: str) -> ImageError:
    return ImageError("BadImage", message, permanent=True)
