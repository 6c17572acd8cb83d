"""Referrers of an image: manifests with the image as subject, which a registry lists (OCI 1.1).

A registry without support for subjects omits a response header; then the packer maintains the list as an index under
the tag `sha256-<hex>`, where clients look for it. It is written once for all referrers: a registry may refuse to
overwrite a tag.

Referrers are optional. If the registry accepts the image but rejects a referrer (unknown type, immutable tags), the
build still succeeds and reports the rejection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from kubedl.oci.blob_upload import ensure_bytes
from kubedl.oci.errors import ImageError, quote_for_display
from kubedl.oci.manifests import INDEX, Descriptor, Document, digest_of, referrer_manifest
from kubedl.oci.registry import Registry

T = TypeVar("T", bound=msgspec.Struct)


class _Index(msgspec.Struct):
    manifests: list[dict[str, Any]] = []


@dataclass(frozen=True)
class Referrer:
    """A manifest with an image as subject, and the blobs that the image does not have."""

    manifest: Document
    blobs: tuple[bytes, ...]


def referrer(
    subject: Document, artifact_type: str, media_type: str, content: bytes, annotations: Mapping[str, str]
) -> Referrer:
    """A blob about an image."""
    layer = Descriptor(media_type, digest_of(content), len(content))
    return Referrer(referrer_manifest(subject, artifact_type, layer, annotations), (content, b"{}"))


def push_referrers(registry: Registry, referrers: Sequence[Referrer], subject: Document) -> dict[str, str]:
    """Push the referrers of an image so that they can be found from it; returns rejected digests with the reasons."""
    refused: dict[str, str] = {}
    unlisted: list[Document] = []
    for referrer in referrers:
        try:
            if not _push(registry, referrer, subject):
                unlisted.append(referrer.manifest)
        except ImageError as error:
            if error.retry:
                raise
            refused[referrer.manifest.digest] = f"{quote_for_display(referrer.manifest.artifact_type)}: {error.message}"
    try:
        _enter(registry, unlisted, subject.digest)
    except ImageError as error:
        if error.retry:
            raise
        refused |= dict.fromkeys((document.digest for document in unlisted), f"the list of referrers: {error.message}")
    return refused


def _push(registry: Registry, referrer: Referrer, subject: Document) -> bool:
    """Return whether the referrer can be found from the image."""
    for content in referrer.blobs:
        ensure_bytes(registry, digest_of(content), content)
    digest = referrer.manifest.digest
    if registry.manifest_digest(digest) and digest in _digests(_listed(registry, subject.digest)):
        return True
    return "oci-subject" in registry.put_manifest(referrer.manifest).headers


def fallback_tag(digest: str) -> str:
    """Return the tag of the fallback index of a manifest."""
    return digest.replace(":", "-")


def kept(registry: Registry, tag: str, kind: type[T], otherwise: str) -> T:
    """Return the index under a tag, or an empty one. An unreadable index is never overwritten."""
    content = registry.manifest(tag)
    try:
        return msgspec.json.decode(content, type=kind) if content else kind()
    except msgspec.DecodeError as error:
        message = f"the content of {registry.address}:{tag} {otherwise}; remove it"
        raise ImageError("RegistryFailed", message, retry=False) from error


def _enter(registry: Registry, manifests: Sequence[Document], subject: str) -> None:
    listed = _listed(registry, subject) if manifests else []
    known = _digests(listed)
    new = [msgspec.to_builtins(document.descriptor) for document in manifests if document.digest not in known]
    if new:
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [*listed, *new]}
        registry.put_manifest(Document(INDEX, msgspec.json.encode(index)), fallback_tag(subject))


def _listed(registry: Registry, subject: str) -> list[dict[str, Any]]:
    return kept(registry, fallback_tag(subject), _Index, "is not an index").manifests


def _digests(entries: list[dict[str, Any]]) -> set[Any]:
    return {entry.get("digest") for entry in entries}
