"""What is said about an image beside it: manifests whose subject it is, which a registry lists (OCI 1.1).

A registry that does not know subjects says so by its silence; then the list is kept by us, as an index under the tag
`sha256-<hex>`, where clients look when a registry cannot tell them. It is written once for all of them: a registry may
refuse to write a tag a second time.

They are extras. A registry that takes the image and refuses one of them, because it does not know its type or keeps
tags as they are, does not cost the image; what it refused is told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from kubedl.models.packer.failure import PackingError, shown
from kubedl.models.packer.manifests import INDEX, Descriptor, Document, digest_of, referrer_manifest
from kubedl.models.packer.registry import Registry
from kubedl.models.packer.upload import ensure_bytes

T = TypeVar("T", bound=msgspec.Struct)


class _Index(msgspec.Struct):
    manifests: list[dict[str, Any]] = []


@dataclass(frozen=True)
class Referrer:
    """A manifest whose subject is an image, with those of its blobs that the image has not."""

    manifest: Document
    blobs: tuple[bytes, ...]


def referrer(
    subject: Document, artifact_type: str, media_type: str, content: bytes, annotations: Mapping[str, str]
) -> Referrer:
    """Some bytes about an image."""
    layer = Descriptor(media_type, digest_of(content), len(content))
    return Referrer(referrer_manifest(subject, artifact_type, layer, annotations), (content, b"{}"))


def push_referrers(registry: Registry, referrers: Sequence[Referrer], subject: Document) -> dict[str, str]:
    """Store what refers to an image, so that it is found from the image; what was refused, by digest, and why."""
    refused: dict[str, str] = {}
    unlisted: list[Document] = []
    for one in referrers:
        try:
            if not _push(registry, one, subject):
                unlisted.append(one.manifest)
        except PackingError as error:
            if error.retry:
                raise
            refused[one.manifest.digest] = f"{shown(one.manifest.artifact_type)}: {error.message}"
    try:
        _enter(registry, unlisted, subject.digest)
    except PackingError as error:
        if error.retry:
            raise
        refused |= dict.fromkeys((one.digest for one in unlisted), f"the list of referrers: {error.message}")
    return refused


def _push(registry: Registry, one: Referrer, subject: Document) -> bool:
    """Whether it can be found from the image by now."""
    for content in one.blobs:
        ensure_bytes(registry, digest_of(content), content)
    digest = one.manifest.digest
    if registry.manifest_digest(digest) and digest in _digests(_listed(registry, subject.digest)):
        return True
    return "oci-subject" in registry.put_manifest(one.manifest).headers


def fallback_tag(digest: str) -> str:
    """Where the list of what refers to a manifest is kept."""
    return digest.replace(":", "-")


def kept(registry: Registry, tag: str, kind: type[T], otherwise: str) -> T:
    """What a tag beside an image holds, or an empty one. What nobody can read is left to people: we never move it."""
    content = registry.manifest(tag)
    try:
        return msgspec.json.decode(content, type=kind) if content else kind()
    except msgspec.DecodeError as error:
        message = f"what {registry.address}:{tag} holds {otherwise}; remove it"
        raise PackingError("RegistryFailed", message, retry=False) from error


def _enter(registry: Registry, manifests: Sequence[Document], subject: str) -> None:
    listed = _listed(registry, subject) if manifests else []
    known = _digests(listed)
    new = [msgspec.to_builtins(one.descriptor) for one in manifests if one.digest not in known]
    if new:
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [*listed, *new]}
        registry.put_manifest(Document(INDEX, msgspec.json.encode(index)), fallback_tag(subject))


def _listed(registry: Registry, subject: str) -> list[dict[str, Any]]:
    return kept(registry, fallback_tag(subject), _Index, "is no index").manifests


def _digests(entries: list[dict[str, Any]]) -> set[Any]:
    return {entry.get("digest") for entry in entries}
