"""What is said about an image beside it: manifests whose subject it is, which a registry lists (OCI 1.1).

A registry that does not know subjects says so by its silence; then the list is kept by us, as an index under the tag
`sha256-<hex>`, where clients look when a registry cannot tell them.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from kubedl.models.packer.failure import PackingError
from kubedl.models.packer.manifests import INDEX, Descriptor, Document, digest_of, referrer_manifest
from kubedl.models.packer.registry import Registry
from kubedl.models.packer.upload import ensure_bytes

T = TypeVar("T", bound=msgspec.Struct)


class _Index(msgspec.Struct):
    manifests: list[dict[str, Any]] = []


def push_referrer(
    registry: Registry,
    subject: Document,
    artifact_type: str,
    media_type: str,
    content: bytes,
    annotations: Mapping[str, str],
) -> str:
    """Store some bytes about an image; the digest of the manifest that refers to it."""
    layer = Descriptor(media_type, digest_of(content), len(content))
    ensure_bytes(registry, layer.digest, content)
    ensure_bytes(registry, digest_of(b"{}"), b"{}")
    manifest = referrer_manifest(subject, artifact_type, layer, annotations)
    push_referring(registry, manifest, subject)
    return manifest.digest


def push_referring(registry: Registry, manifest: Document, subject: Document) -> None:
    """Store a manifest whose blobs are there and whose subject is an image, so that it is found from the image."""
    if registry.manifest_digest(manifest.digest) and manifest.digest in _digests(_listed(registry, subject.digest)):
        return
    reply = registry.put_manifest(manifest)
    if "oci-subject" not in reply.headers:
        _enter(registry, manifest.descriptor, subject.digest)


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
        raise PackingError("RegistryFailed", message) from error


def _enter(registry: Registry, descriptor: Descriptor, subject: str) -> None:
    listed = _listed(registry, subject)
    if descriptor.digest in _digests(listed):
        return
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [*listed, msgspec.to_builtins(descriptor)]}
    registry.put_manifest(Document(INDEX, msgspec.json.encode(index)), fallback_tag(subject))


def _listed(registry: Registry, subject: str) -> list[dict[str, Any]]:
    return kept(registry, fallback_tag(subject), _Index, "is no index").manifests


def _digests(entries: list[dict[str, Any]]) -> set[Any]:
    return {entry.get("digest") for entry in entries}
