"""The store of a reflector that reports objects instead of keeping them.

Of each object it keeps name, uid and version: enough for the reflector to tell what is new, and 0.5 KB instead of 4.
"""

from collections.abc import Callable
from typing import Any

from kubedl.history.observed import RecordedMeta
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.store import Store

Observed = Callable[[Any, bool], None]  # the object, and whether this is its last state
Vanished = Callable[[RecordedMeta], None]


class ObservingStore(Store[Any]):
    """Calls `observed` with every new state, and `vanished` for objects whose last state was not sent."""

    def __init__(self, observed: Observed, vanished: Vanished) -> None:
        super().__init__()
        self.uids: set[str] = set()  # of the objects that exist
        self._forgotten: set[str] = set()
        self._observed, self._vanished = observed, vanished

    def forget(self, uid: str) -> bool:
        """Report this object again when it is listed; returns whether it exists."""
        if uid in self.uids:
            self._forgotten.add(uid)
        return uid in self.uids

    def put(self, new: Any) -> None:  # noqa: ANN401 - any recorded kind
        """Report a new state."""
        meta, old = new.metadata, self.get(new.metadata.key)
        if old is not None and old.metadata.uid != meta.uid:
            self.remove(meta.key)
            old = None
        known = old is not None and old.metadata.resource_version == meta.resource_version
        if known and meta.uid not in self._forgotten:
            return
        self._forgotten.discard(meta.uid)
        kept = RecordedMeta(
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
            resource_version=meta.resource_version,
            creation_timestamp=meta.creation_timestamp,
        )
        self.uids.add(meta.uid)
        super().put(type(new)(metadata=kept))
        self._observed(new, False)

    def remove(self, key: ObjectKey, last: Any | None = None) -> None:  # noqa: ANN401
        """Report the last state of an object, or that it is gone; the last state also if it was unknown."""
        old = self.get(key)
        super().remove(key, last)
        if last is not None:
            self._discard(last.metadata.uid)
            self._observed(last, True)
        elif old is not None:
            self._discard(old.metadata.uid)
            self._vanished(old.metadata)

    def _discard(self, uid: str) -> None:
        self.uids.discard(uid)
        self._forgotten.discard(uid)
