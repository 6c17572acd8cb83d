"""Writes on behalf of an owner, each of them safe to repeat and entered in the gate.

A create that committed but was answered with an error is recognised by its name and its owner's uid; an object that
belongs to somebody else is never adopted. A delete names the uid. A status is written only over the state it was
computed from.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kubedl.kube.client import Client
from kubedl.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from kubedl.runtime.gate import Gate
from kubedl.wire.meta import Key, Object, ObjectT, Resource

Body = Mapping[str, Any]


class OccupiedError(ApiError):
    """The name we need is taken by an object that is not ours."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(409, "NameTaken", f"{kind} {name} exists and does not belong to this object")


class Writer:
    """Writes for one controller's objects."""

    def __init__(self, client: Client, gate: Gate) -> None:
        self.client = client
        self._gate = gate

    async def create(self, owner: Object, resource: Resource[ObjectT], body: Body | Callable[[], Body]) -> ObjectT:
        """Make an object that belongs to `owner`, or recognise it when it is there already.

        A body that is a function is asked for when the call has its connection, so that few are in memory at a time.
        """
        key = owner.metadata.key
        try:
            made = await self.client.create(resource, key.namespace, body)
        except AlreadyExistsError:
            sent = body() if callable(body) else body
            made = await self.client.get(resource, Key(key.namespace, sent["metadata"]["name"]))
            if not belongs(made, owner):
                raise OccupiedError(resource.kind, made.metadata.name) from None
        self._gate.wrote(key, resource, made.metadata.resource_version)
        return made

    async def expect_absent(
        self, owner: Object, resource: Resource[ObjectT], name: str, label: str = ""
    ) -> ObjectT | None:
        """Ask the server itself whether the owner's object, which no cache has, is gone; ConflictError if it is not.

        Caches may hold only what has a label: an object that has lost it will never be seen, and is returned.
        """
        try:
            found = await self.client.get(resource, Key(owner.metadata.namespace, name))
        except NotFoundError:
            return None
        if not belongs(found, owner):
            return None
        if label and label not in found.metadata.labels:
            return found
        self._gate.wrote(owner.metadata.key, resource, found.metadata.resource_version)
        raise ConflictError(409, "CacheBehind", f"{resource.kind} {name} exists, and the cache has yet to see it")

    async def delete(
        self, owner: Object, resource: Resource[ObjectT], target: ObjectT, grace_seconds: int | None = None
    ) -> None:
        """Delete exactly this object; if it is gone or replaced already, all is well."""
        try:
            last = await self.client.delete(resource, target.metadata.key, target.metadata.uid, grace_seconds)
        except (NotFoundError, ConflictError):
            return
        if last is not None:
            self._gate.wrote(owner.metadata.key, resource, last.metadata.resource_version)

    async def patch_status(self, resource: Resource[ObjectT], target: ObjectT, changes: Mapping[str, Any]) -> ObjectT:
        """Change the status of exactly this state of exactly this object; ConflictError if it is another by now."""
        meta = target.metadata
        guard = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        made = await self.client.patch(resource, meta.key, {"metadata": guard, "status": changes}, subresource="status")
        self._gate.wrote(meta.key, resource, made.metadata.resource_version)
        return made


def belongs(found: Object, owner: Object) -> bool:
    """Whether it was made for this very owner, and not for an earlier one of its name."""
    reference = found.metadata.controller
    return reference is not None and reference.uid == owner.metadata.uid


def merge_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that turns `old` into `new`: what is gone becomes null, what is equal is left out."""
    changes: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if deeper := merge_changes(before, value):
                changes[name] = deeper
        elif name not in old or before != value:
            changes[name] = value
    return changes
