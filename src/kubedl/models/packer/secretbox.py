"""NaCl's secretbox (XSalsa20 and Poly1305), opened: what cosign keeps its keys in, and `cryptography` does not know.

Only opening is here, and only for something as short as a key: in Python it is slow. The message is looked at after
Poly1305 has confirmed it.
"""

import struct
from collections.abc import Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.poly1305 import Poly1305

KEY, NONCE, TAG = 32, 24, 16
_BLOCK = 64
_WORD = 0xFFFFFFFF
_CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")
_COLUMNS = ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11))
_ROWS = ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14))


class NotOpenedError(Exception):
    """The key is another, or somebody has changed the box."""


def opened(box: bytes, nonce: bytes, key: bytes) -> bytes:
    """The message in a box."""
    if len(key) != KEY or len(nonce) != NONCE or len(box) < TAG:
        raise NotOpenedError
    tag, hidden = box[:TAG], box[TAG:]
    stream = _stream(_subkey(key, nonce[:16]), nonce[16:], KEY + len(hidden))
    try:
        Poly1305.verify_tag(stream[:KEY], hidden, tag)
    except InvalidSignature:
        raise NotOpenedError from None
    return bytes(left ^ right for left, right in zip(hidden, stream[KEY:], strict=True))


def _subkey(key: bytes, nonce: bytes) -> bytes:
    """HSalsa20: the words of the last state that no input was in."""
    mixed = _mixed(_state(key, nonce))
    return struct.pack("<8I", *(mixed[place] for place in (0, 5, 10, 15, 6, 7, 8, 9)))


def _stream(key: bytes, nonce: bytes, size: int) -> bytes:
    """Salsa20's key stream."""
    stream = b""
    for number in range(-(-size // _BLOCK)):
        state = _state(key, nonce + struct.pack("<Q", number))
        added = ((before + after) & _WORD for before, after in zip(state, _mixed(state), strict=True))
        stream += struct.pack("<16I", *added)
    return stream[:size]


def _state(key: bytes, middle: bytes) -> list[int]:
    first, last, inner = (struct.unpack("<4I", part) for part in (key[:16], key[16:], middle))
    one, two, three, four = _CONSTANTS
    return [one, *first, two, *inner, three, *last, four]


def _mixed(state: Sequence[int]) -> list[int]:
    words = list(state)
    for _ in range(10):
        for quarter in (*_COLUMNS, *_ROWS):
            _mix(words, *quarter)
    return words


def _mix(words: list[int], first: int, second: int, third: int, fourth: int) -> None:
    for target, left, right, by in (
        (second, first, fourth, 7),
        (third, second, first, 9),
        (fourth, third, second, 13),
        (first, fourth, third, 18),
    ):
        total = (words[left] + words[right]) & _WORD
        words[target] ^= ((total << by) | (total >> (32 - by))) & _WORD
