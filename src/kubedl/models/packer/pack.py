"""From an order to an image: hashed, sent where it is missing, confirmed, and only then given its tag.

The tag comes last, so whoever finds it finds everything that belongs to the image, but for extras that the registry
refuses: the ModelPack manifest, provenance and bill of materials. A signature that was asked for is no extra. A tag
that is taken is never moved: with the same content only what is missing beside the image is added, with other content
it is refused. Killed at any moment and started again, the packer ends with the same image, and sends no layer again
that the registry has.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

from kubedl.models.order import Answer, Order
from kubedl.models.packer import archive
from kubedl.models.packer.archive import Layer
from kubedl.models.packer.failure import EndedError, PackingError
from kubedl.models.packer.layers import grouped
from kubedl.models.packer.manifests import (
    Blob,
    Document,
    image_config,
    image_manifest,
    model_config,
    model_manifest,
)
from kubedl.models.packer.progress import Progress
from kubedl.models.packer.referrers import Referrer, push_referrers
from kubedl.models.packer.registry import Registry
from kubedl.models.packer.source import Source
from kubedl.models.packer.upload import ensure_blob, ensure_bytes

HASHING = 2  # threads: a core hashes about as fast as a good network takes
SENDING = 3
MOST_WORDS = 500  # about what could not be attached, in the answer
AHEAD = 4  # layers hashed and not sent yet: what is still in the page cache need not be read from disk again

# Sign the image before its tag makes it known, if that was asked for: whether it is signed, and what else refers to it.
Attach = Callable[[Registry, Order, Document, Sequence[Blob]], tuple[bool, Sequence[Referrer]]]


def unsigned(
    _registry: Registry, _order: Order, _image: Document, _blobs: Sequence[Blob]
) -> tuple[bool, Sequence[Referrer]]:
    """Nothing more is said about the image."""
    return False, ()


def pack(order: Order, registry: Registry, attach: Attach = unsigned) -> Answer:
    """The image's digest, confirmed by the registry; PackingError if there is none."""
    with Source(order.source) as source:
        first = archive.head(archive.inventory(source))
        layers = [first, *map(archive.archived, grouped(source.entries))]
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
        run.progress.note(f"the tag {order.tag} has this very image already")
    signed, beside = attach(registry, order, image, blobs)
    refused = push_referrers(registry, [Referrer(pointer, (model.content,)), *beside], image)
    for words in refused.values():
        run.progress.note(f"not attached to the image: {words}")
    if taken is None:
        _tag(registry, order, image)
    return Answer(
        image.digest,
        pointer.digest if pointer.digest not in refused else "",
        sum(blob.size for blob in blobs),
        layers_uploaded=run.uploaded,
        layers_reused=len(blobs) - run.uploaded,
        bytes_uploaded=run.bytes_sent,
        signed=signed,
        not_attached="; ".join(dict.fromkeys(refused.values()))[:MOST_WORDS],
    )


def _tag(registry: Registry, order: Order, image: Document) -> None:
    """Another packer, or a person, may have been quicker since we looked."""
    taken = registry.manifest_digest(order.tag)
    if taken not in {None, image.digest}:
        raise _conflict(order, str(taken))
    try:
        registry.put_manifest(image, order.tag)
    except PackingError as error:
        now = None if error.retry else registry.manifest_digest(order.tag)
        if now not in {None, image.digest}:
            raise _conflict(order, str(now)) from error
        raise


def _conflict(order: Order, taken: str) -> PackingError:
    return PackingError(
        "TagConflict",
        f"{order.repository}:{order.tag} is another image already, {taken}, and is left alone; "
        "choose another tag, or delete that one in the registry if nobody needs it",
        permanent=True,
    )


class _Run:
    """Threads that hash layers, threads that send them, and what they have done."""

    def __init__(self, source: Source, registry: Registry, progress: Progress) -> None:
        self.progress = progress
        self._source = source
        self._registry = registry
        self._lock = threading.Lock()
        self.uploaded = 0
        self.bytes_sent = 0

    def blobs(self, layers: Sequence[Layer], *, send: bool) -> list[Blob]:
        """The digest of each layer, in order; with `send` the registry has them all."""
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
        """All of them, or the first error; the others then stop at their next piece."""
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

        def told(_: int) -> None:
            self._check()
            self.progress.hashed(layer.name)

        return archive.digest(layer, self._source, told)

    def _send(self, number: int, layer: Layer, hashed: "Future[str]", room: threading.Semaphore) -> None:
        digest = hashed.result()

        def told(offset: int) -> None:
            self._check()
            self.progress.sent(number, offset, layer.name)

        sent = ensure_blob(
            self._registry,
            digest,
            layer.size,
            lambda start, end: archive.pieces(layer, self._source, start, end),
            told,
        )
        room.release()
        with self._lock:
            self.uploaded += sent > 0
            self.bytes_sent += sent
        self.progress.present(layer.name, reused=not sent)

    def _check(self) -> None:
        if self._registry.ended.is_set():
            raise EndedError
