"""Attestations of an image: provenance and SBOM, signed if there is a key.

Attachments are deterministic and have no date, so pushing them again is a no-op.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kubedl.models.pack_protocol import PackRequest
from kubedl.models.packer.cosign import ENVELOPE, envelope, push_attestation, push_signature
from kubedl.models.packer.model_manifests import Blob
from kubedl.models.packer.pack import Attach
from kubedl.models.packer.provenance import PREDICATE, STATEMENT, statement
from kubedl.models.packer.sbom import BOM, build_sbom
from kubedl.models.packer.signing_key import SigningKey, read_key
from kubedl.oci.manifests import Document
from kubedl.oci.referrers import Referrer, referrer
from kubedl.oci.registry import Registry

PREDICATE_TYPE = "in-toto.io/predicate-type"  # annotation that distinguishes attestations


@dataclass(frozen=True)
class Attachment:
    """The content and type of an attestation."""

    artifact_type: str
    media_type: str
    content: bytes
    annotations: dict[str, str] = field(default_factory=dict)


def attachments(order: PackRequest, digest: str, blobs: Sequence[Blob], key: SigningKey | None) -> list[Attachment]:
    """Return all attestations of the image with this digest."""
    stated = statement(order, digest)
    signed = {"kubedl.io/signed": "true"} if key else {}
    media_type, content = (ENVELOPE, envelope(STATEMENT, stated, key)) if key else (STATEMENT, stated)
    return [
        Attachment(STATEMENT, media_type, content, {PREDICATE_TYPE: PREDICATE, **signed}),
        Attachment(BOM, BOM, build_sbom(order, digest, blobs)),
    ]


def attaching(order: PackRequest) -> Attach:
    """Read the key and return the function that attaches everything; with a key, signatures are required."""
    key = read_key(order.signing_key)

    def attach(
        registry: Registry, order: PackRequest, image: Document, blobs: Sequence[Blob]
    ) -> tuple[bool, Sequence[Referrer]]:
        found = attachments(order, image.digest, blobs, key)
        if key:
            for attachment in found:
                if attachment.media_type == ENVELOPE:
                    push_attestation(registry, image, attachment.content, PREDICATE)
            push_signature(registry, image, order.repository, key)
        return key is not None, [
            referrer(image, one.artifact_type, one.media_type, one.content, one.annotations) for one in found
        ]

    return attach
