"""Asks Kueue about the LocalQueues in which jobs wait: the first positions, and how many Workloads hold quota.

One answer serves all jobs of a queue. A queue is asked about when the Workloads in it change, at most every `GAP`, and
otherwise every `PERIOD`. If jobs wait in many queues, each is asked about less often, so that all together cost at most
`MOST_QUEUES_PER_SECOND` requests. Namespaces count alike: many queues of one do not delay the others.
Queues in which nothing waits cost nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest

import structlog

from kubedl.kube.client import Client
from kubedl.kube.codec import UNREADABLE
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.store import Store
from kubedl.training.kueue import places
from kubedl.training.kueue.places import MOST_PLACED, MOST_TOLD, Holder, Place, Places
from kubedl.training.kueue.queues import Queues
from kubedl.training.kueue.types import Workload
from kubedl.training.kueue.visibility import PENDING_WORKLOADS, VISIBLE_QUEUES, PendingWorkload
from kubedl.training.policies.safe_time import LONG_AGO

GAP, PERIOD = 10.0, 30.0  # seconds
MOST_QUEUES_PER_SECOND = 10
NOT_SERVED = 600.0  # seconds until the visibility API is tried again in a cluster without it

log = structlog.get_logger()


class PlaceController:
    """Reconciles LocalQueues: keeps the places of the Workloads that wait in them."""

    def __init__(
        self,
        client: Client,
        workloads: Store[Workload],
        queues: Queues,
        found: Places,
        clock: Callable[[], float] = lambda: asyncio.get_running_loop().time(),
    ) -> None:
        """`workloads` has the indexes PENDING and HOLDING."""
        self._client = client
        self._workloads = workloads
        self._caches = queues
        self._places = found
        self._clock = clock
        self._asked: dict[ObjectKey, float] = {}
        self._changed: set[ObjectKey] = set()
        self._queues: Counter[str] = Counter()  # that were asked about, by namespace
        self._visible_from = 0.0

    def queue_of(self, workload: Workload) -> Iterable[ObjectKey]:
        """Return the LocalQueue of a Workload that waits."""
        if places.pending_in(workload) is not None:
            key = places.queue_key(workload)
            self._changed.add(key)
            yield key

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Ask about one LocalQueue, if it is time; returns after how many seconds to ask again."""
        pending = self._workloads.by_index(places.PENDING, key)
        if not pending:
            self._forget(key)
            return None
        now, asked = self._clock(), self._asked.get(key)
        due = asked + self._pause(key) if asked is not None else now
        if now < due:
            return due - now
        if asked is None:
            self._queues[key.namespace] += 1
        self._asked[key] = now
        self._changed.discard(key)
        await self._ask(key, pending)
        return self._pause(key)

    def _pause(self, key: ObjectKey) -> float:
        share = len(self._queues) * self._queues[key.namespace] / MOST_QUEUES_PER_SECOND
        return max(GAP if key in self._changed else PERIOD, share)

    def _forget(self, key: ObjectKey) -> None:
        self._places.forget(key)
        self._changed.discard(key)
        if self._asked.pop(key, None) is not None:
            self._queues[key.namespace] -= 1
            if not self._queues[key.namespace]:
                del self._queues[key.namespace]

    async def _ask(self, key: ObjectKey, pending: Sequence[Workload]) -> None:
        queue = self._caches.local.get(key)
        if queue is None:  # Kueue says itself that it does not exist
            self._places.replace(key, ())
            return
        holders, others = self._holders(key.namespace, queue.spec.cluster_queue)
        positions = await self._positions(key)
        if positions is None:
            first = nsmallest(MOST_TOLD, pending, key=_order)
            self._places.replace(key, (_place(one, "", holders, others) for one in first))
            return
        waiting, found = {one.metadata.name: one for one in pending}, []
        for one in positions:
            workload = waiting.get(one.metadata.name)
            if workload is not None:
                is_told = one.position_in_local_queue < MOST_TOLD
                text = _text(key.name, one)
                found.append(_place(workload, text, holders if is_told else None, others if is_told else 0))
        behind = f"behind the first {MOST_PLACED} of queue {key.name}" if len(positions) >= MOST_PLACED else ""
        self._places.replace(key, found, behind)

    def _holders(self, namespace: str, cluster_queue: str) -> tuple[tuple[Holder, ...], int]:
        """Return the jobs of the namespace that hold quota, and how many others do."""
        own = self._workloads.by_index(places.HOLDING, (namespace, cluster_queue))
        named = tuple(sorted((places.holder(one) for one in own), key=lambda one: one.name))
        found = self._caches.cluster.get(ObjectKey("", cluster_queue))
        return named, max(0, found.status.reserving_workloads - len(named)) if found is not None else 0

    async def _positions(self, key: ObjectKey) -> Sequence[PendingWorkload] | None:
        """Return the first Workloads of a LocalQueue; None if Kueue's visibility API does not answer."""
        if self._clock() < self._visible_from:
            return None
        path = VISIBLE_QUEUES.path(*key, subresource=PENDING_WORKLOADS)
        try:
            answer = await self._client.call("get", VISIBLE_QUEUES, path, params={"limit": str(MOST_PLACED)})
            items = VISIBLE_QUEUES.decoder.decode(answer).items
        except (ApiError, *UNREADABLE) as error:
            log.debug("no positions", queue=str(key), error=str(error))
            # With a reason it is Kueue's answer about this one queue, which must not keep others from being asked.
            if isinstance(error, NotFoundError) and not error.reason:
                self._visible_from = self._clock() + NOT_SERVED
            return None
        return (items or ())[:MOST_PLACED]


def _order(workload: Workload) -> tuple[int, object, str]:
    """As Kueue orders them by default."""
    meta = workload.metadata
    return -workload.spec.priority, meta.creation_timestamp or LONG_AGO, meta.name


def _text(queue: str, one: PendingWorkload) -> str:
    local, whole = (places.in_steps(at + 1) for at in (one.position_in_local_queue, one.position_in_cluster_queue))
    return f"position {local} in queue {queue}" + (f" ({whole} in its ClusterQueue)" if whole != local else "")


def _place(workload: Workload, position: str, holders: tuple[Holder, ...] | None, others: int) -> Place:
    return Place(metadata=workload.metadata, position=position, holders=holders, others=others)
