"""Turns changes of the cache into the journal, and wakes viewers in frames.

A row is encoded once, when it changes, whatever the number of viewers.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from kubedl.console.cache import BY_UID, Stores
from kubedl.console.journal import Journal, Mark, Place
from kubedl.console.kinds import NODES, ShownNode, ShownPod, job_resources
from kubedl.console.rows import job_row
from kubedl.history.observed import RecordedJob
from kubedl.history.observed_pods import RecordedEvent

FRAME = 0.25  # seconds
# Pages that are read again as a whole when something on them changed, by the resource that one must list to see them.
NODE_TOPIC = Place(NODES.name, "")


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
        stores.nodes.subscribe(self._node_changed)
        stores.usage.subscribe(self._usage_changed)

    def places(self, more: Iterable[Place] = ()) -> dict[str, set[str]]:
        """Return the namespaces that have rows, by resource; of resources without rows too, and with `more` places."""
        found: dict[str, set[str]] = {resource.name: set() for resource in job_resources().values()}
        found[NODE_TOPIC.resource] = {NODE_TOPIC.namespace}
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

    def _node_changed(self, old: ShownNode | None, new: ShownNode | None) -> None:
        if (
            old is None
            or new is None
            or (old.spec, old.status, old.metadata.labels)
            != (
                new.spec,
                new.status,
                new.metadata.labels,
            )
        ):
            self._usage_changed()

    def _usage_changed(self) -> None:
        self._add(NODE_TOPIC, NODE_TOPIC.resource, Mark.TOUCHED)

    def _add(self, place: Place, uid: str, what: bytes | Mark) -> None:
        self.journal.add(place, uid, what)
        self._changed.set()
