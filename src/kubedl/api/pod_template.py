"""Templates of pods, of which each reader declares what it must be able to read; all else passes through unseen.

A template that has another shape where somebody looks is refused with the place that is wrong. It never becomes an
error of ours: the API server lets pass what it has no schema for, and one bad object must not cost others anything.
"""

from collections.abc import Mapping
from typing import Any

from kubedl.wire import codec
from kubedl.wire.meta import Record

Anything = Mapping[str, Any]


class TemplateError(Exception):
    """The template cannot be made into a pod; trying again will not help before somebody edits it."""


class Port(Record, frozen=True):
    """A port of a container."""

    name: str | None = None
    container_port: int | None = None


class TemplateMetadata(Record, frozen=True):
    """What a template's pods are marked with."""

    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None


def read_as(shape: type[Record], who: str, template: codec.Opaque) -> dict[str, Any]:
    """A fresh copy of somebody's template, of which the caller may trust what the shape declares."""
    try:
        codec.decode(template.json, shape)
    except codec.UNREADABLE as error:
        raise TemplateError(f"the template of {who}: {error}") from error
    return template.unpack()
