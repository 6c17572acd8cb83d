"""A struct as a structural OpenAPI schema, as CustomResourceDefinitions want it.

Whatever our codec writes for a struct is valid under its schema, and whatever the schema lets in can be read. A type
that cannot be said in a structural schema (a union of objects, recursion) is refused here, not by a server later.

Three choices:

- `T | None` is optional, never nullable: absent is the only way to say "not set", so no reader meets a third case.
- Defaults of plain values in a spec are declared: they are stored with the object, so people see what holds, rules may
  read the field without asking whether it is there, and a later version with another default changes no running job.
  Empty strings and containers are not: they say nothing that absence does not. A status gets no defaults; it is ours.
- Objects that are not ours (`RawObject`) keep what we do not know. What we do rely on is declared beside it, by
  `Meta(extra_json_schema={"properties": …})`, and is checked; rules can see only what is declared.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from msgspec import NODEFAULT, inspect

from kubedl.kube.codec import RawObject

Schema = dict[str, Any]
# Not FieldValueDuplicate: kubectl prints that without the message.
Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]

RULES = "__rules__"  # rules of a struct: `__rules__: ClassVar[tuple[Rule, ...]]`
KEEP_UNKNOWN: Schema = {"x-kubernetes-preserve-unknown-fields": True}
NOT_STRUCTURAL = {"$ref", "$defs", "title", "examples", "uniqueItems", "nullable"}
MAX_INT32 = 2**31 - 1  # safe for clients in other languages; as seconds it is still a valid date


class NotStructuralError(TypeError):
    """A type has no structural schema; the message says where, and what to do."""


@dataclass(frozen=True)
class Rule:
    """A CEL rule that every accepted object satisfies. `self` is the value that the rule is attached to."""

    expression: str
    message: str
    field: str = ""  # the field to report, relative to the value: `.suspend`; empty reports the value itself
    at: str = (
        ""  # path of the value that the rule is attached to: `spec.storage`; `*` matches every value of a map or list
    )
    message_expression: str = (
        ""  # CEL expression for a message with values of the object; `message` is used if it fails
    )
    reason: Reason = "FieldValueInvalid"

    def to_schema(self) -> Schema:
        """Render an entry of x-kubernetes-validations."""
        optional = {"messageExpression": self.message_expression, "fieldPath": self.field}
        return {
            "rule": self.expression,
            "message": self.message,
            "reason": self.reason,
            **{key: value for key, value in optional.items() if value},
        }


def list_map(*keys: str) -> Schema:
    """For Meta(extra_json_schema=…): a list with one item per key, merged by key."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def schema_of(kind: type, *, defaults: bool) -> Schema:
    """Return the schema of a type; `defaults` says whether the API server fills in defaults."""
    return _Translation(defaults, kind.__name__, ()).schema(inspect.type_info(kind))


def schema_of_fields(kind: type, *, with_defaults: frozenset[str]) -> dict[str, tuple[Schema, bool]]:
    """Return the schema of each field of a struct by its JSON name, and whether it is required."""
    info = inspect.type_info(kind)
    if not isinstance(info, inspect.StructType):
        raise NotStructuralError(f"{kind.__name__} is not a struct")
    return {
        item.encode_name: (
            _Translation(item.encode_name in with_defaults, f"{kind.__name__}.{item.name}", ()).schema(item.type),
            item.required,
        )
        for item in info.fields
    }


