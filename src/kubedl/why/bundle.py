"""Evidence as a file: what a diagnosis has read, to send with a report and to judge again without a cluster."""

from collections.abc import Mapping
from typing import Any

from kubedl.kube import codec
from kubedl.why.evidence import DeniedError, Evidence, Part, parse_time

API_VERSION, KIND = "cli.kubedl.io/v1alpha1", "Evidence"
MOST_BYTES = 64 * 2**20


class NoBundleError(ValueError):
    """The file has no evidence."""


def to_plain(evidence: Evidence) -> dict[str, Any]:
    """Return evidence as plain data."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "now": evidence.now.isoformat(),
        "object": dict(evidence.manifest),
        "parts": dict(evidence.parts),
        "denied": dict(evidence.denied),
    }


def read(data: bytes) -> Evidence:
    """Return the evidence of a file. Raises NoBundleError."""
    if len(data) > MOST_BYTES:
        raise NoBundleError(f"it has more than {MOST_BYTES // 2**20} MiB")
    try:
        content = codec.decode(data, dict)
    except codec.UNREADABLE as error:
        raise NoBundleError(f"it is no JSON: {str(error)[:200]}") from error
    now, found = parse_time(content.get("now")), content.get("object")
    if content.get("kind") != KIND or now is None or not isinstance(found, Mapping):
        raise NoBundleError(f"it is not of kind {KIND}, with the fields now and object")
    return Evidence(now, found, _absent, _mapping(content.get("parts")), _texts(content.get("denied")))


def _absent(_: Evidence, part: Part) -> Any:  # noqa: ANN401 - never returns
    raise DeniedError("not collected")


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _texts(value: object) -> dict[str, str]:
    return {str(name): str(text) for name, text in _mapping(value).items()}
