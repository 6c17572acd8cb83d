"""Expectations: a key is not planned again until the caches show what was last written for it.

A stale cache that lacks a new pod would lead to a second one; one that still has a deleted pod would count its failure
twice. This relies on increasing resource versions, which Kubernetes guarantees.
"""

from collections.abc import Mapping
from typing import Any

from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.store import Store

Stores = Mapping[Resource[Any], Store[Any]]


class Expectations:
    """Records the newest write per key and resource."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._written: dict[ObjectKey, dict[Resource[Any], int]] = {}

    def record_write(self, key: ObjectKey, resource: Resource[Any], version: str) -> None:
        """Record that an object was written for `key`; `version` is the resulting resource version."""
        if resource in self._stores and version:
            written = self._written.setdefault(key, {})
            written[resource] = max(written.get(resource, 0), int(version))

    def pending(self, key: ObjectKey) -> bool:
        """Return whether a cache has yet to show a write for `key`."""
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
