"""Builds and pushes an image: hash, upload missing layers, verify, and tag last.

The tag is pushed last, so a tagged image is complete, except for extras that the registry rejects: ModelPack manifest,
provenance and SBOM. A requested signature is not optional. An existing tag is never moved: if it has the same content,
only missing attachments are added; if it has other content, the packer fails. A packer that is killed at any point and
started again ends with the same image, and does not upload layers again that the registry has.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

from kubedl.models.pack_protocol import PackRequest, PackResult
from kubedl.models.packer import layer_tar
from kubedl.models.packer.layer_tar import Layer
from kubedl.models.packer.layering import grouped
from kubedl.models.packer.model_files import ModelFiles
from kubedl.models.packer.model_manifests import Blob, image_config, image_manifest, model_config, model_manifest
from kubedl.models.packer.progress import Progress
from kubedl.oci.blob_upload import ensure_blob, ensure_bytes
from kubedl.oci.errors import EndedError, ImageError
from kubedl.oci.manifests import Document
from kubedl.oci.referrers import Referrer, push_referrers
from kubedl.oci.registry import Registry

HASHING = 2  # threads: one core hashes about as fast as a good network transfers
SENDING = 3
MOST_WORDS = 500  # about failed attachments, in the result
AHEAD = 4  # hashed layers that wait for upload: those still in the page cache need not be read from disk again

# Signs the image before it is tagged, if requested. Returns whether it is signed, and the other referrers.
Attach = Callable[[Registry, PackRequest, Document, Sequence[Blob]], tuple[bool, Sequence[Referrer]]]


def unsigned(
    _registry: Registry, _order: PackRequest, _image: Document, _blobs: Sequence[Blob]
) -> tuple[bool, Sequence[Referrer]]:
    """Attach nothing."""
    return False, ()


def pack(order: PackRequest, registry: Registry, attach: Attach = unsigned) -> PackResult:
    """Pack and push; returns the digest confirmed by the registry, or raises ImageError."""
    with ModelFiles(order.source) as source:
        first = layer_tar.head(layer_tar.inventory(source))
        layers = [first, *map(layer_tar.archived, grouped(source.entries))]
        run = _Run(source, registry, Progress(sum(layer.size for layer in layers)))
        taken = registry.manifest_digest(order.tag)
        blobs = run.blobs(layers, send=taken is None)
        source.insist_unchanged()
    config, model = image_config(blobs), model_config(order, blobs)
    image = image_manifest(order, config, blobs)
    pointer = model_manifest(order, model, blobs, image)
    if taken not in {None, image.digest}:
        raise _conflict(order, str(taken))
    if taken is None:
        ensure_bytes(registry, config.digest, config.content)
        registry.put_manifest(image)
    else:
        run.progress.note(f"the tag {order.tag} already has this image")
    signed, beside = attach(registry, order, image, blobs)
    refused = push_referrers(registry, [Referrer(pointer, (model.content,)), *beside], image)
    for message in refused.values():
        run.progress.note(f"not attached to the image: {message}")
    if taken is None:
        _tag(registry, order, image)
    return PackResult(
        image.digest,
        pointer.digest if pointer.digest not in refused else "",
        sum(blob.size for blob in blobs),
        layers_uploaded=run.uploaded,
        layers_reused=len(blobs) - run.uploaded,
        bytes_uploaded=run.bytes_sent,
        signed=signed,
        not_attached="; ".join(dict.fromkeys(refused.values()))[:MOST_WORDS],
    )


def _tag(registry: Registry, order: PackRequest, image: Document) -> None:
    """Check the tag again: another client may have pushed it meanwhile."""
    taken = registry.manifest_digest(order.tag)
    if taken not in {None, image.digest}:
        raise _conflict(order, str(taken))
    try:
        registry.put_manifest(image, order.tag)
    except ImageError as error:
        now = None if error.retry else registry.manifest_digest(order.tag)
        if now not in {None, image.digest}:
            raise _conflict(order, str(now)) from error
        raise


def _conflict(order: PackRequest, taken: str) -> ImageError:
    return ImageError(
        "TagConflict",
        f"{order.repository}:{order.tag} already has another image, {taken}, which is not overwritten; choose "
        "another tag, or delete that one in the registry if it is not used",
        permanent=True,
    )


class _Run:
    """Threads that hash and upload layers, with their results."""

    def __init__(self, source: ModelFiles, registry: Registry, progress: Progress) -> None:
        self.progress = progress
        self._source = source
        self._registry = registry
        self._lock = threading.Lock()
        self.uploaded = 0
        self.bytes_sent = 0

    def blobs(self, layers: Sequence[Layer], *, send: bool) -> list[Blob]:
        """Return the digest of each layer, in order; with `send`, all are uploaded."""
        room = threading.Semaphore(AHEAD)
        with ThreadPoolExecutor(HASHING) as hashers, ThreadPoolExecutor(SENDING) as senders:
            hashed = [hashers.submit(self._hash, layer, room if send else None) for layer in layers]
            steps = [
                senders.submit(self._send, number, layer, digest, room)
                for number, (layer, digest) in enumerate(zip(layers, hashed, strict=True))
                if send
            ]
            self._await([*hashed, *steps])
        digests = [digest.result() for digest in hashed]
        return [Blob(digest, layer.size, layer.entries) for layer, digest in zip(layers, digests, strict=True)]

    def _await(self, futures: Sequence["Future[Any]"]) -> None:
        """Wait for all, or raise the first error; the other threads then stop at their next piece."""
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            failures = [error for future in done if (error := future.exception()) is not None]
        except BaseException:
            self._stop(futures)
            raise
        if failures:
            self._stop(futures)
            raise next((error for error in failures if not isinstance(error, EndedError)), failures[0])

    def _stop(self, futures: Sequence["Future[Any]"]) -> None:
        self._registry.ended.set()
        for future in futures:
            future.cancel()

    def _hash(self, layer: Layer, room: threading.Semaphore | None) -> str:
        while room is not None and not room.acquire(timeout=0.5):
            self._check()

        def on_progress(_: int) -> None:
            self._check()
            self.progress.hashed(layer.name)

        return layer_tar.digest(layer, self._source, on_progress)

    def _send(self, number: int, layer: Layer, hashed: "Future[str]", room: threading.Semaphore) -> None:
        digest = hashed.result()

        def on_progress(offset: int) -> None:
            self._check()
            self.progress.sent(number, offset, layer.name)

        sent = ensure_blob(
            self._registry,
            digest,
            layer.size,
            lambda start, end: layer_tar.pieces(layer, self._source, start, end),
            on_progress,
        )
        room.release()
        with self._lock:
            self.uploaded += sent > 0
            self.bytes_sent += sent
        self.progress.present(layer.name, reused=not sent)

    def _check(self) -> None:
        if self._registry.ended.is_set():
            raise EndedError
