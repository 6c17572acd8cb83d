"""Assigns files to layers: large files get one each, small neighbours share one, and the number of layers is limited.

A file with a layer of its own is not uploaded again when another file changes. But overlayfs supports about 127 layers,
and each layer costs a registry request. So files are grouped in path order up to a size limit: 4 MiB, doubled until
there are at most 100 layers. A file above the limit has its own layer. The result depends on names and sizes only, so
the same files always give the same layers.
"""

from collections.abc import Iterable, Sequence
from itertools import count

from kubedl.models.packer.model_files import FileEntry

SHARED = 4 << 20
MOST_LAYERS = 100

Group = tuple[FileEntry, ...]


def grouped(entries: Sequence[FileEntry], most: int = MOST_LAYERS, shared: int = SHARED) -> list[Group]:
    """Return the entries of each layer, in order."""
    return next(groups for doublings in count() if len(groups := _limited(entries, shared << doublings)) <= most)


def _limited(entries: Iterable[FileEntry], limit: int) -> list[Group]:
    groups: list[Group] = []
    current: list[FileEntry] = []
    size = 0
    for entry in entries:
        cost = entry.size + 512  # even an empty file has a header
        if current and size + cost > limit:
            groups.append(tuple(current))
            current, size = [], 0
        current.append(entry)
        size += cost
    return [*groups, tuple(current)] if current else groups
