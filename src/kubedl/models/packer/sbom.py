"""SBOM of an image: a CycloneDX 1.6 document of a machine-learning model.

It has no dates, so the same request and files give the same bytes. The hashes are those of layers, which are computed
anyway; a layer of many files names the first ones and their number.
"""

import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from kubedl.models.pack_protocol import Origin, PackRequest
from kubedl.models.packer.model_manifests import Blob
from kubedl.models.packer.provenance import by_digest, code_address
from kubedl.oci.manifests import LAYER
from kubedl.podspec.image_layout import MODELS

BOM = "application/vnd.cyclonedx+json"
MOST_NAMED = 20  # files of a layer

Component = dict[str, Any]


def build_sbom(order: PackRequest, digest: str, blobs: Sequence[Blob]) -> bytes:
    """Return the SBOM of the image with this digest."""
    formulation = [{"components": trained}] if (trained := _trainers(order.origin)) else []
    return msgspec.json.encode(
        {
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'oci://{order.repository}@{digest}')}",
            "version": 1,
            "metadata": {
                "tools": {"components": [{"type": "application", "name": "kubedl"}]},
                "component": _model(order, digest),
            },
            "components": [_layer(blob) for blob in blobs if blob.group],
            **({"formulation": formulation} if formulation else {}),
        }
    )


def _model(order: PackRequest, digest: str) -> Component:
    origin, address = order.origin, code_address(order.origin.code_repository)
    known = {
        "namespace": order.namespace,
        "model-version": order.version,
        "created-by": origin.created_by,
        "job-kind": origin.job_kind,
        "job-name": origin.job_name,
        "job-uid": origin.job_uid,
        "code-revision": origin.code_revision,
    }
    properties = [_property(name, value) for name, value in known.items() if value]
    return {
        "type": "machine-learning-model",
        "bom-ref": "model",
        "name": order.model,
        "version": order.tag,
        "hashes": _hashes(digest),
        "purl": _purl(order.repository, digest),
        "modelCard": {"properties": properties},
        **({"pedigree": {"ancestors": [_ancestor(origin.parent)]}} if origin.parent else {}),
        **({"externalReferences": [{"type": "vcs", "url": address}]} if address else {}),
    }


def _ancestor(parent: str) -> Component:
    repository, digest = by_digest(parent)
    known = {"hashes": _hashes(digest), "purl": _purl(repository, digest), "version": digest} if digest else {}
    return {"type": "machine-learning-model", "name": repository, **known}


def _trainers(origin: Origin) -> list[Component]:
    found = []
    for written, ran in sorted(origin.trainer_images.items()):
        repository, digest = by_digest(ran)
        known = {"hashes": _hashes(digest), "purl": _purl(repository, digest)} if digest else {}
        found.append({"type": "container", "name": written, **known})
    return found


def _layer(blob: Blob) -> Component:
    files = [entry for entry in blob.group if entry.kind == "file"]
    first = f"{MODELS}/{blob.group[0].path}"
    named = [_property("file", f"{MODELS}/{entry.path}") for entry in files[:MOST_NAMED]]
    return {
        "type": "data",
        "bom-ref": blob.digest,
        "name": first if len(blob.group) == 1 else f"{first} and {len(blob.group) - 1} more",
        "mime-type": LAYER,
        "hashes": _hashes(blob.digest),
        "properties": [_property("bytes", str(blob.size)), _property("files", str(len(files))), *named],
    }


def _property(name: str, value: str) -> dict[str, str]:
    return {"name": f"kubedl:{name}", "value": value}


def _hashes(digest: str) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}]


def _purl(repository: str, digest: str) -> str:
    name = quote(repository.rpartition("/")[2].lower(), safe="")
    return f"pkg:oci/{name}@{quote(digest, safe='')}?repository_url={quote(repository, safe='')}"
