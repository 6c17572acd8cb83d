"""Structs become structural schemas, or are refused with the place and the way out."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Union

import msgspec
import pytest
from msgspec import Meta

from kubedl.api.training import JobSpec, JobStatus
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import Record
from kubedl.schema.structural import NotStructuralError, Rule, Schema, list_map, schema_of


class Inner(Record, frozen=True):
    """An inner part.

    More that only readers of the code need.
    """

    name: str
    weight: int = 1


class Outer(Record, frozen=True, kw_only=True):
    """Everything at once."""

    first_name: str
    renamed: str | None = msgspec.field(name="AWSEfs", default=None)
    inner: Inner | None = None
    told: Annotated[Inner | None, Meta(description="Told here.")] = None
    suspend: bool = False
    empty: str = ""
    path: str = "/"
    labels: Mapping[str, str] = {}
    choice: Literal["B", "A"] = "A"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (bool, {"type": "boolean"}),
        (str, {"type": "string"}),
        (float, {"type": "number"}),
        (int, {"type": "integer", "format": "int64"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (
            Annotated[int, Meta(ge=0, le=10)],
            {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10},
        ),
        (
            Annotated[int, Meta(gt=0, lt=2**40)],
            {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "maximum": 2**40,
                "exclusiveMinimum": True,
                "exclusiveMaximum": True,
            },
        ),
        (
            Annotated[str, Meta(min_length=1, max_length=9, pattern="^a")],
            {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a"},
        ),
        (Literal["b", "a"], {"type": "string", "enum": ["a", "b"]}),
        (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
        (
            Annotated[list[str], Meta(min_length=1, max_length=3)],
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        ),
        (
            Annotated[Mapping[str, bool], Meta(max_length=3)],
            {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 3},
        ),
        (Union[str, None], {"type": "string"}),  # noqa: UP007 - as a value, not as an annotation
        (Union[int, str], {"x-kubernetes-int-or-string": True}),  # noqa: UP007
        (RawObject, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
    ],
)
def test_a_type_has_one_schema(kind: Any, expected: Schema) -> None:  # noqa: ANN401 - types are values here
    """The whole translation, a type each."""
    assert expected == schema_of(_struct_with(kind), defaults=False)["properties"]["value"]


def test_names_are_those_of_the_wire() -> None:
    """Renaming by case and by hand is what the codec does too."""
    assert {"firstName", "AWSEfs", "inner"} < schema_of(Outer, defaults=True)["properties"].keys()


def test_only_fields_without_a_default_are_required() -> None:
    """Required is what the decoder could not do without."""
    assert schema_of(Outer, defaults=True)["required"] == ["firstName"]
    assert schema_of(Outer, defaults=True)["properties"]["inner"]["required"] == ["name"]


def test_defaults_that_say_something_are_declared() -> None:
    """Also inside parts that may be absent; empty strings and containers are as good as absent."""
    fields = schema_of(Outer, defaults=True)["properties"]
    declared = {name: field["default"] for name, field in fields.items() if "default" in field}
    assert declared == {"suspend": False, "path": "/", "choice": "A"}
    assert fields["inner"]["properties"]["weight"]["default"] == 1


def test_a_status_gets_no_defaults() -> None:
    """The server must not write into what is ours to say."""
    assert not list(_nodes_with("default", schema_of(JobStatus, defaults=False)))


def test_the_nearest_description_wins() -> None:
    """What is said of the field, else the first paragraph of what is said of its type."""
    fields = schema_of(Outer, defaults=True)["properties"]
    assert fields["told"]["description"] == "Told here."
    assert fields["inner"]["description"] == "An inner part."


def test_rules_of_a_struct_come_along() -> None:
    """Wherever the struct is used."""

    class Ruled(Record, frozen=True):
        """With a rule."""

        a: str = ""
        __rules__: ClassVar[tuple[Rule, ...]] = (Rule("has(self.a)", "say a", field=".a"),)

    assert schema_of(_struct_with(Ruled), defaults=True)["properties"]["value"]["x-kubernetes-validations"] == [
        {"rule": "has(self.a)", "message": "say a", "reason": "FieldValueInvalid", "fieldPath": ".a"}
    ]


def test_opaque_parts_may_declare_what_is_relied_on() -> None:
    """Declared properties are checked and visible to rules; the rest passes."""
    extra = {"required": ["a"], "properties": {"a": {"type": "string"}}}
    kind = _struct_with(Annotated[RawObject, Meta(extra_json_schema=extra)])
    schema = schema_of(kind, defaults=True)["properties"]["value"]
    assert schema == {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **extra}


def test_a_schema_may_be_changed_without_harm() -> None:
    """Rules are attached to it; the declaration that it came from stays as it was."""
    extra: Schema = {"properties": {"a": {"type": "string"}}}
    kind = _struct_with(Annotated[RawObject, Meta(extra_json_schema=extra)])
    schema_of(kind, defaults=True)["properties"]["value"]["properties"]["a"]["maxLength"] = 3
    assert extra == {"properties": {"a": {"type": "string"}}}


def test_conditions_are_merged_by_type() -> None:
    """Two writers of two conditions do not undo each other's."""
    conditions = schema_of(JobStatus, defaults=False)["properties"]["conditions"]
    assert conditions.items() > list_map("type").items()
    assert "type" in conditions["items"]["required"]  # or the API server refuses the definition


@pytest.mark.parametrize("kind", [JobSpec, JobStatus, Outer])
def test_every_node_has_a_type_and_nothing_forbidden(kind: type) -> None:
    """What the API server's own check for structural schemas asks for."""
    schema = schema_of(kind, defaults=True)
    for key in ("$ref", "title", "anyOf", "oneOf", "nullable", "uniqueItems"):
        assert not list(_nodes_with(key, schema))
    for node in _nodes(schema):
        assert "type" in node or "x-kubernetes-int-or-string" in node


class Circle(Record, frozen=True):
    """Contains itself."""

    inner: "Circle | None" = None


class Cat(msgspec.Struct, tag=True):
    """Carries its type's name."""


class Dog(msgspec.Struct, tag=True):
    """So does this."""


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Cat | Dog, "exactly one"),
        (Circle, "Circle is recursive"),
        (Cat, "not encoded as a plain object"),
        (bytes, "BytesType"),
        (Literal[1, 2], "only strings"),
        (Mapping[int, str], "keys of a map"),
        (Annotated[str, Meta(title="A")], "title"),
    ],
)
def test_what_cannot_be_said_is_refused_with_its_place(kind: Any, complaint: str) -> None:  # noqa: ANN401
    """At generation, not by an API server."""
    with pytest.raises(NotStructuralError, match=complaint) as refused:
        schema_of(_struct_with(kind), defaults=True)
    assert "Made.value" in str(refused.value)


def _struct_with(kind: object) -> type:
    return msgspec.defstruct("Made", [("value", kind)])


def _nodes(schema: Schema) -> list[Schema]:
    """The schema and every schema inside it."""
    inside = [*schema.get("properties", {}).values()]
    inside += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    return [schema, *(node for part in inside for node in _nodes(part))]


def _nodes_with(key: str, schema: Schema) -> list[Schema]:
    return [node for node in _nodes(schema) if key in node]
