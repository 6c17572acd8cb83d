"""Owner references, by which objects are garbage-collected with their owner."""

from collections.abc import Callable, Iterable
from typing import Any

from kubedl.kube.types.meta import Object, ObjectKey, ObjectT, Resource

KeysOf = Callable[[ObjectT], Iterable[ObjectKey]]


def owner_reference(resource: Resource[ObjectT], owner: ObjectT) -> dict[str, Any]:
    """Return the owner reference that makes this object the controller of another."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controllers_of(kind: str) -> KeysOf[Any]:
    """Return a function that maps an object to the key of its controller, if that is of this kind."""

    def keys(obj: Object) -> Iterable[ObjectKey]:
        reference = obj.metadata.controller
        if reference is not None and reference.kind == kind:
            yield ObjectKey(obj.metadata.namespace, reference.name)

    return keys
