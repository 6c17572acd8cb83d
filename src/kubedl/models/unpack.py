"""A model's image out of its registry and into a directory: what was packed, and nothing else.

Every layer is fetched by its digest and hashed while it is written, so what lies there in the end is what the version
names, byte for byte, or the whole is refused. A layer is an uncompressed tar, as the packer makes them; its entries are
not believed: none is written outside of the directory, and nothing but files, directories and links that stay inside is
taken. A connection that breaks is taken up again where it broke.
"""

import hashlib
import os
import re
import tarfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from kubedl.api.inventory import MODELS
from kubedl.models.packer.failure import PackingError, shown
from kubedl.models.packer.links import Link, check_links
from kubedl.models.packer.manifests import LAYER, MANIFEST, Descriptor, digest_of
from kubedl.models.packer.registry import Registry

PART = 4 << 20  # bytes of a layer that are asked for at a time; an answer is kept in memory
AHEAD = 4  # such pieces that are asked for before they are needed
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

Told = Callable[[int], None]


class _Manifest(msgspec.Struct, frozen=True, rename="camel"):
    layers: list[Descriptor] = []
    media_type: str = MANIFEST


def unpack(registry: Registry, digest: str, target: Path, told: Told = lambda _: None) -> None:
    """Put what the image has below models/ into a directory that is empty, or holds what an earlier try has left."""
    for layer in _layers(registry, digest):
        _take(registry, layer, target.resolve(), told)
    _check_links(target.resolve())


def _layers(registry: Registry, digest: str) -> list[Descriptor]:
    content = registry.manifest(digest)
    if content is None:
        raise _refused(f"{registry.address} has no image {digest}; it may have been deleted there")
    if digest_of(content) != digest:
        raise PackingError("RegistryFailed", f"{registry.address} answers with another manifest than {digest}")
    try:
        manifest = msgspec.json.decode(content, type=_Manifest)
    except msgspec.DecodeError as error:
        raise _refused(f"{digest} is no image manifest: {error}") from error
    strange = [
        one.media_type for one in manifest.layers if one.media_type != LAYER or not _DIGEST.fullmatch(one.digest)
    ]
    if strange or manifest.media_type != MANIFEST:
        raise _refused(
            f"{digest} has layers that were not made by KubeDL's packer: {shown(strange[0] if strange else '')}"
        )
    return manifest.layers


def _take(registry: Registry, layer: Descriptor, target: Path, told: Told) -> None:
    stream = _Stream(_parts(registry, layer, told))
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
            for member in archive:
                _write(archive, member, target)
    except tarfile.TarError as error:
        raise _refused(f"the layer {layer.digest} is no tar: {error}") from error
    stream.drain()
    found = f"sha256:{stream.hash.hexdigest()}"
    if found != layer.digest:
        raise PackingError("RegistryFailed", f"the layer {layer.digest} arrived as {found}; it is fetched again")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    parts = PurePosixPath(member.name).parts
    if not parts or parts[0] != MODELS or ".." in parts or member.name.startswith("/"):
        return  # the link to where models used to be, and what else is beside them
    path = target.joinpath(*parts[1:])
    if path.parent.resolve() != path.parent and path != target:
        raise _refused(f"{shown(member.name)} lies behind a link")
    if member.isdir():
        path.mkdir(exist_ok=True)
    elif member.issym():
        _link(member, path)
    elif member.isfile():
        content = archive.extractfile(member)
        if content is not None:
            _store(content, member, path)
    else:
        raise _refused(f"{shown(member.name)} is neither file, directory nor link")


def _link(member: tarfile.TarInfo, path: Path) -> None:
    """Nothing is ever written through it; where it leads is checked when all is there."""
    path.unlink(missing_ok=True)
    path.symlink_to(member.linkname)


def _check_links(target: Path) -> None:
    """Refuse links as the packer does, over other links as well; then none of them is left behind."""
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
    except PackingError as error:
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
    path.chmod(mode)  # whatever the mask of the process is


class _Stream:
    """The bytes of a layer for a reader, hashed on their way."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self.hash = hashlib.sha256()
        self._parts = parts
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Exactly so many, unless it is the end."""
        pieces = [self._rest[:size]]
        missing, self._rest = size - len(pieces[0]), self._rest[size:]
        while missing > 0 and (part := next(self._parts, b"")):
            self.hash.update(part)
            pieces.append(part[:missing])
            self._rest = part[missing:]
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def drain(self) -> None:
        """What comes after the end of the tar belongs to the digest too."""
        for part in self._parts:
            self.hash.update(part)


def _parts(registry: Registry, layer: Descriptor, told: Told) -> Iterator[bytes]:
    """The layer piece by piece, some of them on their way at once; each request may be made again."""
    with ThreadPoolExecutor(AHEAD) as pool:
        waiting = deque[Future[bytes]]()
        try:
            for start in range(0, layer.size, PART):
                waiting.append(pool.submit(_part, registry, layer, start))
                if len(waiting) > AHEAD:
                    yield waiting[0].result()
                    told(len(waiting.popleft().result()))
            while waiting:
                yield waiting[0].result()
                told(len(waiting.popleft().result()))
        finally:
            for one in waiting:
                one.cancel()


def _part(registry: Registry, layer: Descriptor, start: int) -> bytes:
    end = min(start + PART, layer.size)
    reply = registry.call("GET", f"blobs/{layer.digest}", {200, 206}, {"Range": f"bytes={start}-{end - 1}"})
    content = reply.content if reply.status == 206 else reply.content[start:end]
    if len(content) != end - start:
        raise PackingError("RegistryFailed", f"{registry.address} cut the layer {layer.digest} short; try again")
    return content


def _refused(message: str) -> PackingError:
    return PackingError("BadImage", message, permanent=True)
