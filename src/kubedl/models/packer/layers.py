"""Which files share a layer: large ones have one each, small neighbours share one, and there are never too many.

A file alone in its layer is not sent again when another one changes. But containers cannot be started from, or mounted
out of, more than about 127 layers (overlayfs takes so many directories), and a registry is asked about each, so files
are put together in the order of their paths until a layer would become larger than a limit: 4 MiB, or the next double
of it with which there are at most 100 layers. A file above the limit is alone. The result depends on names and sizes
only, so the same files are always put together in the same way.
"""

from collections.abc import Iterable, Sequence
from itertools import count

from kubedl.models.packer.source import Entry

SHARED = 4 << 20
MOST_LAYERS = 100

Group = tuple[Entry, ...]


def grouped(entries: Sequence[Entry], most: int = MOST_LAYERS, shared: int = SHARED) -> list[Group]:
    """The entries of each layer, in order."""
    return next(groups for doublings in count() if len(groups := _limited(entries, shared << doublings)) <= most)


def _limited(entries: Iterable[Entry], limit: int) -> list[Group]:
    groups: list[Group] = []
    current: list[Entry] = []
    size = 0
    for entry in entries:
        cost = entry.size + 512  # even an empty file takes a header
        if current and size + cost > limit:
            groups.append(tuple(current))
            current, size = [], 0
        current.append(entry)
        size += cost
    return [*groups, tuple(current)] if current else groups