@dataclass(frozen=True)
class _Translation:
    """The position in the schema."""

    defaults: bool
    path: str
    above: tuple[type, ...]

    def schema(self, info: inspect.Type) -> Schema:
        """Return the schema of a type."""
        translate = self._translators().get(type(info))
        if translate is None:
            raise self._refusal(f"{type(info).__name__} has no structural schema")
        return translate(info)

    def _translators(self) -> dict[type, Callable[[Any], Schema]]:
        return {
            inspect.Metadata: self._annotated,
            inspect.StructType: self._struct,
            inspect.UnionType: self._union,
            inspect.LiteralType: self._literal,
            inspect.ListType: self._array,
            inspect.VarTupleType: self._array,
            inspect.DictType: self._map,
            inspect.CustomType: self._custom,
            inspect.IntType: partial(_number, "integer"),
            inspect.FloatType: partial(_number, "number"),
            inspect.StrType: _string,
            inspect.BoolType: lambda _: {"type": "boolean"},
            inspect.DateTimeType: lambda _: {"type": "string", "format": "date-time"},
            inspect.AnyType: lambda _: dict(KEEP_UNKNOWN),
        }

    def _annotated(self, info: inspect.Metadata) -> Schema:
        extra = info.extra_json_schema or {}
        if unfit := NOT_STRUCTURAL & extra.keys():
            raise self._refusal(f"{', '.join(sorted(unfit))} is not allowed in a structural schema")
        return self.schema(info.type) | deepcopy(extra)  # a rule may be attached inside

    def _struct(self, info: inspect.StructType) -> Schema:
        if info.cls in self.above:
            raise self._refusal(f"{info.cls.__name__} is recursive; use RawObject where it repeats")
        if info.array_like or info.tag_field:
            raise self._refusal(f"{info.cls.__name__} is not encoded as a plain object")
        properties = {field.encode_name: self._field(info.cls, field) for field in info.fields}
        schema: Schema = {"type": "object", "properties": properties}
        if required := sorted(field.encode_name for field in info.fields if field.required):
            schema["required"] = required
        if text := info.cls.__dict__.get("__doc__"):
            schema["description"] = " ".join(text.strip().split("\n\n")[0].split())
        if rules := getattr(info.cls, RULES, ()):
            schema["x-kubernetes-validations"] = [rule.to_schema() for rule in rules]
        return schema

    def _field(self, owner: type, field: inspect.Field) -> Schema:
        schema = self._below(f".{field.name}", owner).schema(field.type)
        if self.defaults and _is_worth_declaring(field.default):
            schema["default"] = field.default
        return schema

    def _union(self, info: inspect.UnionType) -> Schema:
        members = [member for member in info.types if not isinstance(member, inspect.NoneType)]
        if len(members) == 1:
            return self.schema(members[0])
        if {type(member) for member in members} == {inspect.IntType, inspect.StrType}:
            return {"x-kubernetes-int-or-string": True}
        raise self._refusal("a union; use optional fields and a rule that exactly one is set")

    def _literal(self, info: inspect.LiteralType) -> Schema:
        if not all(isinstance(value, str) for value in info.values):
            raise self._refusal("only strings can be enumerated")
        return {"type": "string", "enum": sorted(info.values)}

    def _array(self, info: inspect.ListType | inspect.VarTupleType) -> Schema:
        items = self._below("[]").schema(info.item_type)
        bounds = _present(minItems=info.min_length, maxItems=info.max_length)
        return {"type": "array", "items": items, **bounds}

    def _map(self, info: inspect.DictType) -> Schema:
        if not isinstance(info.key_type, inspect.StrType) or _string(info.key_type) != {"type": "string"}:
            raise self._refusal("the keys of a map must be plain strings; validate them with a rule")
        values = self._below("{}").schema(info.value_type)
        bounds = _present(minProperties=info.min_length, maxProperties=info.max_length)
        return {"type": "object", "additionalProperties": values, **bounds}

    def _custom(self, info: inspect.CustomType) -> Schema:
        if info.cls is not RawObject:
            raise self._refusal(f"{info.cls.__name__} is neither a struct nor RawObject")
        return {"type": "object", **KEEP_UNKNOWN}

    def _below(self, step: str, owner: type | None = None) -> "_Translation":
        return _Translation(self.defaults, self.path + step, (*self.above, owner) if owner else self.above)

    def _refusal(self, what: str) -> NotStructuralError:
        return NotStructuralError(f"{self.path}: {what}")


def _number(kind: str, info: inspect.IntType | inspect.FloatType) -> Schema:
    least, most = _first(info.ge, info.gt), _first(info.le, info.lt)
    schema: Schema = {"type": kind}
    if kind == "integer":
        small = least is not None and most is not None and least >= -MAX_INT32 - 1 and most <= MAX_INT32
        schema["format"] = "int32" if small else "int64"
    return {
        **schema,
        **_present(minimum=least, maximum=most, multipleOf=info.multiple_of),
        **({"exclusiveMinimum": True} if info.gt is not None else {}),
        **({"exclusiveMaximum": True} if info.lt is not None else {}),
    }


def _string(info: inspect.StrType) -> Schema:
    bounds = _present(minLength=info.min_length, maxLength=info.max_length, pattern=info.pattern)
    return {"type": "string", **bounds}


def _first(one: float | None, other: float | None) -> float | None:
    return one if one is not None else other


def _present(**values: object) -> Schema:
    return {key: value for key, value in values.items() if value is not None}


def _is_worth_declaring(default: object) -> bool:
    if default is NODEFAULT or not isinstance(default, bool | int | float | str):
        return False
    return default != ""
