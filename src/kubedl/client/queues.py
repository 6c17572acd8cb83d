"""Queues of Kueue, and who is in them: `client.queues`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kubedl.client.blocking import blocking
from kubedl.client.errors import Forbidden
from kubedl.client.objects import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS, ObjectOperations
from kubedl.client.server_object import ServerObject
from kubedl.why.quantities import number, requests_of, summed

if TYPE_CHECKING:
    from kubedl.client.job_lookup import Cluster

Amounts = Mapping[str, float]  # of resources, in Kubernetes' units: bytes, cores, devices


@dataclass(frozen=True)
class QueuedJob(ServerObject):
    """A job in a queue, by its Workload, which Kueue admits or lets wait. `place` counts those that wait, from 1."""

    place: int | None = None  # None: it runs

    @property
    def job(self) -> str:
        """Return the job as kind and name, such as pytorchjob/bert; the Workload if nobody owns it."""
        owner = next(iter(self.metadata.get("ownerReferences") or ()), None)
        return f"{owner['kind'].lower()}/{owner['name']}" if owner else self.name

    @property
    def is_running(self) -> bool:
        """Return whether it was admitted."""
        return self.has_condition("Admitted")

    @property
    def is_finished(self) -> bool:
        """Return whether it has ended."""
        return self.has_condition("Finished")

    @property
    def priority(self) -> int:
        """Return its priority as a number."""
        return int(self.spec.get("priority") or 0)

    @property
    def priority_class(self) -> str:
        """Return the name of its priority; empty if it has none."""
        return str((self.spec.get("priorityClassRef") or {}).get("name") or "")

    @property
    def message(self) -> str:
        """Return why it waits, in Kueue's words; empty if it runs."""
        return "" if self.is_running else str(self.condition("QuotaReserved").get("message") or "")

    @property
    def wants(self) -> Amounts:
        """Return what its pods ask for, together."""
        parts = self.spec.get("podSets") or ()
        return summed(
            {name: value * int(part.get("count", 1)) for name, value in requests_of(part["template"]).items()}
            for part in parts
        )


@dataclass(frozen=True)
class Queue(ServerObject):
    """A queue of a namespace: who runs, then who waits, in the order in which Kueue tries them.

    The order is priority, then time; with several namespaces in one ClusterQueue, others may be between. `quota` and
    `used` are those of the ClusterQueue, and None if it may not be read: `hidden` says why.
    """

    jobs: Sequence[QueuedJob] = field(default=(), repr=False)
    quota: Amounts | None = None
    used: Amounts | None = None
    hidden: str = ""

    @property
    def cluster_queue(self) -> str:
        """Return the ClusterQueue that has the quota."""
        return str(self.spec.get("clusterQueue") or "")

    @property
    def is_active(self) -> bool:
        """Return whether jobs of it may start."""
        return self.condition("Active").get("status") != "False"

    @property
    def message(self) -> str:
        """Return why it is not active; empty if it is."""
        return "" if self.is_active else str(self.condition("Active").get("message") or "")

    @property
    def running(self) -> int:
        """Return how many jobs run."""
        return sum(one.is_running for one in self.jobs)

    @property
    def waiting(self) -> int:
        """Return how many jobs wait."""
        return len(self.jobs) - self.running

    @property
    def waiting_since(self) -> datetime | None:
        """Return when the job was created that waits for the longest time; None if none waits."""
        return min((one.created for one in self.jobs if not one.is_running and one.created), default=None)


class QueueOperations:
    """Queues of one namespace, as the caller."""

    def __init__(self, cluster: "Cluster", namespace: str) -> None:
        self.namespace = namespace
        self._objects = ObjectOperations(cluster, namespace)

    async def list(self, *, all_namespaces: bool = False) -> tuple[Queue, ...]:
        """Return the queues with their jobs, by namespace and name; none if Kueue is not installed."""
        queues = await self._objects.list_if_served(LOCAL_QUEUES, all_namespaces=all_namespaces)
        if not queues:
            return ()
        workloads = await self._objects.list_all(WORKLOADS, all_namespaces=all_namespaces)
        shared, hidden = await self._shared()
        return tuple(_queue(one, workloads, shared, hidden) for one in sorted(queues, key=_place))

    async def get(self, name: str) -> Queue:
        """Return a queue with its jobs. Raises NotFound."""
        queue = await self._objects.get(LOCAL_QUEUES, name)
        workloads = await self._objects.list_all(WORKLOADS)
        return _queue(queue, workloads, *await self._shared())

    async def _shared(self) -> tuple[dict[str, Mapping[str, Any]], str]:
        """Return the ClusterQueues by name, and why they may not be read."""
        try:
            found = await self._objects.list_all(CLUSTER_QUEUES)
        except Forbidden as error:
            return {}, error.why or error.message
        return {str(one["metadata"]["name"]): one for one in found}, ""


class Queues:
    """Queues of one namespace: `QueueOperations` without an event loop."""

    def __init__(self, operations: QueueOperations) -> None:
        self._operations = operations

    list = blocking(QueueOperations.list)
    get = blocking(QueueOperations.get)


def _place(queue: Mapping[str, Any]) -> tuple[str, str]:
    return str(queue["metadata"].get("namespace") or ""), str(queue["metadata"]["name"])


def _queue(
    queue: Mapping[str, Any],
    workloads: Iterable[Mapping[str, Any]],
    shared: Mapping[str, Mapping[str, Any]],
    hidden: str,
) -> Queue:
    namespace, name = _place(queue)
    own = [
        one
        for one in workloads
        if one["metadata"].get("namespace") == namespace and one["spec"].get("queueName") == name
    ]
    found = shared.get(str((queue.get("spec") or {}).get("clusterQueue") or ""))
    quota, used = (_quota(found), _used(found)) if found is not None else (None, None)
    return Queue(queue, _line(own), quota, used, hidden)


def _line(workloads: Iterable[Mapping[str, Any]]) -> tuple[QueuedJob, ...]:
    """Return those that run, then those that wait, each with its place."""
    known = [one for one in map(QueuedJob, workloads) if not one.is_finished]
    known.sort(key=lambda one: (not one.is_running, -one.priority, str(one.metadata.get("creationTimestamp") or "")))
    waiting = [one for one in known if not one.is_running]
    placed = (QueuedJob(one.manifest, place) for place, one in enumerate(waiting, 1))
    return (*known[: len(known) - len(waiting)], *placed)


def _used(shared: Mapping[str, Any]) -> Amounts:
    return _sums((shared.get("status") or {}).get("flavorsUsage") or (), "total")


def _quota(shared: Mapping[str, Any]) -> Amounts:
    groups = (shared.get("spec") or {}).get("resourceGroups") or ()
    return _sums((flavor for group in groups for flavor in group.get("flavors") or ()), "nominalQuota")


def _sums(flavors: Iterable[Mapping[str, Any]], field: str) -> Amounts:
    return summed({one["name"]: number(one.get(field))} for flavor in flavors for one in flavor.get("resources") or ())
