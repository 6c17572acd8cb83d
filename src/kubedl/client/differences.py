"""What differs between two states of an object, field by field. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KEYS = ("name", "mountPath", "key")  # by which items of a list are told apart, the first that all of them have
_COMPARED = ("spec",)
_OF_METADATA = ("labels", "annotations")
NOTHING = object()


@dataclass(frozen=True)
class Difference:
    """A field with its values; `NOTHING` where there is none."""

    field: str
    before: object
    after: object


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Return what differs in the spec, in labels and in annotations."""
    found: list[Difference] = []
    for part in _COMPARED:
        found += _compare(part, before.get(part) or {}, after.get(part) or {})
    for part in _OF_METADATA:
        old, new = (one.get("metadata", {}).get(part) or {} for one in (before, after))
        found += _compare(f"metadata.{part}", old, new)
    return found


def _compare(field: str, before: object, after: object) -> Iterator[Difference]:
    if before == after:
        return
    old, new = _parts(before), _parts(after)
    if old is None or new is None or (old.keys().isdisjoint(new) and isinstance(before, Sequence)):
        yield Difference(field, before, after)
        return
    is_list = isinstance(before, Sequence)
    for name in dict.fromkeys([*old, *new]):
        place = f"{field}[{name}]" if is_list else f"{field}.{name}"
        yield from _compare(place, old.get(name, NOTHING), new.get(name, NOTHING))


def _parts(value: object) -> Mapping[str, Any] | None:
    """Return the fields of an object, or the items of a list by name; None of anything else."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        for key in KEYS:
            if all(isinstance(one, Mapping) and key in one for one in value):
                return {str(one[key]): one for one in value}
    return None
