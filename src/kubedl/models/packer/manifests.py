"""The documents that make blobs an image: the same order and the same files give the same bytes, on any day.

There are two over the same layers. The image can be mounted, and copied out of, by every container runtime; the
ModelPack manifest (CNCF model-spec 0.0.7) tells model tools what each layer is, and refers to the image as its subject.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from kubedl.api.inventory import MODELS
from kubedl.models.order import Order
from kubedl.models.packer.layers import Group

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"
IMAGE_CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
MODEL_MANIFEST = "application/vnd.cncf.model.manifest.v1+json"
MODEL_CONFIG = "application/vnd.cncf.model.config.v1+json"

_OCI = "org.opencontainers.image."
_FILE_PATH = "org.cncf.model.filepath"
_GUESSED = "org.cncf.model.file.mediatype.untested"

_BY_SUFFIX = {
    ".md": "doc",
    ".pdf": "doc",
    ".py": "code",
    ".sh": "code",
    ".ipynb": "code",
    ".json": "weight.config",
    ".yaml": "weight.config",
    ".yml": "weight.config",
    ".toml": "weight.config",
    ".txt": "weight.config",
    ".pbtxt": "weight.config",
    ".jinja": "weight.config",
    ".model": "weight.config",
}
_BY_NAME = {"LICENSE": "doc", "NOTICE": "doc", "README": "doc", "vocab.txt": "weight.config"}


class Descriptor(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One document or blob, as others refer to it."""

    media_type: str
    digest: str
    size: int
    artifact_type: str = ""
    annotations: dict[str, str] = {}


class Blob(msgspec.Struct, frozen=True):
    """A layer that was hashed, and what is in it; nothing is in the first."""

    digest: str
    size: int
    group: Group = ()


class Document(msgspec.Struct, frozen=True):
    """A manifest or a configuration, ready to be sent."""

    media_type: str
    content: bytes
    artifact_type: str = ""
    annotations: dict[str, str] = {}

    @property
    def digest(self) -> str:
        """As registries write it."""
        return digest_of(self.content)

    @property
    def descriptor(self) -> Descriptor:
        """With what an index of referrers repeats."""
        return Descriptor(self.media_type, self.digest, len(self.content), self.artifact_type, self.annotations)

    @property
    def plain(self) -> Descriptor:
        """Without it."""
        return Descriptor(self.media_type, self.digest, len(self.content))


def digest_of(content: bytes) -> str:
    """The digest of bytes in memory."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def image_config(blobs: Sequence[Blob]) -> Document:
    """Nothing to start, and one platform: a runtime does not compare it for an image that is not one of several."""
    layers = [blob.digest for blob in blobs]
    return _document(
        IMAGE_CONFIG,
        {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": layers}},
    )


def image_manifest(order: Order, config: Document, blobs: Sequence[Blob]) -> Document:
    """The image."""
    annotations = annotations_of(order)
    layers = [Descriptor(LAYER, blob.digest, blob.size) for blob in blobs]
    return _manifest({"config": config.plain, "layers": layers, "annotations": annotations})


def model_config(order: Order, blobs: Sequence[Blob]) -> Document:
    """What a ModelPack tool shows of the model."""
    descriptor = {
        "authors": [order.origin.created_by] if order.origin.created_by else None,
        "name": order.model,
        "sourceURL": public_url(order.origin.code_repository),
        "version": order.tag,
        "revision": order.origin.code_revision,
    }
    layers = [blob.digest for blob in blobs if blob.group]
    return _document(
        MODEL_CONFIG,
        {
            "descriptor": {name: value for name, value in descriptor.items() if value},
            "modelfs": {"type": "layers", "diffIds": layers},
            "config": {},
        },
    )


def model_manifest(order: Order, config: Document, blobs: Sequence[Blob], image: Document) -> Document:
    """The ModelPack manifest. The first layer, a link, is no part of the model."""
    layers = [
        Descriptor(f"application/vnd.cncf.model.{_purpose(blob.group)}.v1.tar", blob.digest, blob.size, "", _told(blob))
        for blob in blobs
        if blob.group
    ]
    parts = {"config": config.plain, "layers": layers, "subject": image.plain, "annotations": annotations_of(order)}
    return _manifest(parts, MODEL_MANIFEST)


def referrer_manifest(
    subject: Document, artifact_type: str, layer: Descriptor, annotations: Mapping[str, str]
) -> Document:
    """One blob that says something about an image."""
    config = Descriptor(EMPTY, digest_of(b"{}"), 2)
    ordered = dict(sorted(annotations.items()))
    parts = {"config": config, "layers": [layer], "subject": subject.plain, "annotations": ordered}
    return _manifest(parts, artifact_type)


def annotations_of(order: Order) -> dict[str, str]:
    """What everybody may read about where the image comes from. No date: the same model is the same image tomorrow."""
    found = {
        f"{_OCI}title": order.model,
        f"{_OCI}version": order.tag,
        f"{_OCI}revision": order.origin.code_revision,
        f"{_OCI}source": public_url(order.origin.code_repository),
        "kubedl.io/namespace": order.namespace,
        "kubedl.io/model-version": order.version,
        "kubedl.io/created-by": order.origin.created_by,
        "kubedl.io/job-kind": order.origin.job_kind,
        "kubedl.io/job-name": order.origin.job_name,
        "kubedl.io/job-uid": order.origin.job_uid,
        "kubedl.io/parent": order.origin.parent,
    }
    return {name: value for name, value in sorted(found.items()) if value}


def public_url(address: str) -> str:
    """An address without the secrets that may be in it; over ssh the user's name is a part of it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    user, at, host = parts.netloc.rpartition("@")
    kept = f"{user.partition(':')[0]}{at}" if parts.scheme == "ssh" else ""
    return urlunsplit((parts.scheme, kept + host, parts.path, "", ""))


def _purpose(group: Group) -> str:
    """What a layer is for, after the names of its files; one with a file of weights is one of weights."""
    purposes = {_purpose_of(PurePosixPath(entry.path)) for entry in group}
    if len(purposes) == 1:
        return purposes.pop()
    return "weight" if "weight" in purposes else "weight.config"


def _purpose_of(path: PurePosixPath) -> str:
    return _BY_NAME.get(path.name) or _BY_NAME.get(path.stem) or _BY_SUFFIX.get(path.suffix.lower(), "weight")


def _told(blob: Blob) -> dict[str, str]:
    path = {_FILE_PATH: f"{MODELS}/{blob.group[0].path}"} if len(blob.group) == 1 else {}
    return path | {_GUESSED: "true"}


def _manifest(parts: dict[str, Any], artifact_type: str = "") -> Document:
    head = {"schemaVersion": 2, "mediaType": MANIFEST, **({"artifactType": artifact_type} if artifact_type else {})}
    return Document(MANIFEST, msgspec.json.encode(head | parts), artifact_type, parts["annotations"])


def _document(media_type: str, content: dict[str, Any]) -> Document:
    return Document(media_type, msgspec.json.encode(content))
