"""OCI manifests and descriptors: media types, digests, and the manifest of a referrer."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"
IMAGE_CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


class Descriptor(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A descriptor of a document or blob."""

    media_type: str
    digest: str
    size: int
    artifact_type: str = ""
    annotations: dict[str, str] = {}


class Document(msgspec.Struct, frozen=True):
    """A manifest or configuration, encoded."""

    media_type: str
    content: bytes
    artifact_type: str = ""
    annotations: dict[str, str] = {}

    @property
    def digest(self) -> str:
        """The digest."""
        return digest_of(self.content)

    @property
    def descriptor(self) -> Descriptor:
        """Return the descriptor with the fields of a referrers index."""
        return Descriptor(self.media_type, self.digest, len(self.content), self.artifact_type, self.annotations)

    @property
    def plain(self) -> Descriptor:
        """Return the descriptor without them."""
        return Descriptor(self.media_type, self.digest, len(self.content))


def digest_of(content: bytes) -> str:
    """Return the digest of bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def referrer_manifest(
    subject: Document, artifact_type: str, layer: Descriptor, annotations: Mapping[str, str]
) -> Document:
    """Return the manifest of an artifact with one blob and an image as its subject."""
    config = Descriptor(EMPTY, digest_of(b"{}"), 2)
    ordered = dict(sorted(annotations.items()))
    parts = {"config": config, "layers": [layer], "subject": subject.plain, "annotations": ordered}
    return manifest(parts, artifact_type)


def manifest(parts: dict[str, Any], artifact_type: str = "") -> Document:
    """Return an image manifest."""
    head = {"schemaVersion": 2, "mediaType": MANIFEST, **({"artifactType": artifact_type} if artifact_type else {})}
    return Document(MANIFEST, msgspec.json.encode(head | parts), artifact_type, parts["annotations"])


def document(media_type: str, content: dict[str, Any]) -> Document:
    """Return a JSON document, such as a configuration."""
    return Document(media_type, msgspec.json.encode(content))
