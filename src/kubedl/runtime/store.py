"""A copy of the server's objects, found by key, by owner or by index.

Every store knows who controls its objects, by namespace and uid together. An owner reference is text that anybody can
write into his own objects; in another namespace it says nothing.

What is deleted can be remembered for the owner until it says that it has drawn its conclusions: a pod that succeeded
and was collected a moment later must still count.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple

import structlog

from kubedl.wire.meta import Key, Object, ObjectT

Index = Callable[[ObjectT], Hashable | None]
Subscriber = Callable[[ObjectT | None, ObjectT | None], None]

BY_OWNER = "owner"  # the index that every store has
MOST_REMEMBERED = 20_000  # deleted objects, 4 KB each

log = structlog.get_logger()


class OwnerKey(NamedTuple):
    """Who controls an object: one of that uid in the object's own namespace, and nobody elsewhere."""

    namespace: str
    uid: str

    @classmethod
    def itself(cls, made: Object) -> "OwnerKey":
        """As which an object finds what it controls."""
        return cls(made.metadata.namespace, made.metadata.uid)

    @classmethod
    def of(cls, found: Object) -> "OwnerKey | None":
        """Who controls this object."""
        reference = found.metadata.controller
        return cls(found.metadata.namespace, reference.uid) if reference is not None else None


class Store(Generic[ObjectT]):
    """Written by one reflector, read by everybody. Objects are frozen: a reader cannot spoil the copy."""

    def __init__(self, indexes: Mapping[str, Index[ObjectT]] | None = None, remember: str | None = None) -> None:
        """`remember` names the index by whose value deleted objects are kept; BY_OWNER is there without being given."""
        self.version = 0  # everything that the server did up to here is in the store
        self._objects: dict[Key, ObjectT] = {}
        self._indexes: dict[str, Index[ObjectT]] = {BY_OWNER: OwnerKey.of, **(indexes or {})}
        if self._indexes[BY_OWNER] != OwnerKey.of:
            raise ValueError(f"the index {BY_OWNER!r} is the store's own")
        self._found: dict[str, dict[Hashable, dict[Key, ObjectT]]] = {name: defaultdict(dict) for name in self._indexes}
        self._remember = remember
        self._deleted: dict[Hashable, dict[str, ObjectT]] = defaultdict(dict)
        self._remembered: dict[tuple[Hashable, str], None] = {}  # what is deleted, the oldest first
        self._subscribers: list[Subscriber[ObjectT]] = []

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectT]:
        return iter(self._objects.values())

    def get(self, key: Key) -> ObjectT | None:
        """The object of that key."""
        return self._objects.get(key)

    def by(self, index: str, value: Hashable) -> list[ObjectT]:
        """All objects with that value in an index."""
        found = self._found[index].get(value)
        return list(found.values()) if found else []

    def owned_by(self, owner: Object) -> list[ObjectT]:
        """All objects that this one controls."""
        return self.by(BY_OWNER, OwnerKey.itself(owner))

    def deleted(self, value: Hashable) -> list[ObjectT]:
        """What is gone but not yet forgotten, in its last state."""
        found = self._deleted.get(value)
        return list(found.values()) if found else []

    def forget(self, value: Hashable, uids: Iterable[str] | None = None) -> None:
        """The owner has drawn its conclusions from these deleted objects (all, if not named)."""
        found = self._deleted.get(value, {})
        for uid in list(found) if uids is None else uids:
            found.pop(uid, None)
            self._remembered.pop((value, uid), None)
        if not found:
            self._deleted.pop(value, None)

    def subscribe(self, subscriber: Subscriber[ObjectT]) -> None:
        """Be told of each change: the object before and after, None where there is none."""
        self._subscribers.append(subscriber)

    def put(self, new: ObjectT) -> None:
        """The server has this object."""
        key = new.metadata.key
        old = self._objects.get(key)
        if old is not None and old.metadata.uid != new.metadata.uid:
            self.remove(key, old)  # deleted and made again between two looks
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
            self.forget(self._value(self._remember, new), (new.metadata.uid,))  # it was only out of our sight
        self._tell(old, new)

    def remove(self, key: Key, last: ObjectT | None = None) -> None:
        """The server no longer has this object; `last` is its final state, if it is known."""
        old = self._objects.get(key)
        if old is None or (last is not None and last.metadata.uid != old.metadata.uid):
            return
        del self._objects[key]
        for name in self._indexes:
            self._unindex(name, self._value(name, old), key)
        final = last if last is not None else old
        if self._remember is not None and (value := self._value(self._remember, final)) is not None:
            self._keep_deleted(value, final)
        self._tell(final, None)

    def replace(self, objects: Iterable[ObjectT]) -> None:
        """The server has exactly these objects: what is not among them was deleted unseen."""
        present = set()
        for new in objects:
            present.add(new.metadata.key)
            self.put(new)
        for key in self._objects.keys() - present:
            self.remove(key)

    def _keep_deleted(self, value: Hashable, last: ObjectT) -> None:
        """Up to a bound: a standby forgets nothing by itself, since nobody draws conclusions there."""
        self._deleted[value][last.metadata.uid] = last
        self._remembered[value, last.metadata.uid] = None
        if len(self._remembered) > MOST_REMEMBERED:
            oldest, uid = next(iter(self._remembered))
            self.forget(oldest, (uid,))

    def _value(self, index: str, of: ObjectT) -> Hashable | None:
        try:
            return self._indexes[index](of)
        except Exception:  # one strange object must not keep all others out
            log.exception("index failed", index=index, key=str(of.metadata.key))
            return None

    def _unindex(self, name: str, value: Hashable | None, key: Key) -> None:
        if value is None:
            return
        found = self._found[name][value]
        found.pop(key, None)
        if not found:
            del self._found[name][value]

    def _tell(self, old: ObjectT | None, new: ObjectT | None) -> None:
        for subscriber in self._subscribers:
            try:
                subscriber(old, new)
            except Exception:  # the others must hear it all the same: nothing will tell them again
                changed = new if new is not None else old
                log.exception("subscriber failed", key=str(changed.metadata.key) if changed is not None else "")
