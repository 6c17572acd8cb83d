"""A viewer's place in the stream: which process, which change, and what the viewer could see then. Pure.

What could be seen is part of it because a list and the changes after it belong together only while rights are the same:
with more rights, rows are missing that did not change; with fewer, rows are left over.
"""

from typing import NamedTuple

from kubedl.kube.bounded_regex import BoundedPattern

_FORM = BoundedPattern(r"([0-9a-f]{1,32})-([0-9]{1,18})-([0-9a-f]{1,32})", 84)


class Cursor(NamedTuple):
    """The id of an event of the stream."""

    epoch: str
    position: int
    view: str

    def __str__(self) -> str:
        return f"{self.epoch}-{self.position}-{self.view}"


def parse(text: str) -> Cursor | None:
    """Return the cursor in a text from a browser; None if it is not one."""
    found = _FORM.fullmatch(text)
    return Cursor(found[1], int(found[2]), found[3]) if found is not None else None
