"""Cosign signatures and attestations, in the formats and locations that all versions of cosign read.

They are stored under the tags `sha256-<hex>.sig` and `.att`, one layer per signature. Signatures of others are kept; an
existing signature of KubeDL is not added again.
"""

import base64
from typing import Any

import msgspec

from kubedl.models.packer.signing_key import SigningKey
from kubedl.oci.blob_upload import ensure_bytes
from kubedl.oci.manifests import IMAGE_CONFIG, MANIFEST, Descriptor, Document, digest_of
from kubedl.oci.referrers import fallback_tag, kept
from kubedl.oci.registry import Registry

SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
ENVELOPE = "application/vnd.dsse.envelope.v1+json"
SIGNATURE = "dev.cosignproject.cosign/signature"  # annotation key
SIGNATURES, ATTESTATIONS = ".sig", ".att"  # suffixes of the tags


class _Manifest(msgspec.Struct):
    layers: list[dict[str, Any]] = []


def simple_signing(repository: str, digest: str) -> bytes:
    """Return the payload of an image signature."""
    image = {"docker-manifest-digest": digest}
    critical = {
        "identity": {"docker-reference": repository},
        "image": image,
        "type": "cosign container image signature",
    }
    return msgspec.json.encode({"critical": critical, "optional": None})


def envelope(payload_type: str, payload: bytes, key: SigningKey) -> bytes:
    """Wrap a payload and its signature in an envelope (DSSE)."""
    kind = payload_type.encode()
    signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    return msgspec.json.encode(
        {
            "payloadType": payload_type,
            "payload": base64.b64encode(payload).decode(),
            "signatures": [{"sig": key.sign(signed)}],
        }
    )


def push_signature(registry: Registry, image: Document, repository: str, key: SigningKey) -> None:
    """Sign an image."""
    payload = simple_signing(repository, image.digest)
    _push(registry, image, SIGNATURES, SIMPLE_SIGNING, payload, {SIGNATURE: key.sign(payload)})


def push_attestation(registry: Registry, image: Document, content: bytes, predicate_type: str) -> None:
    """Attach a signed statement to an image."""
    _push(registry, image, ATTESTATIONS, ENVELOPE, content, {SIGNATURE: "", "predicateType": predicate_type})


def _push(
    registry: Registry, image: Document, ending: str, media_type: str, content: bytes, annotations: dict[str, str]
) -> None:
    tag = fallback_tag(image.digest) + ending
    layer = msgspec.to_builtins(Descriptor(media_type, digest_of(content), len(content), "", annotations))
    layers = kept(registry, tag, _Manifest, "is not a list of signatures").layers
    if layer in layers:
        return
    layers = [*layers, layer]
    config = _config(layers)
    for document in (Document(media_type, content), config):
        ensure_bytes(registry, document.digest, document.content)
    parts = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config.plain, "layers": layers}
    registry.put_manifest(Document(MANIFEST, msgspec.json.encode(parts)), tag)


def _config(layers: list[dict[str, Any]]) -> Document:
    """Return an image configuration, which readers of signatures expect: it counts the layers."""
    digests = [str(layer.get("digest", "")) for layer in layers]
    parts = {"architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": digests}}
    return Document(IMAGE_CONFIG, msgspec.json.encode(parts))
