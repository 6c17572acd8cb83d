"""Own writes are waited for: nothing is planned for a key until the caches have seen what was last written for it.

Planning from a cache that does not show a pod just made would make it twice; from one that still shows a pod just
deleted it would count its failure twice. It relies on resource versions growing, which Kubernetes promises.
"""

from collections.abc import Mapping
from typing import Any

from kubedl.runtime.store import Store
from kubedl.wire.meta import Key, Resource

Stores = Mapping[Resource[Any], Store[Any]]


class Gate:
    """Remembers the newest write of each key, per kind of object."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._written: dict[Key, dict[Resource[Any], int]] = {}

    def wrote(self, key: Key, resource: Resource[Any], version: str) -> None:
        """For `key`, an object of that kind was written, and the server called the result `version`."""
        if resource in self._stores and version:
            written = self._written.setdefault(key, {})
            written[resource] = max(written.get(resource, 0), int(version))

    def closed(self, key: Key) -> bool:
        """Whether a cache has yet to see something that was written for `key`."""
        written = self._written.get(key)
        if not written:
            return False
        behind = {
            resource: version for resource, version in written.items() if self._stores[resource].version < version
        }
        if behind:
            self._written[key] = behind
            return True
        del self._written[key]
        return False
