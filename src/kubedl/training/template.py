"""What the engine must be able to read of a pod template; all else passes through unseen.

A template that has another shape where we look is refused with the place that is wrong. It never becomes an error of
ours: the API server lets pass what it has no schema for, and one bad job must not cost others anything.
"""

from collections.abc import Mapping
from typing import Any

from kubedl.wire import codec
from kubedl.wire.meta import Record


class TemplateError(Exception):
    """The template cannot be made into a pod; trying again will not help before somebody edits it."""


class _Port(Record, frozen=True):
    name: str | None = None
    container_port: int | None = None


class _Named(Record, frozen=True):
    name: str | None = None


Anything = Mapping[str, Any]


class _Container(Record, frozen=True):
    name: str
    working_dir: str | None = None
    env: tuple[_Named, ...] | None = None
    ports: tuple[_Port, ...] | None = None
    volume_mounts: tuple[_Named, ...] | None = None
    security_context: Anything | None = None


class _Dns(Record, frozen=True):
    searches: tuple[str, ...] | None = None


class _Metadata(Record, frozen=True):
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None


class _Spec(Record, frozen=True):
    containers: tuple[_Container, ...]
    init_containers: tuple[Anything, ...] | None = None
    security_context: Anything | None = None
    node_selector: Mapping[str, str] | None = None
    dns_config: _Dns | None = None
    volumes: tuple[_Named, ...] | None = None


class _Template(Record, frozen=True):
    spec: _Spec
    metadata: _Metadata | None = None


def read(role: str, template: codec.Opaque) -> dict[str, Any]:
    """A fresh copy of a role's template, of which the caller may trust the shape of what is declared here."""
    try:
        codec.decode(template.json, _Template)
    except codec.UNREADABLE as error:
        raise TemplateError(f"the template of {role}: {error}") from error
    return template.unpack()


def port(role: str, template: codec.Opaque, container: str, name: str) -> int | None:
    """The number of a container's port by name."""
    for found in read(role, template)["spec"]["containers"]:
        for entry in (found.get("ports") or ()) if found["name"] == container else ():
            if entry.get("name") == name and entry.get("containerPort") is not None:
                return int(entry["containerPort"])
    return None
