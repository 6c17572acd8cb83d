"""Turns changes of the cache into the journal, and wakes viewers in frames.

A row is encoded once, when it changes, whatever the number of viewers.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from kubedl.console.cache import BY_UID, Followed, Stores
from kubedl.console.journal import Journal, Mark, Place
from kubedl.console.kinds import NODES, ShownPod, job_resources
from kubedl.console.rows import job_row
from kubedl.history.observed import RecordedJob
from kubedl.history.observed_pods import RecordedEvent

FRAME = 0.25  # seconds


class Snapshot(NamedTuple):
    """All rows at one position. Rights are asked after it is taken, so no row can fall between list and stream."""

    position: int
    rows: Mapping[Place, Sequence[bytes]]

    def seen_by(self, shows: Callable[[Place], bool]) -> list[bytes]:
        """Return the rows of the places that a viewer may see."""
        return [row for place, rows in self.rows.items() if shows(place) for row in rows]


class Feed:
    """The rows of all jobs, and the journal of their changes."""

    def __init__(self, stores: Stores, journal: Journal) -> None:
        self.epoch = secrets.token_hex(4)  # positions of another process mean nothing here
        self.journal = journal
        self._stores = stores
        self._rows: dict[Place, dict[str, bytes]] = {}
        self._kinds = {resource.kind: name for name, resource in job_resources().items()}
        self._changed = asyncio.Event()
        for name, store in stores.jobs.items():
            store.subscribe(partial(self._job_changed, name))
        stores.pods.subscribe(self._pod_changed)
        stores.events.subscribe(self._event_changed)
        self._namespaces: dict[str, Counter[str]] = {}  # of what is followed, by resource
        for one in stores.followed():
            # Cluster-scoped resources are one place, which is asked about even before there is an object.
            self._namespaces[one.resource.name] = Counter() if one.resource.namespaced else Counter({"": 1})
            one.store.subscribe(partial(self._followed_changed, one))
        stores.usage.subscribe(self._usage_changed)

    def places(self, more: Iterable[Place] = ()) -> dict[str, set[str]]:
        """Return the namespaces that have rows, by resource; of resources without rows too, and with `more` places."""
        found: dict[str, set[str]] = {resource.name: set() for resource in job_resources().values()}
        found |= {resource: set(+namespaces) for resource, namespaces in self._namespaces.items()}
        for place in (*self._rows, *more):
            found[place.resource].add(place.namespace)
        return found

    def snapshot(self) -> Snapshot:
        """Return all rows, and the position at which they are current."""
        return Snapshot(self.journal.head, {place: tuple(rows.values()) for place, rows in self._rows.items()})

    async def after(self, position: int, seconds: float) -> None:
        """Wait until there is a change after a position, then for the rest of its frame; at most so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                while self.journal.head <= position:
                    self._changed.clear()
                    await self._changed.wait()
                await asyncio.sleep(FRAME)
        except TimeoutError:
            return

    def _job_changed(self, name: str, old: RecordedJob | None, new: RecordedJob | None) -> None:
        resource = job_resources()[name]
        if new is not None:
            place = Place(resource.name, new.metadata.namespace)
            row = msgspec.json.encode(job_row(resource.kind, new))
            if self._rows.setdefault(place, {}).get(new.metadata.uid) != row:
                self._rows[place][new.metadata.uid] = row
                self._add(place, new.metadata.uid, row)
            else:
                self._add(place, new.metadata.uid, Mark.TOUCHED)
        elif old is not None:
            place = Place(resource.name, old.metadata.namespace)
            rows = self._rows.get(place, {})
            rows.pop(old.metadata.uid, None)
            if not rows:
                self._rows.pop(place, None)
            self._add(place, old.metadata.uid, Mark.GONE)

    def _pod_changed(self, old: ShownPod | None, new: ShownPod | None) -> None:
        pod = new if new is not None else old
        if pod is None or (owner := pod.metadata.controller) is None or owner.kind not in self._kinds:
            return
        resource = job_resources()[self._kinds[owner.kind]]
        self._add(Place(resource.name, pod.metadata.namespace), owner.uid, Mark.TOUCHED)

    def _event_changed(self, old: RecordedEvent | None, new: RecordedEvent | None) -> None:
        if new is None:
            return  # expired; a page that is open keeps it until it is read again
        about, namespace = new.involved_object, new.metadata.namespace
        if about.kind in self._kinds:
            resource = job_resources()[self._kinds[about.kind]]
            self._add(Place(resource.name, namespace), about.uid, Mark.TOUCHED)
        elif about.kind == "Pod":
            for pod in self._stores.pods.by_index(BY_UID, about.uid):
                self._pod_changed(None, pod)

    def _followed_changed(self, followed: Followed, old: Any, new: Any) -> None:  # noqa: ANN401 - of any kind
        known = self._namespaces[followed.resource.name]
        namespace = (new if new is not None else old).metadata.namespace
        known[namespace] += (new is not None) - (old is not None)
        if old is None or new is None or _content(old) != _content(new):
            self._add(Place(followed.resource.name, namespace), followed.topic, Mark.TOUCHED)

    def _usage_changed(self) -> None:
        self._add(Place(NODES.name, ""), "nodes", Mark.TOUCHED)

    def _add(self, place: Place, uid: str, what: bytes | Mark) -> None:
        self.journal.add(place, uid, what)
        self._changed.set()


def _content(one: Any) -> tuple[Any, ...]:  # noqa: ANN401 - an object of any kind
    """Return what pages show of an object; a new version or a heartbeat alone is no change."""
    return one.spec, one.status, one.metadata.labels
