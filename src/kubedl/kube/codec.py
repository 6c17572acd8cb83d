"""JSON encoding and decoding, in one place, so that the library can be replaced.

`RawObject` holds parts that KubeDL passes through (a pod template) as compact JSON, never as a tree of Python objects.
So ten thousand jobs cost no garbage-collector time, and fields that this version does not know are preserved.
"""

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

MalformedError = msgspec.ValidationError
# Invalid JSON, a wrong type, or nested deeper than the interpreter allows.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class RawObject:
    """A JSON object that is passed through without decoding."""

    __slots__ = ("json",)

    def __init__(self, json: bytes) -> None:
        self.json = json

    @classmethod
    def of(cls, value: dict[str, Any]) -> "RawObject":
        """Encode a value."""
        return cls(encode(value))

    def unpack(self) -> dict[str, Any]:
        """Decode into a new object that the caller may modify."""
        value: dict[str, Any] = msgspec.json.decode(self.json)
        return value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawObject) and self.json == other.json

    def __hash__(self) -> int:
        return hash(self.json)

    def __repr__(self) -> str:
        return f"RawObject({self.json!r})"


def encode(value: object) -> bytes:
    """Encode as JSON."""
    return _ENCODER.encode(value)


def decode(data: bytes | str | msgspec.Raw, kind: type[T]) -> T:
    """Decode JSON into `kind`; raises MalformedError with the path of the invalid field."""
    known: msgspec.json.Decoder[T] = _DECODERS.get(kind) or decoder(kind)
    return known.decode(data)


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return a reusable decoder for a type.

    msgspec inspects a type at its first use, and crashes if two threads do so at once: with the lock, one does.
    """
    with _FIRST_USE:
        if kind not in _DECODERS:
            _DECODERS[kind] = msgspec.json.Decoder(kind, dec_hook=_unhook)
        return _DECODERS[kind]


def plain(value: object) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """Convert a value into plain dicts, lists, strings and numbers."""
    return msgspec.json.decode(encode(value))


def _hook(value: object) -> object:
    if isinstance(value, RawObject):
        return msgspec.Raw(value.json)
    raise NotImplementedError(f"{type(value).__name__} cannot be encoded as JSON")


def _unhook(kind: type, value: object) -> object:
    if kind is RawObject:
        if not isinstance(value, dict):
            raise TypeError(f"Expected `object`, got `{type(value).__name__}`")
        return RawObject(msgspec.json.encode(value))
    raise NotImplementedError(f"{kind.__name__} cannot be decoded from JSON")


_ENCODER = msgspec.json.Encoder(enc_hook=_hook)
_FIRST_USE = threading.Lock()
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
