"""What is said about an image beside it: how it came to be and what it is made of, signed if there is a key.

All of it is known before and has no date, so saying it twice is saying it once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kubedl.models.order import Order
from kubedl.models.packer.bom import BOM, bill
from kubedl.models.packer.manifests import Blob, Document
from kubedl.models.packer.pack import Attach
from kubedl.models.packer.provenance import PREDICATE, STATEMENT, statement
from kubedl.models.packer.referrers import Referrer, referrer
from kubedl.models.packer.registry import Registry
from kubedl.models.packer.signing import ENVELOPE, envelope, push_attestation, push_signature
from kubedl.models.packer.signing_key import SigningKey, read_key

PREDICATE_TYPE = "in-toto.io/predicate-type"  # an annotation, by which one statement is told from another


@dataclass(frozen=True)
class Attachment:
    """Some bytes about an image, and what they are."""

    artifact_type: str
    media_type: str
    content: bytes
    annotations: dict[str, str] = field(default_factory=dict)


def attachments(order: Order, digest: str, blobs: Sequence[Blob], key: SigningKey | None) -> list[Attachment]:
    """All that is said about the image with that digest."""
    stated = statement(order, digest)
    signed = {"kubedl.io/signed": "true"} if key else {}
    media_type, content = (ENVELOPE, envelope(STATEMENT, stated, key)) if key else (STATEMENT, stated)
    return [
        Attachment(STATEMENT, media_type, content, {PREDICATE_TYPE: PREDICATE, **signed}),
        Attachment(BOM, BOM, bill(order, digest, blobs)),
    ]


def attaching(order: Order) -> Attach:
    """Reads the key, and gives what says it all: with a key, signature and signed statement must be there."""
    key = read_key(order.signing_key)

    def attach(
        registry: Registry, order: Order, image: Document, blobs: Sequence[Blob]
    ) -> tuple[bool, Sequence[Referrer]]:
        found = attachments(order, image.digest, blobs, key)
        if key:
            for one in found:
                if one.media_type == ENVELOPE:
                    push_attestation(registry, image, one.content, PREDICATE)
            push_signature(registry, image, order.repository, key)
        return key is not None, [
            referrer(image, one.artifact_type, one.media_type, one.content, one.annotations) for one in found
        ]

    return attach
