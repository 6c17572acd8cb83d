"""A page for each kind that the API server learns from us: an example, and its definition in words.

The definition is what a cluster is told. The example is a file of examples/,
which a test applies; what only jobs have (roles, variables) comes from their declarations.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from devtools.kinds import OURS, describe_job
from devtools.tables import table
from kubedl.entrypoints.manifests import custom_resources
from kubedl.kube import codec
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from testbed.images.definitions_loader import Catalogue

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
IMAGE = re.compile(r"registry\.example/([\w.-]+)\s*$", re.MULTILINE)

Schema = Mapping[str, Any]


def describe_each_kind() -> dict[str, str]:
    """Every page by its name under docs/reference/kinds, without the ending."""
    jobs = {kind.kind: kind for kind in all_kinds()}
    foreign = {name for name, kind in jobs.items() if not type(kind).__module__.startswith(OURS)}
    found = [one for one in definitions() if one["spec"]["names"]["kind"] not in foreign]
    return {kind.lower(): _page(one, jobs.get(kind)) for one in found if (kind := one["spec"]["names"]["kind"])}


@cache
def definitions() -> tuple[Schema, ...]:
    """What the API server is told of each kind."""
    return tuple(custom.definition() for custom in custom_resources())


def can_run(example: str) -> bool:
    """Whether the test bed has every image that an example names, so that CI can run it and not only apply it."""
    return set(IMAGE.findall(example)) <= set(Catalogue().names())


def _page(definition: Schema, kind: Kind | None) -> str:
    spec = definition["spec"]
    names, [version] = spec["names"], spec["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    short = "".join(f", for short `{name}`" for name in names.get("shortNames", ()))
    example = (EXAMPLES / f"{names['singular']}.yaml").read_text()
    return (
        f"# {names['kind']}\n\n{schema.get('description', '')}\n\n"
        f"`{spec['group']}/{version['name']}`; `kubectl get {names['plural']}`{short}.\n\n"
        + (describe_job(kind) if kind else "")
        + f"## Worked example\n\n{_ran(example, kind)}\n\n```yaml\n{example}```\n\n"
        f"`kubectl get` shows {_columns(version)}.\n\n"
        "## Fields of the spec\n\n"
        + _fields("spec", schema["properties"].get("spec", {}))
        + "## Fields of the status\n\n"
        + _fields("status", schema["properties"].get("status", {}))
        + "## What is refused\n\n"
        "Beside values of another type or beyond their bounds, at admission, with these words:\n\n"
        + table(("where", "what must be true, or be done"), _refusals(schema))
    )


def _ran(example: str, kind: Kind | None) -> str:
    file = f"`examples/{(kind.kind if kind else _kind(example)).lower()}.yaml`"
    if kind is None:
        return f"{file}; a test applies it to a real API server, as a dry run."
    if can_run(example):
        return (
            f"{file}; a test runs it on two real nodes and waits for its success. Put an image of yours in place of "
            "`registry.example/…`."
        )
    return (
        f"{file}; a test applies it to a real API server, as a dry run. It was not run: there is no image of this "
        "framework in the test bed."
    )


def _kind(example: str) -> str:
    return str(next(iter(yaml.safe_load_all(example)))["kind"])


def _columns(version: Schema) -> str:
    columns = version.get("additionalPrinterColumns", ())
    always = ", ".join(column["name"] for column in columns if not column["priority"])
    wide = ", ".join(column["name"] for column in columns if column["priority"])
    return f"{always or 'name and age'}" + (f"; with `-o wide` also {wide}" if wide else "")


def _fields(name: str, schema: Schema) -> str:
    """A table of what stands here, then one for each object below."""
    if not schema.get("properties"):
        return "None.\n\n"
    below = [(path, inner) for path, inner in _objects(name, schema) if inner.get("properties")]
    return "".join(
        f"### `{path}`\n\n{_described(inner)}{table(('field', 'type', 'meaning'), _rows(inner))}\n"
        for path, inner in [(name, schema), *below]
    )


def _objects(path: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    for name, inner in schema["properties"].items():
        place, held = f"{path}.{name}", inner
        if inner.get("type") == "array":
            place, held = f"{place}[]", inner["items"]
        elif isinstance(inner.get("additionalProperties"), Mapping):
            place, held = f"{place}.*", inner["additionalProperties"]
        if held.get("properties") and not _is_template(name):
            yield place, held
            yield from _objects(place, held)


def _is_template(name: str) -> bool:
    """What is Kubernetes' own is described by Kubernetes."""
    return name == "template"


def _described(schema: Schema) -> str:
    return f"{schema['description']}\n\n" if "description" in schema else ""


def _rows(schema: Schema) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    for name, inner in schema["properties"].items():
        told = [inner.get("description", "")]
        if "enum" in inner:
            told.append("One of " + ", ".join(f"`{value}`" if value else "nothing" for value in inner["enum"]) + ".")
        if "default" in inner:
            told.append(f"Default: `{codec.encode(inner['default']).decode()}`.")
        if name in required:
            told.append("**Required.**")
        yield f"`{name}`", _type(inner), _cell(" ".join(filter(None, told)))


def _type(schema: Schema) -> str:
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"map of {_type(schema['additionalProperties'])}"
    bounds = [str(schema[bound]) for bound in ("minimum", "maximum") if bound in schema]
    kind = str(schema.get("type") or ("integer or string" if "x-kubernetes-int-or-string" in schema else "any"))
    return f"{kind}, {' to '.join(bounds)}" if len(bounds) == 2 else kind


def _refusals(schema: Schema, path: str = "") -> Iterator[tuple[str, str]]:
    for rule in schema.get("x-kubernetes-validations", ()):
        place = f"{path}{rule.get('fieldPath', '')}".lstrip(".")
        yield f"`{place}`", _cell(rule["message"])
    for name, inner in schema.get("properties", {}).items():
        yield from _refusals(inner, f"{path}.{name}")
    for step, below in (("[]", schema.get("items")), (".*", schema.get("additionalProperties"))):
        if isinstance(below, Mapping):
            yield from _refusals(below, f"{path}{step}")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
