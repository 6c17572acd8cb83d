"""Node directories that a CacheBackend may use: those that the administrator allows, and memory.

The operator creates Fluid's objects, and Fluid's pods mount the paths in them. Without this check, a user who may
create jobs could read or write files of a node through a cache, bypassing the Pod Security level of the namespace.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from kubedl.api.cachebackend import CacheBackend
from kubedl.datasets import fluid_objects

LOCAL = "local://"
MEMORY = "/dev/shm"  # noqa: S108 - a place to cache in, with a quota, and nothing to read


@dataclass(frozen=True)
class HostPaths:
    """Directories below which caches may read (local://) and store data (cachePath)."""

    allowed: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> "HostPaths":
        """Parse a comma-separated list; raises ValueError for a path that is not absolute."""
        paths = [one.strip() for one in text.split(",") if one.strip()]
        for path in paths:
            if not path.startswith("/") or posixpath.normpath(path) == "/":
                raise ValueError(f"{path!r} is not an absolute path of a directory below /")
        return cls(frozenset(posixpath.normpath(path) for path in paths))

    def validate(self, backend: CacheBackend) -> str | None:
        """Return why a CacheBackend may not use its paths, as a message for its author and the administrator."""
        for field, path, further in _paths(backend):
            if not any(_is_below(path, allowed) for allowed in self.allowed | further):
                return (
                    f"{field}: the administrator does not allow {path} on nodes "
                    "(flag --cache-host-paths of the operator, chart value operator.cacheHostPaths)"
                )
        return None


NO_HOST_PATHS = HostPaths()


def _paths(backend: CacheBackend) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield each path with its field and the directories that are always allowed there."""
    for source in backend.spec.dataset.data_sources if backend.spec.dataset is not None else ():
        if source.location.lower().startswith(LOCAL):
            yield "spec.dataset.dataSources", source.location[len(LOCAL) :], frozenset()
    chosen = fluid_objects.engine(backend)
    for level in chosen[1].tiered_storage if chosen is not None else ():
        for path in level.cache_path.split(",") if level.cache_path else ():  # Fluid accepts several
            yield "tieredStorage.cachePath", path, frozenset({MEMORY})


def _is_below(path: str, directory: str) -> bool:
    """Compare by text only: a path with .. is never below a directory."""
    return ".." not in path.split("/") and f"{posixpath.normpath(path)}/".startswith(f"{directory}/")
