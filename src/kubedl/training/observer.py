"""Observes jobs: from the informers alone, and by what this process remembers that they no longer show."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

import msgspec

from kubedl.api.cachebackend import CacheBackend
from kubedl.api.conditions import is_true
from kubedl.api.training import BY_CACHE, TrainingJob, cache_key
from kubedl.kube.types.core import Node, Pod
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.ownership import controllers_of
from kubedl.runtime.store import OwnerKey
from kubedl.training.addons import registry
from kubedl.training.elastic import leaving, resizing
from kubedl.training.gang.assignment import job_of
from kubedl.training.informers import Informers
from kubedl.training.kind import Kind
from kubedl.training.kueue.admission import apply_counts
from kubedl.training.kueue.observation import observe_queue
from kubedl.training.nodes import NodeView
from kubedl.training.observed import Observed, Settings
from kubedl.training.placement.observation import observe_placement
from kubedl.training.waiting_memory import WaitingMemory

MOST_TERMINATING_PODS = 50_000


class Observer:
    """Observes the jobs of one kind."""

    def __init__(self, kind: Kind, informers: Informers, settings: Settings, clock: Callable[[], datetime]) -> None:
        self.waiting_memory = WaitingMemory()
        self._kind = kind
        self._jobs_of = controllers_of(kind.kind)
        self._informers = informers
        self._settings = settings
        self._clock = clock
        self._nodes = NodeView(informers.nodes, settings)
        self._terminating_pods: OrderedDict[str, None] = OrderedDict()  # uids of pods that were deleted while they ran

    def jobs_on(self, node: Node) -> Iterable[ObjectKey]:
        """Return the keys of jobs with a pod on a node."""
        for pod in self._informers.pods.by_index("node", node.metadata.name):
            yield from self._jobs_of(pod)

    def jobs_using(self, backend: CacheBackend) -> Iterable[ObjectKey]:
        """Return the keys of jobs that use a CacheBackend, or wait for it."""
        for job in self._informers.jobs.by_index(BY_CACHE, backend.metadata.key):
            yield job.metadata.key

    def observe(self, key: ObjectKey) -> Observed | None:
        """Return the observed state of a job, from the informers alone."""
        resource = self._informers.jobs.get(key)
        if resource is None:
            return None
        name, other = resource.metadata.name, registry.pod_names(resource)
        owned = tuple(self._informers.pods.owned_by(resource))
        others = tuple(pod for pod in owned if pod.metadata.name in other) if other else ()
        pods = tuple(pod for pod in owned if pod.metadata.name not in other) if others else owned
        services = tuple(self._informers.services.owned_by(resource))
        settings = self.current_settings()
        cache, lost, now = cache_key(resource), self._nodes.lost(owned), self._clock().replace(microsecond=0)
        job = job_of(self._kind, resource, settings)
        queue = observe_queue(job, owned, settings, self._informers)
        if queue is not None:
            apply_counts(job, queue)
        gone = self._informers.pods.tombstones(OwnerKey.of_owner(resource))
        deleted = tuple(self._as_terminating(pod) for pod in gone)
        resizing.hold_size(self._kind, job, (*pods, *deleted))
        leaving.hold_until_saved(self._kind, job, pods, deleted)
        return Observed(
            kind=self._kind,
            job=job,
            pods=pods,
            others=others,
            deleted=deleted,
            has_service=any(service.metadata.name == name for service in services),
            services=services,
            host_ports=self._informers.host_ports,
            lost_nodes=lost,
            now=now,
            settings=settings,
            queue=queue,
            cache=self._informers.backends.get(cache) if cache is not None else None,
            unmet_placement=observe_placement(resource, self._nodes, now),
            outage=self._nodes.outage(now) if lost else None,
            notices=self._nodes.notices(leaving.places(job, pods)),
            confirmed=self._informers.asker.confirmed(resource.metadata.uid),
            progress=self._informers.reports.heard(resource.metadata.uid),
            heard=self.waiting_memory.kubelet_event(resource.metadata.uid),
            message_written_at=self.waiting_memory.message_changed_at(resource.metadata.uid, now),
        )

    def current_settings(self) -> Settings:
        """Return the settings, with the gang schedulers that the cluster has now."""
        installed = self._informers.gang_schedulers()
        if installed is not self._settings.gang_schedulers:
            self._settings = replace(self._settings, gang_schedulers=installed)
        return self._settings

    def job_changed(self, old: TrainingJob | None, new: TrainingJob | None) -> None:
        """Forget the deleted pods of a job that is deleted or resumed.

        The watch event of the status is used, since the response to the write may be lost.
        """
        if old is not None and (new is None or _is_suspended(old) > _is_suspended(new)):
            self.forget(OwnerKey.of_owner(old))
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self.waiting_memory.forget(old.metadata.uid)
            self._informers.asker.forget(old.metadata.uid)
            self._informers.reports.forget(old.metadata.uid)

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Remember pods that were deleted while they ran: the last state of one that ends at once does not show it.

        Pods are usually deleted after their job; then their state is not needed.
        """
        if new is not None:
            if new.metadata.deletion_grace_period_seconds and any(self._jobs_of(new)):
                self._terminating_pods[new.metadata.uid] = None
                if len(self._terminating_pods) > MOST_TERMINATING_PODS:  # a standby never removes entries otherwise
                    self._terminating_pods.popitem(last=False)
        elif old is not None:
            for key in self._jobs_of(old):
                resource, controller = self._informers.jobs.get(key), OwnerKey.of_controller(old)
                if controller is not None and (resource is None or resource.metadata.uid != controller.uid):
                    self.forget(controller)

    def forget(self, job: OwnerKey, pods: Iterable[str] | None = None) -> None:
        """Forget these deleted pods of a job, or all of them."""
        gone = [pod.metadata.uid for pod in self._informers.pods.tombstones(job)] if pods is None else list(pods)
        for uid in gone:
            self._terminating_pods.pop(uid, None)
        self._informers.pods.drop_tombstones(job, gone)

    def _as_terminating(self, pod: Pod) -> Pod:
        """Return the last state of a pod, with a grace period if it was deleted while it ran."""
        if pod.metadata.uid not in self._terminating_pods:
            return pod
        meta = msgspec.structs.replace(pod.metadata, deletion_grace_period_seconds=1)
        return msgspec.structs.replace(pod, metadata=meta)


def _is_suspended(resource: TrainingJob) -> bool:
    return is_true(resource.status.conditions, "Suspended")
