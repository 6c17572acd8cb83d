"""Directories of nodes that a CacheBackend may use: those that an administrator allows, and memory.

Fluid's objects are made in the operator's name, and its pods mount what they say. Without this rule whoever may create
a job could read a node's files through a cache, or write to them, past the Pod Security level of his namespace.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from kubedl.api.cache import CacheBackend
from kubedl.cache import fluid

LOCAL = "local://"
MEMORY = "/dev/shm"  # noqa: S108 - a place to cache in, with a quota, and nothing to read


@dataclass(frozen=True)
class HostPaths:
    """Directories below which caches may read (local://) and keep data (cachePath)."""

    allowed: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> "HostPaths":
        """From a list with commas; ValueError for what is no absolute path."""
        paths = [one.strip() for one in text.split(",") if one.strip()]
        for path in paths:
            if not path.startswith("/") or posixpath.normpath(path) == "/":
                raise ValueError(f"{path!r} is no absolute path of a directory below /")
        return cls(frozenset(posixpath.normpath(path) for path in paths))

    def complaint(self, backend: CacheBackend) -> str | None:
        """What a backend may not use, in words for its author and for his administrator."""
        for field, path, further in _paths(backend):
            if not any(_is_below(path, allowed) for allowed in self.allowed | further):
                return (
                    f"{field}: the administrator does not allow {path} on nodes "
                    "(flag --cache-host-paths of the operator, chart value operator.cacheHostPaths)"
                )
        return None


NO_HOST_PATHS = HostPaths()


def _paths(backend: CacheBackend) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Each with the field that names it, and what is allowed there in any case."""
    for source in backend.spec.dataset.data_sources if backend.spec.dataset is not None else ():
        if source.location.lower().startswith(LOCAL):
            yield "spec.dataset.dataSources", source.location[len(LOCAL) :], frozenset()
    chosen = fluid.engine(backend)
    for level in chosen[1].tiered_storage if chosen is not None else ():
        for path in level.cache_path.split(",") if level.cache_path else ():  # Fluid takes several
            yield "tieredStorage.cachePath", path, frozenset({MEMORY})


def _is_below(path: str, directory: str) -> bool:
    """By its text alone: a path that goes up on its way is never below."""
    return ".." not in path.split("/") and f"{posixpath.normpath(path)}/".startswith(f"{directory}/")
