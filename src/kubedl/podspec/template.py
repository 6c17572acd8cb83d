"""Pod templates: each reader declares the fields that it reads; all others pass through.

A template with an unexpected type in such a field is rejected with the path of the field, and never becomes an internal
error: the API server accepts anything where it has no schema, and one bad object must not affect others.
"""

from collections.abc import Mapping
from typing import Any

from kubedl.kube import codec
from kubedl.kube.types.meta import Record

Anything = Mapping[str, Any]


class TemplateError(Exception):
    """The template cannot be rendered into a pod; a retry will not help until it is edited."""


class Port(Record, frozen=True):
    """A port of a container."""

    name: str | None = None
    container_port: int | None = None


class TemplateMetadata(Record, frozen=True):
    """Metadata of a template."""

    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None


def read_as(shape: type[Record], who: str, template: codec.RawObject) -> dict[str, Any]:
    """Decode a new copy of a template; the declared fields have the declared types."""
    try:
        codec.decode(template.json, shape)
    except codec.UNREADABLE as error:
        raise TemplateError(f"the template of {who}: {error}") from error
    return template.unpack()
