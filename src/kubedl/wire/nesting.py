"""JSON that is nested deeper than a decoder goes: what lies too deep is cut out, so that the rest can be read.

The API server takes 10,000 levels, and decoders that recurse give up after some hundreds. Whoever reads many objects in
one text, such as a list, must not lose all of them because of one.
"""

import re

LEVELS = 200  # a pod template has about 20
CUT = b'"kubedl: nested too deep"'  # in the place of what was cut out

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{\[]|[}\]]', re.DOTALL)


def cut(text: bytes, levels: int = LEVELS) -> bytes:
    """The text without what is nested deeper. Its cost is in proportion to the text, however deep that is."""
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
