"""The published schema of what commands print with `-o json`."""

import json
from typing import Any

import msgspec

from kubedl.cli.outputs import PUBLISHED

URL = "https://json-schema.org/draft/2020-12/schema"
# `get`, `serve list`, `queue list` and others print what the API server has, whose schema is that of the CRDs.
OBJECTS: dict[str, Any] = {
    "KubernetesObject": {
        "title": "KubernetesObject",
        "description": "An object as it can be applied again: `get`, `serve get`.",
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
        "required": ["apiVersion", "kind", "metadata"],
    },
    "List": {
        "title": "List",
        "description": "Objects: `serve list`, `queue list`, `model list`, `cron list`.",
        "type": "object",
        "properties": {
            "apiVersion": {"const": "v1"},
            "kind": {"const": "List"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/KubernetesObject"}},
        },
        "required": ["apiVersion", "kind", "items"],
    },
}


def output_schema() -> str:
    """Return the schema as text: a definition for each kind of output, by its name."""
    _, found = msgspec.json.schema_components(PUBLISHED, ref_template="#/$defs/{name}")
    for one in PUBLISHED:
        part = found[one.__name__]
        part["required"] = sorted({*part.get("required", ()), "kind", "apiVersion"})
    top = [{"$ref": f"#/$defs/{name}"} for name in (*(one.__name__ for one in PUBLISHED), *OBJECTS)]
    made = {"$schema": URL, "title": "Output of kubedl -o json", "anyOf": top, "$defs": {**found, **OBJECTS}}
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"
