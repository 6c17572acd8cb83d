"""Idempotent writes on behalf of an owner, recorded as expectations.

A create that committed but returned an error is recognised by name and owner uid; objects of other owners are never
adopted. A delete has a uid precondition. A status is written only over the version it was computed from.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from kubedl.kube import codec
from kubedl.kube.client import Client, Propagation
from kubedl.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from kubedl.kube.types.meta import Object, ObjectKey, ObjectT, Resource
from kubedl.runtime.expectations import Expectations

Body = Mapping[str, Any]


class NameConflictError(ApiError):
    """The name is taken by an object of another owner."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(409, "NameTaken", f"{kind} {name} exists and does not belong to this object")


class Stateful(Object, Protocol):
    """An object with a status."""

    @property
    def status(self) -> Any:  # noqa: ANN401 - each kind has its own
        """The status."""


StatefulT = TypeVar("StatefulT", bound=Stateful)


class Writer:
    """Writes the objects of one controller."""

    def __init__(self, client: Client, expectations: Expectations) -> None:
        self.client = client
        self._expectations = expectations

    async def create(self, owner: Object, resource: Resource[ObjectT], body: Body | Callable[[], Body]) -> ObjectT:
        """Create an object controlled by `owner`, or recognise the existing one.

        A body that is a function is called when a connection is available, so that few bodies are in memory at a time.
        """
        key = owner.metadata.key
        try:
            obj = await self.client.create(resource, key.namespace, body)
        except AlreadyExistsError:
            sent = body() if callable(body) else body
            obj = await self.client.get(resource, ObjectKey(key.namespace, sent["metadata"]["name"]))
            if not is_controlled_by(obj, owner):
                raise NameConflictError(resource.kind, obj.metadata.name) from None
        self._expectations.record_write(key, resource, obj.metadata.resource_version)
        return obj

    async def confirm_deleted(
        self, owner: Object, resource: Resource[ObjectT], name: str, label: str = ""
    ) -> ObjectT | None:
        """Verify with the API server that an object missing from the cache is gone; raises ConflictError if it exists.

        A cache may be filtered by label: an object that lost its label never appears in it, and is returned.
        """
        try:
            obj = await self.client.get(resource, ObjectKey(owner.metadata.namespace, name))
        except NotFoundError:
            return None
        if not is_controlled_by(obj, owner):
            return None
        if label and label not in obj.metadata.labels:
            return obj
        self._expectations.record_write(owner.metadata.key, resource, obj.metadata.resource_version)
        raise ConflictError(409, "CacheBehind", f"{resource.kind} {name} exists, but is not in the cache yet")

    async def delete(
        self,
        owner: Object,
        resource: Resource[ObjectT],
        target: ObjectT,
        grace_seconds: int | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        """Delete exactly this object; no error if it is already gone or replaced."""
        meta = target.metadata
        try:
            last = await self.client.delete(resource, meta.key, meta.uid, grace_seconds, propagation)
        except (NotFoundError, ConflictError):
            return
        if last is not None:
            self._expectations.record_write(owner.metadata.key, resource, last.metadata.resource_version)

    async def write_status(self, resource: Resource[StatefulT], target: StatefulT, status: object) -> bool:
        """Write the status of the object if it differs; returns whether it did."""
        changes = merge_patch(codec.plain(target.status), codec.plain(status))
        if changes:
            await self.patch_status(resource, target, changes)
        return bool(changes)

    async def patch_status(self, resource: Resource[ObjectT], target: ObjectT, changes: Mapping[str, Any]) -> ObjectT:
        """Patch the status of exactly this version of the object; raises ConflictError if it changed."""
        return await self.patch(target, resource, target, {"status": changes}, subresource="status")

    async def patch(
        self, owner: Object, resource: Resource[ObjectT], target: ObjectT, changes: Body, *, subresource: str = ""
    ) -> ObjectT:
        """Patch exactly this version of an object that `owner` controls; raises ConflictError if it changed."""
        meta = target.metadata
        guard = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        obj = await self.client.patch(resource, meta.key, {"metadata": guard, **changes}, subresource=subresource)
        self._expectations.record_write(owner.metadata.key, resource, obj.metadata.resource_version)
        return obj

    def expect(self, owner: Object, resource: Resource[Any], version: str) -> None:
        """Plan nothing more for `owner` until the cache of this kind has reached a version that was read or written."""
        self._expectations.record_write(owner.metadata.key, resource, version)


def is_controlled_by(obj: Object, owner: Object) -> bool:
    """Return whether the object is controlled by exactly this owner, not by an earlier one with the same name."""
    reference = obj.metadata.controller
    return reference is not None and reference.uid == owner.metadata.uid


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch from `old` to `new`: removed fields become null, equal ones are omitted."""
    changes: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if deeper := merge_patch(before, value):
                changes[name] = deeper
        elif name not in old or before != value:
            changes[name] = value
    return changes
