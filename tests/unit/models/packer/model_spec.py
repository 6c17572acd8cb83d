"""The CNCF's model-spec as it was published: its JSON schema, and the names of its media types.

It comes from the Go module proxy when a test asks for it, checked by its sum, and is never part of this repository.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbed.go_modules import module_directory

MODULE = "github.com/modelpack/model-spec@v0.0.7"
SUM = "h1:3fAxau4xUqF0Pf1zzFC5lItF0gEaiXLxaCcPAH8PW8I="

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
_KNOWN = {
    "$schema", "$id", "$defs", "$ref", "description", "type", "properties", "additionalProperties", "required",
    "items", "minItems", "minLength", "enum", "pattern", "format",
}  # fmt: skip


def directory() -> Path:
    """Where its files are."""
    return module_directory(MODULE, SUM)


def config_schema() -> dict[str, Any]:
    """What a model's configuration may hold."""
    schema: dict[str, Any] = json.loads((directory() / "schema" / "config-schema.json").read_text())
    return schema


def media_types() -> set[str]:
    """Every media type and artifact type that it defines."""
    return set(re.findall(r'"(application/[^"]+)"', (directory() / "specs-go" / "v1" / "mediatype.go").read_text()))


def complaints(value: object, schema: dict[str, Any], root: dict[str, Any], place: str = "$") -> Iterator[str]:
    """What breaks a schema, as far as this one goes; a word of it that is not known here is an error."""
    assert not schema.keys() - _KNOWN, f"{place}: {schema.keys() - _KNOWN}"
    if "$ref" in schema:
        yield from complaints(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, place)
    if "type" in schema and not isinstance(value, _TYPES[schema["type"]]):
        yield f"{place} is no {schema['type']}"
        return
    if isinstance(value, dict):
        yield from _of_object(value, schema, root, place)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{place} has too few items"
        for number, item in enumerate(value):
            yield from complaints(item, schema.get("items", {}), root, f"{place}[{number}]")
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0) or not re.search(schema.get("pattern", ""), value):
            yield f"{place} is not as it should be"
        if value not in schema.get("enum", [value]):
            yield f"{place} is none of {schema['enum']}"


def _of_object(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], place: str) -> Iterator[str]:
    known = schema.get("properties", {})
    yield from (f"{place} lacks {name}" for name in schema.get("required", []) if name not in value)
    if schema.get("additionalProperties") is False:
        yield from (f"{place} may not have {name}" for name in value.keys() - known.keys())
    for name in value.keys() & known.keys():
        yield from complaints(value[name], known[name], root, f"{place}.{name}")
