"""The shared cache: one watch for each kind, whatever the number of viewers.

It is filled with the console's own account. Nothing leaves it but through `rights`.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from kubedl.console.kinds import NODES, PODS, ShownNode, ShownPod, job_resources
from kubedl.console.object_kinds import (
    CRONS,
    INFERENCES,
    MODEL_VERSIONS,
    MODELS,
    ShownCron,
    ShownInference,
    ShownModel,
    ShownVersion,
)
from kubedl.console.problems import not_read_yet
from kubedl.console.pulse import Pulse
from kubedl.console.queue_kinds import (
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    WORKLOADS,
    ShownClusterQueue,
    ShownLocalQueue,
    ShownWorkload,
)
from kubedl.console.usage import Usage
from kubedl.console.wire import Alive
from kubedl.history.observed import RecordedJob
from kubedl.history.observed_pods import EVENTS, RecordedEvent
from kubedl.kube import watch
from kubedl.kube.client import Client
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.kube.watch import ListOptions
from kubedl.runtime.discovery import Discovery
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store

BY_UID, BY_SUBJECT, BY_NAMESPACE, BY_NODE = "uid", "subject", "namespace", "node"


class Followed(NamedTuple):
    """The store of a kind that pages show, and the topic under which its changes are told."""

    topic: str
    resource: Resource[Any]
    store: Store[Any]


class Stores:
    """The objects, without what keeps them up to date."""

    def __init__(self) -> None:
        self.jobs: dict[str, Store[RecordedJob]] = {
            name: Store({BY_NAMESPACE: lambda job: job.metadata.namespace}) for name in job_resources()
        }
        self.pods: Store[ShownPod] = Store(
            {BY_UID: lambda pod: pod.metadata.uid, BY_NODE: lambda pod: pod.spec.node_name or None}
        )
        self.events: Store[RecordedEvent] = Store({BY_SUBJECT: lambda event: event.involved_object.uid or None})
        self.nodes: Store[ShownNode] = Store()
        self.cluster_queues: Store[ShownClusterQueue] = Store()
        self.local_queues: Store[ShownLocalQueue] = Store()
        self.workloads: Store[ShownWorkload] = Store()
        self.models: Store[ShownModel] = Store()
        self.versions: Store[ShownVersion] = Store()
        self.inferences: Store[ShownInference] = Store()
        self.crons: Store[ShownCron] = Store()
        self.usage = Usage(self.pods)
        self.namespace = ""  # if not empty, pods of other namespaces are not known, so neither is what is free
        self.unfollowed: frozenset[str] = frozenset()  # resources that this account may not list
        self.absent: Callable[[str], bool] = lambda name: False  # whether the cluster does not serve a resource
        self.unread: Callable[[str], bool] = lambda name: False  # whether a resource was not listed yet

    def followed(self) -> Sequence[Followed]:
        """Return what pages show beside jobs. A topic is a page, or more than one, that is read again as a whole."""
        return (
            Followed("nodes", NODES, self.nodes),
            Followed("queues", CLUSTER_QUEUES, self.cluster_queues),
            Followed("queues", LOCAL_QUEUES, self.local_queues),
            Followed("queues", WORKLOADS, self.workloads),
            Followed("models", MODELS, self.models),
            Followed("models", MODEL_VERSIONS, self.versions),
            Followed("services", INFERENCES, self.inferences),
            Followed("crons", CRONS, self.crons),
        )

    def insist_read(self, *resources: Resource[Any]) -> None:
        """Refuse to answer before everything was read: what is not known would look like nothing."""
        unread = [one.name for one in resources if self.unread(one.name)]
        if unread:
            raise not_read_yet(unread)

    def job(self, kind: str, key: ObjectKey) -> RecordedJob | None:
        """Return a job; `kind` is its name in addresses."""
        store = self.jobs.get(kind)
        return store.get(key) if store is not None else None

    def events_about(self, job: RecordedJob, pods: Iterable[ShownPod]) -> list[RecordedEvent]:
        """Return the events about a job and its pods; not those of other namespaces, which may name any uid."""
        uids = [job.metadata.uid, *(pod.metadata.uid for pod in pods)]
        found = [event for uid in uids for event in self.events.by_index(BY_SUBJECT, uid)]
        return [event for event in found if event.metadata.namespace == job.metadata.namespace]


class Cache:
    """Stores, and the reflectors that fill them."""

    def __init__(
        self, client: Client, namespace: str = "", silence: float = watch.SILENCE, without: Collection[str] = ()
    ) -> None:
        """With a namespace, only that one is followed: what a person with rights there alone can do.

        `without` names resources that are not followed, because this account may not.
        """
        self.stores = Stores()
        self.stores.namespace = namespace
        self._pulse = Pulse(client)
        discovery = Discovery(client)

        def reflector(resource: Resource[Any], store: Store[Any]) -> Reflector[Any]:
            known = discovery if resource.group else None
            scope = ListOptions(namespace if resource.namespaced else "")
            return Reflector(client, resource, store, scope, silence=silence, discovery=known)

        jobs = job_resources()
        self._jobs = [reflector(jobs[name], store) for name, store in self.stores.jobs.items()]
        rest: tuple[tuple[Resource[Any], Store[Any]], ...] = (
            (PODS, self.stores.pods),
            (EVENTS, self.stores.events),
            *((one.resource, one.store) for one in self.stores.followed()),
        )
        self._rest = [reflector(resource, store) for resource, store in rest if resource.name not in without]
        self.stores.unfollowed = frozenset(without)
        self.stores.absent = lambda name: any(one.absent for one in self._rest if one.resource.name == name)
        self.stores.unread = lambda name: any(one.unread for one in self._all() if one.resource.name == name)

    async def run(self) -> None:
        """Follow until cancelled. Raises StaleResourceVersionError if only a new process can recover."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pulse.run())
            for reflector in self._all():
                group.create_task(reflector.run())

    def unsynced(self) -> list[str]:
        """Return the kinds that were not listed yet; those that the cluster does not serve are not waited for."""
        return [one.resource.name for one in self._all() if not one.synced.is_set() and not one.absent]

    def signs_of_life(self) -> Alive:
        """Return since when the API server has said nothing: about one of the kinds, and at all."""
        ages = [one.age() for one in self._all() if one.synced.is_set() and not one.absent]
        unanswered = self._pulse.unanswered_seconds()
        return Alive(silent_seconds=round(max(ages, default=0.0), 1), unanswered_seconds=round(unanswered, 1))

    def _all(self) -> Sequence[Reflector[Any]]:
        return (*self._jobs, *self._rest)
