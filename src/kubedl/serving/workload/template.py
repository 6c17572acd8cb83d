"""The fields that are read of a predictor's template."""

from typing import Any

from kubedl.kube import codec
from kubedl.kube.types.meta import Record
from kubedl.podspec.template import Anything, Port, TemplateError, TemplateMetadata, read_as

Body = dict[str, Any]


class _Variable(Record, frozen=True):
    name: str | None = None
    value: str | None = None


class _Resources(Record, frozen=True):
    limits: Anything | None = None
    requests: Anything | None = None


class _InitContainer(Record, frozen=True):
    resources: _Resources | None = None


class _Container(Record, frozen=True):
    name: str
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[_Variable, ...] | None = None
    ports: tuple[Port, ...] | None = None
    volume_mounts: tuple[Anything, ...] | None = None
    lifecycle: Anything | None = None
    resources: _Resources | None = None


class _Secret(Record, frozen=True):
    name: str | None = None


class _Spec(Record, frozen=True):
    containers: tuple[_Container, ...]
    init_containers: tuple[_InitContainer, ...] | None = None
    volumes: tuple[Anything, ...] | None = None
    image_pull_secrets: tuple[_Secret, ...] | None = None
    termination_grace_period_seconds: int | None = None


class _Template(Record, frozen=True):
    spec: _Spec
    metadata: TemplateMetadata | None = None


def read(predictor: str, template: codec.RawObject) -> Body:
    """Decode a new copy of a predictor's template; the fields declared here have the declared types."""
    given = read_as(_Template, predictor, template)
    if not given["spec"]["containers"]:
        raise TemplateError(f"the template of {predictor} has no container")
    meta = given.get("metadata") or {}
    given["metadata"] = {**meta, **{name: meta.get(name) or {} for name in ("labels", "annotations")}}
    for name in ("initContainers", "volumes"):
        given["spec"][name] = given["spec"].get(name) or []
    for container in given["spec"]["containers"]:
        for name in ("env", "ports", "volumeMounts"):
            container[name] = container.get(name) or []
    return given
