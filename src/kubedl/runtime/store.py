"""An informer cache with lookups by key, by owner or by index.

Every store indexes objects by their controller, by namespace and uid together: a user can write any owner reference
into an object, so one from another namespace must not count.

Deleted objects can be kept as tombstones until their owner has processed them: a pod that succeeded and was
garbage-collected a moment later must still count.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple

import structlog

from kubedl.kube.types.meta import Object, ObjectKey, ObjectT

Index = Callable[[ObjectT], Hashable | None]
Subscriber = Callable[[ObjectT | None, ObjectT | None], None]

BY_OWNER = "owner"  # the index that every store has
MOST_REMEMBERED = 20_000  # tombstones, 4 KB each

log = structlog.get_logger()


class OwnerKey(NamedTuple):
    """The controller of an object: its uid, in the object's own namespace."""

    namespace: str
    uid: str

    @classmethod
    def of_owner(cls, obj: Object) -> "OwnerKey":
        """Return the key under which the objects of an owner are indexed."""
        return cls(obj.metadata.namespace, obj.metadata.uid)

    @classmethod
    def of_controller(cls, obj: Object) -> "OwnerKey | None":
        """Return the controller of this object."""
        reference = obj.metadata.controller
        return cls(obj.metadata.namespace, reference.uid) if reference is not None else None


class Store(Generic[ObjectT]):
    """Written by one reflector, read by all controllers. Objects are frozen, so readers cannot modify the cache."""

    def __init__(self, indexes: Mapping[str, Index[ObjectT]] | None = None, remember: str | None = None) -> None:
        """`remember` names the index by which tombstones are kept; BY_OWNER always exists."""
        self.version = 0  # all events up to this resource version are applied
        self._objects: dict[ObjectKey, ObjectT] = {}
        self._indexes: dict[str, Index[ObjectT]] = {BY_OWNER: OwnerKey.of_controller, **(indexes or {})}
        if self._indexes[BY_OWNER] != OwnerKey.of_controller:
            raise ValueError(f"the index {BY_OWNER!r} is built in")
        self._found: dict[str, dict[Hashable, dict[ObjectKey, ObjectT]]] = {
            name: defaultdict(dict) for name in self._indexes
        }
        self._remember = remember
        self._deleted: dict[Hashable, dict[str, ObjectT]] = defaultdict(dict)
        self._remembered: dict[tuple[Hashable, str], None] = {}  # tombstones, oldest first
        self._subscribers: dict[str, list[Subscriber[ObjectT]]] = {}  # by the kind of owner; "" for all objects

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectT]:
        return iter(self._objects.values())

    def get(self, key: ObjectKey) -> ObjectT | None:
        """Return the object with this key."""
        return self._objects.get(key)

    def by_index(self, index: str, value: Hashable) -> list[ObjectT]:
        """Return all objects with this value in an index."""
        found = self._found[index].get(value)
        return list(found.values()) if found else []

    def owned_by(self, owner: Object) -> list[ObjectT]:
        """Return all objects that this owner controls."""
        return self.by_index(BY_OWNER, OwnerKey.of_owner(owner))

    def tombstones(self, value: Hashable) -> list[ObjectT]:
        """Return the last states of deleted objects that are not dropped yet."""
        found = self._deleted.get(value)
        return list(found.values()) if found else []

    def drop_tombstones(self, value: Hashable, uids: Iterable[str] | None = None) -> None:
        """Drop tombstones (all, if none are named) after the owner has processed them."""
        found = self._deleted.get(value, {})
        for uid in list(found) if uids is None else uids:
            found.pop(uid, None)
            self._remembered.pop((value, uid), None)
        if not found:
            self._deleted.pop(value, None)

    def subscribe(self, subscriber: Subscriber[ObjectT], owner: str = "") -> None:
        """Call `subscriber` on each change with the old and the new object, None if there is none.

        With `owner`, only for objects whose controller is of this kind: one informer serves the controllers of many.
        """
        self._subscribers.setdefault(owner, []).append(subscriber)

    def put(self, new: ObjectT) -> None:
        """Add or update an object."""
        key = new.metadata.key
        old = self._objects.get(key)
        if old is not None and old.metadata.uid != new.metadata.uid:
            self.remove(key, old)  # deleted and recreated between two events
            old = None
        if old is not None and old.metadata.resource_version == new.metadata.resource_version:
            return
        self._objects[key] = new
        for name in self._indexes:
            value = self._value(name, new)
            if old is not None and (before := self._value(name, old)) != value:
                self._unindex(name, before, key)
            if value is not None:
                self._found[name][value][key] = new
        if old is None and self._remember is not None:
            self.drop_tombstones(self._value(self._remember, new), (new.metadata.uid,))  # it had only left the scope
        self._notify(old, new)

    def remove(self, key: ObjectKey, last: ObjectT | None = None) -> None:
        """Remove an object; `last` is its final state, if known."""
        old = self._objects.get(key)
        if old is None or (last is not None and last.metadata.uid != old.metadata.uid):
            return
        del self._objects[key]
        for name in self._indexes:
            self._unindex(name, self._value(name, old), key)
        final = last if last is not None else old
        if self._remember is not None and (value := self._value(self._remember, final)) is not None:
            self._keep_deleted(value, final)
        self._notify(final, None)

    def replace(self, objects: Iterable[ObjectT]) -> None:
        """Replace the content: objects that are missing were deleted while the watch was down."""
        present = set()
        for new in objects:
            present.add(new.metadata.key)
            self.put(new)
        for key in self._objects.keys() - present:
            self.remove(key)

    def _keep_deleted(self, value: Hashable, last: ObjectT) -> None:
        """Limit the tombstones: on a standby no controller drops them."""
        self._deleted[value][last.metadata.uid] = last
        self._remembered[value, last.metadata.uid] = None
        if len(self._remembered) > MOST_REMEMBERED:
            oldest, uid = next(iter(self._remembered))
            self.drop_tombstones(oldest, (uid,))

    def _value(self, index: str, of: ObjectT) -> Hashable | None:
        try:
            return self._indexes[index](of)
        except Exception:  # one malformed object must not block the others
            log.exception("index failed", index=index, key=str(of.metadata.key))
            return None

    def _unindex(self, name: str, value: Hashable | None, key: ObjectKey) -> None:
        if value is None:
            return
        found = self._found[name][value]
        found.pop(key, None)
        if not found:
            del self._found[name][value]

    def _notify(self, old: ObjectT | None, new: ObjectT | None) -> None:
        owners = [found.metadata.controller for found in (new, old) if found is not None]
        for kind in dict.fromkeys(["", *(owner.kind for owner in owners if owner is not None)]):
            for subscriber in self._subscribers.get(kind, ()):
                try:
                    subscriber(old, new)
                except Exception:  # the others must be called anyway: this change is not sent again
                    changed = new if new is not None else old
                    log.exception("subscriber failed", key=str(changed.metadata.key) if changed is not None else "")
