"""Cuts JSON that is nested deeper than the decoder supports, so that the rest can be decoded.

The API server accepts 10,000 levels; recursive decoders give up after some hundreds. One such object must not make a
whole list unreadable.
"""

import re

LEVELS = 200  # a pod template has about 20 levels
CUT = b'"kubedl: nested too deep"'  # replaces the cut part

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{\[]|[}\]]', re.DOTALL)


def truncate_nesting(text: bytes, levels: int = LEVELS) -> bytes:
    """Return the text without the parts that are nested deeper, in linear time."""
    parts, depth, kept = list[bytes](), 0, 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in b"{[":
            depth += 1
            if depth == levels + 1:
                parts += [text[kept : token.start()], CUT]
        elif first in b"}]":
            depth -= 1
            if depth == levels:
                kept = token.end()
    return b"".join([*parts, text[kept:]]) if depth <= levels else b"".join(parts)
