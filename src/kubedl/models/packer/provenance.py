"""Provenance of an image: an in-toto Statement with a SLSA predicate, deterministic for a request and image.

It has no dates and no packer version, so packing again produces the same bytes.
"""

import re
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import msgspec

from kubedl.models.pack_protocol import Origin, PackRequest
from kubedl.models.packer.model_manifests import public_url

STATEMENT = "application/vnd.in-toto+json"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "https://kubedl.io/build-types/model-image/v1"
BUILDER = "https://kubedl.io/builders/packer/v1"

_SHORT = re.compile(r"((?:[\w.-]+@)?[\w.-]+):(?!//)/?(.+)", re.ASCII)  # as in git@host:team/code.git
_HOST = re.compile(r"([\w.~-]+@)?([\w.-]+|\[[0-9A-Fa-f:.]+\])?(:[0-9]+)?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def statement(order: PackRequest, digest: str) -> bytes:
    """Return the provenance of the image with this digest."""
    return msgspec.json.encode(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": order.repository, "digest": _hex(digest)}],
            "predicateType": PREDICATE,
            "predicate": {
                "buildDefinition": {
                    "buildType": BUILD_TYPE,
                    "externalParameters": _parameters(order),
                    "resolvedDependencies": _dependencies(order.origin),
                },
                "runDetails": {
                    "builder": {"id": BUILDER},
                    "metadata": {"invocationId": f"{order.namespace}/{order.version}"},
                },
            },
        }
    )


def by_digest(image: str) -> tuple[str, str]:
    """Split an image reference into repository and digest; the digest may be empty."""
    repository, _, digest = image.rpartition("@")
    return (repository, digest) if repository and digest.startswith("sha256:") else (image, "")


def code_address(repository: str) -> str:
    """Return a git repository as a URL without credentials; empty if that is not possible."""
    short = _SHORT.fullmatch(repository)
    parts = urlsplit(public_url(f"ssh://{short[1]}/{short[2]}" if short else repository))
    # Without a host it can only be a directory; a prefix would read as a scheme.
    if not _HOST.fullmatch(parts.netloc) or not (parts.netloc or parts.path.startswith("/")):
        return ""
    return parts._replace(path=quote(unquote(parts.path), safe="/~@:+!$&'()*,;=")).geturl()


def _parameters(order: PackRequest) -> dict[str, Any]:
    """Return the request with the field names of a ModelVersion."""
    origin = order.origin
    job = {"kind": origin.job_kind, "name": origin.job_name, "uid": origin.job_uid}
    asked = {
        "imageRepo": order.repository,
        "imageTag": order.tag,
        "namespace": order.namespace,
        "modelName": order.model,
        "modelVersion": order.version,
        "createdBy": origin.created_by,
        "job": {name: value for name, value in job.items() if value},
    }
    return {name: value for name, value in asked.items() if value}


def _dependencies(origin: Origin) -> list[dict[str, Any]]:
    """Return the materials: training images, code and parent model, each with its digest if known."""
    found = [
        _image("trainer-image", ran, {"written": written}) for written, ran in sorted(origin.trainer_images.items())
    ]
    address = code_address(origin.code_repository)
    if address:
        revision = origin.code_revision
        code: dict[str, Any] = {"name": "code", "uri": f"git+{address}" + (f"@{revision}" if revision else "")}
        if _COMMIT.fullmatch(revision):
            code["digest"] = {"gitCommit": revision}
        found.append(code)
    if origin.parent:
        found.append(_image("parent-model", origin.parent, {}))
    return found


def _image(name: str, image: str, annotations: dict[str, str]) -> dict[str, Any]:
    digest = by_digest(image)[1]
    return {
        "name": name,
        "uri": f"oci://{image}",
        **({"digest": _hex(digest)} if digest else {}),
        **({"annotations": annotations} if annotations else {}),
    }


def _hex(digest: str) -> dict[str, str]:
    return {"sha256": digest.removeprefix("sha256:")}
