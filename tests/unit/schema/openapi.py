"""A small judge of OpenAPI schemas, and values that msgspec's types allow, for tests of both against each other."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from kubedl.kube.codec import RawObject
from kubedl.schema.structural import Schema

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


def _is_moment(value: str) -> bool:
    try:
        datetime.fromisoformat(value.upper())
    except ValueError:
        return False
    return True


FORMATS: dict[str, Callable[[Any], object]] = {
    "date-time": _is_moment,
    "int32": lambda value: -(2**31) <= value < 2**31,
    "int64": lambda value: -(2**63) <= value < 2**63,
}


def complaints(schema: Schema, value: object, path: str = "") -> list[str]:
    """What an API server would have against the value; an object's unknown fields too, since it would drop them."""
    if "type" not in schema:
        return []
    if not isinstance(value, TYPES[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return [f"{path}: {value!r} is no {schema['type']}"]
    found = [f"{path}: {value!r} breaks {rule} {schema[rule]!r}" for rule in CHECKS if _breaks(schema, rule, value)]
    if isinstance(value, dict):
        found += _inside_object(schema, value, path)
    if isinstance(value, list):
        found += [
            line for index, item in enumerate(value) for line in complaints(schema["items"], item, f"{path}[{index}]")
        ]
    return found


CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "enum": lambda allowed, value: value in allowed,
    "minimum": lambda least, value: value >= least,
    "maximum": lambda most, value: value <= most,
    "minLength": lambda least, value: len(value) >= least,
    "maxLength": lambda most, value: len(value) <= most,
    "minItems": lambda least, value: len(value) >= least,
    "maxItems": lambda most, value: len(value) <= most,
    "minProperties": lambda least, value: len(value) >= least,
    "maxProperties": lambda most, value: len(value) <= most,
    "required": lambda names, value: set(names) <= value.keys(),
    "pattern": lambda pattern, value: re.search(pattern, value) is not None,
    "format": lambda name, value: bool(FORMATS[name](value)),
}


def _breaks(schema: Schema, rule: str, value: object) -> bool:
    return rule in schema and not CHECKS[rule](schema[rule], value)


def _inside_object(schema: Schema, value: dict[str, object], path: str) -> list[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    found: list[str] = []
    for name, part in value.items():
        inner = known.get(name, others)
        if inner is not None:
            found += complaints(inner, part, f"{path}.{name}")
        elif not schema.get("x-kubernetes-preserve-unknown-fields"):
            found.append(f"{path}.{name}: unknown, so the API server drops it")
    return found


def values_of(info: inspect.Type) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - a case each
    """Every value that the decoder of this type could give."""
    match info:
        case inspect.Metadata(type=inner):
            return values_of(inner)
        case inspect.StructType(cls=cls, fields=fields):
            required = {field.name: values_of(field.type) for field in fields if field.required}
            optional = {field.name: values_of(field.type) for field in fields if not field.required}
            return st.fixed_dictionaries(required, optional=optional).map(lambda given: cls(**given))
        case inspect.UnionType(types=types):
            return st.one_of([values_of(member) for member in types])
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.VarTupleType(item_type=item, min_length=least, max_length=most):
            return st.lists(values_of(item), min_size=least or 0, max_size=min(most or 3, 3)).map(tuple)
        case inspect.DictType(value_type=item, min_length=least, max_length=most):
            return st.dictionaries(
                st.text(max_size=5), values_of(item), min_size=least or 0, max_size=min(most or 3, 3)
            )
        case inspect.CustomType(cls=cls) if cls is RawObject:
            return pod_templates()
        case inspect.IntType(ge=least, le=most):
            return st.integers(
                int(least) if least is not None else -(2**63), int(most) if most is not None else 2**63 - 1
            )
        case inspect.StrType(min_length=least, max_length=most):
            return st.text(min_size=least or 0, max_size=min(most or 20, 20))
        case _:
            return SIMPLE[type(info)]


SIMPLE: dict[type, st.SearchStrategy[Any]] = {
    inspect.NoneType: st.none(),
    inspect.BoolType: st.booleans(),
    inspect.DateTimeType: st.datetimes(
        min_value=datetime(1000, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
        max_value=datetime(2999, 12, 31),  # noqa: DTZ001 - as above
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=2))]),
    ),
}


def pod_templates() -> st.SearchStrategy[RawObject]:
    """Templates with what must be there, and with fields that our schema has never heard of."""
    containers = st.lists(
        st.fixed_dictionaries(
            {"name": st.text(min_size=1, max_size=63)},
            optional={"image": st.text(), "env": st.lists(st.fixed_dictionaries({"name": st.text()}), max_size=2)},
        ),
        min_size=1,
        max_size=3,
    )
    spec = st.fixed_dictionaries({"containers": containers}, optional={"nodeName": st.text(), "new": st.integers()})
    labels = st.dictionaries(st.text(), st.text(), max_size=2)
    metadata = st.fixed_dictionaries({}, optional={"labels": labels})
    return st.fixed_dictionaries({"spec": spec}, optional={"metadata": metadata}).map(RawObject.of)
