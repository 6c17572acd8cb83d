"""JSON in and out, in one place, so that the library behind it can be replaced.

`Opaque` is for parts that belong to others (a pod template): kept as compact JSON, never as a tree of Python objects.
Ten thousand jobs then cost no garbage-collector time, and a field newer than this code is not lost.
"""

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

MalformedError = msgspec.ValidationError
# Not JSON, not of the type asked for, or nested deeper than the interpreter goes.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Opaque:
    """A JSON object that we carry without looking inside."""

    __slots__ = ("json",)

    def __init__(self, json: bytes) -> None:
        self.json = json

    @classmethod
    def of(cls, value: dict[str, Any]) -> "Opaque":
        """Pack a value."""
        return cls(encode(value))

    def unpack(self) -> dict[str, Any]:
        """A fresh copy, which the caller may change."""
        value: dict[str, Any] = msgspec.json.decode(self.json)
        return value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.json == other.json

    def __hash__(self) -> int:
        return hash(self.json)

    def __repr__(self) -> str:
        return f"Opaque({self.json!r})"


def encode(value: object) -> bytes:
    """To JSON."""
    return _ENCODER.encode(value)


def decode(data: bytes | str | msgspec.Raw, kind: type[T]) -> T:
    """From JSON into `kind`; raises MalformedError with the path of the field that does not fit."""
    return msgspec.json.decode(data, type=kind, dec_hook=_unhook)


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """A reusable decoder for a type that comes often."""
    return msgspec.json.Decoder(kind, dec_hook=_unhook)


def plain(value: object) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """What the value looks like as JSON: dicts, lists, strings and numbers."""
    return msgspec.json.decode(encode(value))


def _hook(value: object) -> object:
    if isinstance(value, Opaque):
        return msgspec.Raw(value.json)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def _unhook(kind: type, value: object) -> object:
    if kind is Opaque:
        if not isinstance(value, dict):
            raise TypeError(f"Expected `object`, got `{type(value).__name__}`")
        return Opaque(msgspec.json.encode(value))
    raise NotImplementedError(f"{kind.__name__} cannot be read from JSON")


_ENCODER = msgspec.json.Encoder(enc_hook=_hook)
