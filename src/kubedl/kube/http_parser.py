"""Answers of HTTP/1.1 taken apart, without I/O: how one begins, and which of the bytes that arrive are its body.

Whatever two readers could understand differently is refused: where an answer ends decides to whom the next one belongs.
tests/unit/kube/test_http_fuzz.py holds it against h11; what is refused here and not there is in
harness/experiments/http_fuzz.py.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

LARGEST_HEAD = 256 << 10  # bytes of headers, of trailers, or of a line with a size, before they count as endless

# None can backtrack: every quantifier is possessive, and so the time that a match takes grows with the text alone.
_TEXT = rb"[^\x00\n\r\f\v]*+"
_FIELD = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]++:" + _TEXT
_HEAD = re.compile(rb"HTTP/1\.1 ([1-9][0-9]{2})(?: " + _TEXT + rb")?+((?:\r\n" + _FIELD + rb")*+)")
_TRAILERS = re.compile(_FIELD + rb"(?:\r\n" + _FIELD + rb")*+")
_SIZE = rb"([0-9A-Fa-f]{1,20}+)(?:;[^\r\n]*+)?+[ \t]*+\r\n"
_FIRST_PIECE, _NEXT_PIECE = re.compile(_SIZE), re.compile(rb"\r\n" + _SIZE)
MOST_DIGITS = 20  # of a length


class ConnectionBrokenError(ConnectionError):
    """A connection that ended too early, or that does not speak HTTP."""


class Head(NamedTuple):
    """How an answer begins. Names of headers are in lower case; one that comes twice has both values."""

    status: int
    headers: Mapping[bytes, bytes]

    @property
    def is_last(self) -> bool:
        """Whether the server ends the connection after this answer."""
        said = self.headers.get(b"connection")
        return said is not None and b"close" in [word.strip() for word in said.lower().split(b",")]


def parse_head(data: bytes) -> Head:
    """From the first line to the empty one, without that."""
    matched = _HEAD.fullmatch(data)  # one look at all of it takes half as long as one at each line
    if matched is None:
        raise ConnectionBrokenError(f"the server does not speak HTTP/1.1: {data[:60]!r}")
    status = int(matched[1])
    if status == 101:
        raise ConnectionBrokenError("the server goes over to another protocol, and nobody asked it to")
    return Head(status, _fields(data[matched.start(2) + 2 :]) if matched[2] else {})


class Body:
    """How much of what arrives belongs to an answer: a size that was announced, or pieces until an empty one.

    A piece is its size in hexadecimal, a line end, its bytes and a line end. Trailers may follow the last one.
    """

    def __init__(self, size: int | None) -> None:
        self._left = size or 0  # of all, or of this piece
        self._last = size is not None
        self._begun = False  # a piece, whose line end is to come
        self.complete = size == 0

    @classmethod
    def announced(cls, head: Head) -> "Body":
        """As the headers say."""
        in_pieces, length = _in_pieces(head.headers), _length(head.headers)
        if head.status in {204, 304}:
            return cls(0)  # whatever else its headers say, which is about another answer
        if not in_pieces and length is None:
            raise ConnectionBrokenError("the server does not say how long its answer is")
        return cls(None if in_pieces else length)

    def take(self, arrived: bytearray) -> bytes:
        """Remove from what has arrived all that belongs to the answer."""
        parts = []
        while not self.complete:
            parts.append(bytes(arrived[: self._left]))
            del arrived[: len(parts[-1])]
            self._left -= len(parts[-1])
            if self._left or not (self._last or self._next_piece(arrived)):
                break
            self.complete = self._last and not self._left
        return b"".join(parts)

    def _next_piece(self, arrived: bytearray) -> bool:
        """Read the size of the next piece, if all of that line is here; of the last one, also all that follows."""
        matched = (_NEXT_PIECE if self._begun else _FIRST_PIECE).match(arrived)
        if matched is None:
            if arrived.find(b"\r\n", 2 if self._begun else 0) >= 0 or len(arrived) > LARGEST_HEAD:
                raise ConnectionBrokenError(f"the server's answer is not in pieces: {bytes(arrived[:60])!r}")
            return False
        size, end = int(matched[1], 16), matched.end()
        if not size:
            end = _end_of_trailers(arrived, end)
            if not end:
                return False
        del arrived[:end]
        self._left, self._last, self._begun = size, size == 0, True
        return True


def _fields(lines: bytes) -> dict[bytes, bytes]:
    """Of headers or trailers, whose form is right."""
    fields: dict[bytes, bytes] = {}
    for line in lines.split(b"\r\n"):
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        fields[name] = b"%b, %b" % (fields[name], value) if name in fields else value
    return fields


def _in_pieces(fields: Mapping[bytes, bytes]) -> bool:
    coding = fields.get(b"transfer-encoding")
    if coding is not None and coding.lower() != b"chunked":
        raise ConnectionBrokenError(f"the server's answer is encoded as {coding[:60]!r}")
    return coding is not None


def _length(fields: Mapping[bytes, bytes]) -> int | None:
    """What the header says. It may come twice, or be a list, of one and the same number."""
    said = fields.get(b"content-length")
    if said is None:
        return None
    numbers = {said} if said.isdigit() else {one.strip() for one in said.split(b",")}
    number = numbers.pop()
    if numbers or not number.isdigit() or len(number) > MOST_DIGITS:
        raise ConnectionBrokenError(f"the server's answer has no length that can be read: {said[:60]!r}")
    return int(number)


def _end_of_trailers(arrived: bytearray, begin: int) -> int:
    """Behind the empty line that ends them; 0 while it has not arrived.

    Nobody asks for trailers. They cannot change how long an answer is, but one that tries to is not to be trusted.
    """
    if arrived.startswith(b"\r\n", begin):
        return begin + 2
    end = arrived.find(b"\r\n\r\n", begin)
    if end < 0:
        if len(arrived) - begin > LARGEST_HEAD:
            raise ConnectionBrokenError("the server's trailers do not end")
        return 0
    if _TRAILERS.fullmatch(arrived, begin, end) is None:
        raise ConnectionBrokenError(f"the server's trailers are none: {bytes(arrived[begin : begin + 60])!r}")
    fields = _fields(bytes(arrived[begin:end]))
    _in_pieces(fields)
    _length(fields)
    return end + 4
