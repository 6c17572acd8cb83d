"""Builds the documents of a model image. The same request and files always give the same bytes.

There are two manifests over the same layers. The image can be mounted and copied from by every container runtime; the
ModelPack manifest (CNCF model-spec 0.0.7) describes the layers to model tools, with the image as its subject.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit, urlunsplit

import msgspec

from kubedl.models.pack_protocol import PackRequest
from kubedl.models.packer.layering import Group
from kubedl.oci.manifests import IMAGE_CONFIG, LAYER, Descriptor, Document, document, manifest
from kubedl.podspec.image_layout import MODELS

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


class Blob(msgspec.Struct, frozen=True):
    """A hashed layer and its files; the first layer has none."""

    digest: str
    size: int
    group: Group = ()


def image_config(blobs: Sequence[Blob]) -> Document:
    """Return the image configuration: no command, and one platform, which a runtime ignores for a single image."""
    layers = [blob.digest for blob in blobs]
    return document(
        IMAGE_CONFIG,
        {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": layers}},
    )


def image_manifest(order: PackRequest, config: Document, blobs: Sequence[Blob]) -> Document:
    """Return the image manifest."""
    annotations = annotations_of(order)
    layers = [Descriptor(LAYER, blob.digest, blob.size) for blob in blobs]
    return manifest({"config": config.plain, "layers": layers, "annotations": annotations})


def model_config(order: PackRequest, blobs: Sequence[Blob]) -> Document:
    """Return the ModelPack configuration."""
    descriptor = {
        "authors": [order.origin.created_by] if order.origin.created_by else None,
        "name": order.model,
        "sourceURL": public_url(order.origin.code_repository),
        "version": order.tag,
        "revision": order.origin.code_revision,
    }
    layers = [blob.digest for blob in blobs if blob.group]
    return document(
        MODEL_CONFIG,
        {
            "descriptor": {name: value for name, value in descriptor.items() if value},
            "modelfs": {"type": "layers", "diffIds": layers},
            "config": {},
        },
    )


def model_manifest(order: PackRequest, config: Document, blobs: Sequence[Blob], image: Document) -> Document:
    """Return the ModelPack manifest. The first layer, a link, is not part of the model."""
    layers = [
        Descriptor(
            f"application/vnd.cncf.model.{_purpose(blob.group)}.v1.tar",
            blob.digest,
            blob.size,
            "",
            _layer_annotations(blob),
        )
        for blob in blobs
        if blob.group
    ]
    parts = {"config": config.plain, "layers": layers, "subject": image.plain, "annotations": annotations_of(order)}
    return manifest(parts, MODEL_MANIFEST)


def annotations_of(order: PackRequest) -> dict[str, str]:
    """Return public annotations about the origin of the image. No date: the same model gives the same image."""
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
    """Return a repository URL without credentials; with ssh, the user name is kept."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    user, at, host = parts.netloc.rpartition("@")
    kept = f"{user.partition(':')[0]}{at}" if parts.scheme == "ssh" else ""
    return urlunsplit((parts.scheme, kept + host, parts.path, "", ""))


def _purpose(group: Group) -> str:
    """Return the media type of a layer from the names of its files; a layer with a weights file is a weights layer."""
    purposes = {_purpose_of(PurePosixPath(entry.path)) for entry in group}
    if len(purposes) == 1:
        return purposes.pop()
    return "weight" if "weight" in purposes else "weight.config"


def _purpose_of(path: PurePosixPath) -> str:
    return _BY_NAME.get(path.name) or _BY_NAME.get(path.stem) or _BY_SUFFIX.get(path.suffix.lower(), "weight")


def _layer_annotations(blob: Blob) -> dict[str, str]:
    path = {_FILE_PATH: f"{MODELS}/{blob.group[0].path}"} if len(blob.group) == 1 else {}
    return path | {_GUESSED: "true"}
