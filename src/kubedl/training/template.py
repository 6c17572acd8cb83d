"""The fields that the engine reads of a role's template."""

from collections.abc import Mapping
from typing import Any

from kubedl.kube import codec
from kubedl.kube.types.meta import Record
from kubedl.podspec.template import Anything, Port, TemplateMetadata, read_as


class _Named(Record, frozen=True):
    name: str | None = None


class _Container(Record, frozen=True):
    name: str
    working_dir: str | None = None
    env: tuple[_Named, ...] | None = None
    ports: tuple[Port, ...] | None = None
    volume_mounts: tuple[_Named, ...] | None = None
    security_context: Anything | None = None


class _Dns(Record, frozen=True):
    searches: tuple[str, ...] | None = None


class _PodAffinity(Record, frozen=True):
    required_during_scheduling_ignored_during_execution: tuple[Anything, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[Anything, ...] | None = None


class _NodeTerm(Record, frozen=True):
    match_expressions: tuple[Anything, ...] | None = None
    match_fields: tuple[Anything, ...] | None = None


class _NodeTerms(Record, frozen=True):
    node_selector_terms: tuple[_NodeTerm, ...] | None = None


class _NodeAffinity(Record, frozen=True):
    required_during_scheduling_ignored_during_execution: _NodeTerms | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[Anything, ...] | None = None


class _Affinity(Record, frozen=True):
    node_affinity: _NodeAffinity | None = None
    pod_affinity: _PodAffinity | None = None


class _Spec(Record, frozen=True):
    containers: tuple[_Container, ...]
    init_containers: tuple[Anything, ...] | None = None
    security_context: Anything | None = None
    node_selector: Mapping[str, str] | None = None
    dns_config: _Dns | None = None
    volumes: tuple[_Named, ...] | None = None
    affinity: _Affinity | None = None
    tolerations: tuple[Anything, ...] | None = None
    topology_spread_constraints: tuple[Anything, ...] | None = None


class _Template(Record, frozen=True):
    spec: _Spec
    metadata: TemplateMetadata | None = None


class Toleration(Record, frozen=True):
    """A toleration of a template, or of a pool of nodes."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class _Tolerations(Record, frozen=True):
    tolerations: tuple[Toleration, ...] | None = None


class _Tolerating(Record, frozen=True):
    spec: _Tolerations = _Tolerations()


def tolerations(template: codec.RawObject) -> tuple[Toleration, ...]:
    """Return the tolerations of a template; none if they cannot be read."""
    try:
        return codec.decode(template.json, _Tolerating).spec.tolerations or ()
    except codec.UNREADABLE:
        return ()


def read(role: str, template: codec.RawObject) -> dict[str, Any]:
    """Decode a new copy of a role's template; the fields declared here have the declared types."""
    return read_as(_Template, role, template)


def port(role: str, template: codec.RawObject, container: str, name: str) -> int | None:
    """Return a container port by name."""
    for found in read(role, template)["spec"]["containers"]:
        for entry in (found.get("ports") or ()) if found["name"] == container else ():
            if entry.get("name") == name and entry.get("containerPort") is not None:
                return int(entry["containerPort"])
    return None
