"""The recorder: follows the recorded kinds and writes every state that it observes to the sinks.

Nothing here delays a job: the recorder only lists and watches. If a sink is down, its queue fills up to a bound; when
states were dropped from it, their kinds are listed again afterwards. Rows whose objects no longer exist are closed
after every list, so an object that was deleted while no recorder ran does not stay open. A sink that is a log of
changes, and no picture of the cluster, is written to beside the others: what its queue drops is counted as lost.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import structlog

from kubedl.history.event_filter import EventFilter
from kubedl.history.kinds import EVENT_KIND, POD_KIND, RecordedKind
from kubedl.history.observation import Change, Closing, RowKey
from kubedl.history.observed import RecordedMeta
from kubedl.history.observed_pods import RecordedPod
from kubedl.history.observing_store import ObservingStore
from kubedl.history.pending import MOST, Pending
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.history.sink import Epoch, Reconcilable, Sink, SinkUnavailableError
from kubedl.history.writer import Writer
from kubedl.kube.client import Client
from kubedl.kube.watch import SILENCE, ListOptions
from kubedl.runtime.discovery import Discovery
from kubedl.runtime.reflector import Reflector

TRY_AGAIN = 1.0  # seconds

log = structlog.get_logger()


@dataclass(frozen=True)
class Settings:
    """Settings of a recorder."""

    namespace: str = ""  # empty: all
    most_pending: int = MOST
    silence: float = SILENCE  # seconds without data after which a watch is reconnected
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    on_pod: Callable[[RecordedPod, bool], None] = lambda *_: None  # called with every state, and whether it is the last


class Recorder:
    """Assembled once; `run` is called while this process holds the lease."""

    def __init__(
        self,
        client: Client,
        kinds: Iterable[RecordedKind],
        sinks: Sequence[Sink],
        metrics: RecorderMetrics,
        *,
        settings: Settings,
        may_write: Callable[[], None] = lambda: None,
    ) -> None:
        """`may_write` is called before every write, and ends the process if it is not the leader any more."""
        self._client, self._kinds, self._settings = client, tuple(kinds), settings
        self._metrics = metrics
        self._discovery = Discovery(client)
        self._stale: dict[str, asyncio.Event] = {kind.resource.name: asyncio.Event() for kind in self._kinds}
        self._stores = {kind.resource.name: self._store(kind) for kind in self._kinds}
        self._reflectors: dict[str, Reflector[Any]] = {}
        self._pods_listed = asyncio.Event()
        groups = {kind.resource.kind: kind.resource.group for kind in self._kinds if kind.resource.group}
        self._events = EventFilter(groups, self._add)
        self._sinks = sinks
        self._writers = [Writer(sink, self._queue(sink), metrics, may_write=may_write) for sink in sinks]

    def unsynced(self) -> list[str]:
        """Return the kinds that were not listed yet. Kinds that the cluster does not serve are skipped."""
        return [
            name
            for name, reflector in self._reflectors.items()
            if not reflector.synced.is_set() and not reflector.absent
        ]

    async def run(self, epoch: Epoch) -> None:
        """Record until cancelled. Raises FencedError or SchemaError if this process must not write any more."""
        async with asyncio.TaskGroup() as group:
            for writer in self._writers:
                group.create_task(writer.run(epoch))
            for kind in self._kinds:
                group.create_task(self._follow(kind))

    def _queue(self, sink: Sink) -> Pending:
        def lost(key: RowKey) -> None:
            self._metrics.lost(sink.name)
            for kind in self._kinds_of(key):
                self._stale[kind.resource.name].set()  # after a list its row is closed as Missed

        def dropped(_: RowKey) -> None:
            self._metrics.lost(sink.name)  # a list would bring all states to all sinks, for one that is behind

        if not isinstance(sink, Reconcilable):
            pending = Pending(most=self._settings.most_pending, forgotten=dropped, lost=dropped)
        else:
            pending = Pending(most=self._settings.most_pending, forgotten=self._forgotten, lost=lost)
        self._metrics.watch(sink.name, pending.__len__, lambda: _age(pending.oldest()))
        return pending

    async def _follow(self, kind: RecordedKind) -> None:
        """Follow a kind; list it again when states of it were dropped and the sinks can be written to again."""
        if kind is EVENT_KIND and POD_KIND in self._kinds:
            await self._pods_listed.wait()  # events of unknown pods are kept in small numbers only
        store = self._stores[kind.resource.name]
        while True:
            self._stale[kind.resource.name].clear()
            await self._until_stale(kind, self._reflector(kind, store), store)
            log.info("listing again what was dropped", resource=kind.resource.name)

    async def _until_stale(self, kind: RecordedKind, reflector: Reflector[Any], store: ObservingStore) -> None:
        self._reflectors[kind.resource.name] = reflector
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(reflector.run()), group.create_task(self._close_missed(kind, reflector, store))]
            await self._stale[kind.resource.name].wait()
            for sink, writer in zip(self._sinks, self._writers, strict=True):
                if isinstance(sink, Reconcilable):
                    await writer.pending.half_empty()
            for task in tasks:
                task.cancel()

    def _store(self, kind: RecordedKind) -> ObservingStore:
        return ObservingStore(
            lambda obj, deleted: self._observed(kind, obj, deleted), lambda meta: self._vanished(kind, meta)
        )

    def _reflector(self, kind: RecordedKind, store: ObservingStore) -> Reflector[Any]:
        scope = ListOptions(self._settings.namespace if kind.resource.namespaced else "", kind.labels)
        discovery = self._discovery if kind.resource.group else None
        return Reflector(self._client, kind.resource, store, scope, silence=self._settings.silence, discovery=discovery)

    async def _close_missed(self, kind: RecordedKind, reflector: Reflector[Any], store: ObservingStore) -> None:
        """Close the rows of objects that no longer exist, after a list."""
        await reflector.synced.wait()
        if kind is POD_KIND:
            self._pods_listed.set()
        if kind is EVENT_KIND:
            return  # the cluster forgets them after an hour
        for sink, writer in zip(self._sinks, self._writers, strict=True):
            if isinstance(sink, Reconcilable):
                await writer.claimed.wait()
                await self._close_missed_in(kind, sink, writer.pending, store)

    async def _close_missed_in(
        self, kind: RecordedKind, sink: Reconcilable, pending: Pending, store: ObservingStore
    ) -> None:
        closed, namespace = 0, self._settings.namespace if kind.resource.namespaced else ""
        while True:
            try:
                async for page in sink.open_rows(kind.table, kind.kind_column, namespace):
                    for key, created in page:
                        await pending.half_empty()
                        if key.uid not in store.uids and key not in pending:
                            pending.add(Closing(key.table, key.uid, created, self._settings.clock(), _now()))
                            closed += 1
                break
            except SinkUnavailableError as error:
                log.warning("cannot read open rows", resource=kind.resource.name, error=str(error))
                await asyncio.sleep(TRY_AGAIN)
        if closed:
            log.info("closed rows of objects that are gone", resource=kind.resource.name, rows=closed)

    def _observed(self, kind: RecordedKind, obj: Any, deleted: bool) -> None:  # noqa: ANN401
        row = replace(kind.row(obj, deleted=deleted, now=self._settings.clock()), observed=_now())
        if kind is EVENT_KIND:
            if not deleted:
                self._events.offer(obj.involved_object, row)
            return
        self._add(row)
        if kind is POD_KIND:
            self._events.pod_seen(row.uid)
            self._settings.on_pod(obj, deleted)

    def _vanished(self, kind: RecordedKind, meta: RecordedMeta) -> None:
        if kind is not EVENT_KIND and meta.creation_timestamp is not None:
            self._add(Closing(kind.table, meta.uid, meta.creation_timestamp, self._settings.clock(), _now()))

    def _add(self, change: Change) -> None:
        for writer in self._writers:
            writer.pending.add(change)

    def _forgotten(self, key: RowKey) -> None:
        for kind in self._kinds_of(key):
            if self._stores[kind.resource.name].forget(key.uid):
                self._stale[kind.resource.name].set()

    def _kinds_of(self, key: RowKey) -> list[RecordedKind]:
        return [kind for kind in self._kinds if kind.table == key.table]

    async def close(self) -> None:
        """Close the sinks."""
        for sink in self._sinks:
            with suppress(OSError):
                await sink.close()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _age(since: float | None) -> float:
    return _now() - since if since is not None else 0.0
