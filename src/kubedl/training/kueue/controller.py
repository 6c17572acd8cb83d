"""Controller of Workloads: one for each job that asks for a queue. It never touches pods, nor the job's status.

So a Workload that is refused is reported as an event.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubedl.api.kueue import GROUP, PRIORITY_LABEL
from kubedl.api.training import TrainingJob, is_managed_elsewhere
from kubedl.kube import codec
from kubedl.kube.client import Client
from kubedl.kube.errors import ForbiddenError, InvalidError, NotFoundError
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.events import EventRecorder, ObjectReference
from kubedl.runtime.ownership import controllers_of, owner_reference
from kubedl.runtime.store import Store
from kubedl.runtime.writer import NameConflictError, Writer, merge_patch
from kubedl.training import labels
from kubedl.training.job import Job
from kubedl.training.kind import Kind
from kubedl.training.kueue import workload as workload_objects
from kubedl.training.kueue.observation import may_have_queue, queue_name
from kubedl.training.kueue.plan import Observed, Plan, plan
from kubedl.training.kueue.queues import Queues
from kubedl.training.kueue.types import (
    POD_PRIORITIES,
    PREBUILT,
    WORKLOAD_PRIORITIES,
    WORKLOADS,
    PriorityClass,
    Workload,
)
from kubedl.training.observed import Settings
from kubedl.training.placement.in_queue import topology_requests
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.restarts import job_scope

LOOK_FOR_PREBUILT = 2.0  # seconds
LOOK_AGAIN, SOON = 30.0, 5.0  # seconds, if Kueue cannot be used; if the queue does not honour the job's placement


@dataclass(frozen=True)
class Stores:
    """The caches of the controller."""

    jobs: Store[TrainingJob]
    pods: Store[Pod]
    workloads: Store[Workload]
    queues: Queues
    missing: Callable[[], str]  # what of Kueue the operator cannot use


class WorkloadController:
    """Reconciles the Workloads of one kind's jobs."""

    def __init__(
        self,
        kind: Kind,
        stores: Stores,
        writer: Writer,
        recorder: EventRecorder,
        *,
        settings: Callable[[], Settings],
        clock: Callable[[], datetime],
    ) -> None:
        self._kind = kind
        self._settings = settings
        self._jobs_of = controllers_of(kind.kind)
        self._stores = stores
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    def job_with_queue(self, resource: TrainingJob) -> Iterable[ObjectKey]:
        """Return the key of a job that asks for a queue, or has a Workload: all others cost nothing here."""
        if may_have_queue(resource) or self._workload(resource) is not None:
            yield resource.metadata.key

    def job_of(self, found: Pod) -> Iterable[ObjectKey]:
        """Return the key of the job of a pod, if it has a Workload."""
        if not self._stores.workloads:
            return  # a cluster without Kueue
        for key in self._jobs_of(found):
            resource = self._stores.jobs.get(key)
            if resource is not None:
                yield from self.job_with_queue(resource)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile the Workload of one job."""
        resource = self._stores.jobs.get(key)
        if resource is None:
            return None
        if self._stores.missing():
            return LOOK_AGAIN
        job, workload = self._kind.job(resource), self._workload(resource)
        pod_sets = workload_objects.digest(job)
        if workload is None and not pod_sets:
            return None  # until a template is edited
        if workload is None and self._stores.queues.conflict(job, self._queue(job)) is not None:
            return SOON
        prebuilt = _prebuilt(resource)
        observed = Observed(
            job=resource,
            queue=self._queue(job),
            pod_sets=pod_sets,
            workload=workload,
            has_pods=self._has_pods(resource),
            scope=job_scope(self._kind, job),
            now=self._clock().replace(microsecond=0),
            is_prebuilt=bool(prebuilt),
        )
        await self._apply(job, workload, plan(observed))
        # An event leads from a Workload to its owner, which one from MultiKueue does not have yet.
        return LOOK_FOR_PREBUILT if prebuilt and workload is None else None

    async def _apply(self, job: Job, workload: Workload | None, decided: Plan) -> None:
        resource = job.resource
        if decided.create:
            await self._create(job)
        if workload is None:
            return
        if decided.adopt:
            await self._adopt(resource, workload)
        elif decided.delete:
            await self._writer.delete(resource, WORKLOADS, workload)
        elif decided.spec is not None:
            await self._writer.patch(resource, WORKLOADS, workload, {"spec": decided.spec})
        elif decided.status is not None:
            changes = merge_patch(codec.plain(workload.status), codec.plain(decided.status))
            await self._writer.patch(resource, WORKLOADS, workload, {"status": changes}, subresource="status")

    async def _create(self, job: Job) -> None:
        try:
            await self._writer.create(job.resource, WORKLOADS, await self._render(job))
        except (ForbiddenError, InvalidError, NameConflictError) as refusal:
            about = ObjectReference.of(self._kind.resource, job.resource)
            self._recorder.event(about, "Warning", "WorkloadRefused", f"cannot create the Workload: {refusal.message}")
            raise

    async def _adopt(self, resource: TrainingJob, workload: Workload) -> None:
        """Own the Workload that MultiKueue has created for this job."""
        meta = workload.metadata
        changes = {
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
            "labels": {workload_objects.JOB_UID: resource.metadata.uid},
            "ownerReferences": [owner_reference(self._kind.resource, resource)],
        }
        await self._writer.patch(resource, WORKLOADS, workload, {"metadata": changes})

    async def _render(self, job: Job) -> Mapping[str, Any]:
        """The Workload with its priority: of its WorkloadPriorityClass, else of the pods' PriorityClass."""
        client, reference = self._writer.client, None
        own = job.resource.metadata.labels.get(PRIORITY_LABEL, "")
        policy = job.spec.scheduling_policy
        of_pods = policy.priority_class_name if policy is not None else ""
        priority = 0
        if own:
            priority = await _value(client, WORKLOAD_PRIORITIES, own)
            reference = {"group": GROUP, "kind": WORKLOAD_PRIORITIES.kind, "name": own}
        elif of_pods:
            priority = await _value(client, POD_PRIORITIES, of_pods)
            reference = {"group": POD_PRIORITIES.group, "kind": POD_PRIORITIES.kind, "name": of_pods}
        queue = self._queue(job)
        requests = topology_requests(job.resource, self._stores.queues.flavors(job, queue))
        return workload_objects.render(self._kind, job, queue, priority, reference, requests)

    def _queue(self, job: Job) -> str:
        return queue_name(job, self._settings())

    def _has_pods(self, resource: TrainingJob) -> bool:
        """Whether the job has pods that have not ended; by its status, if they are in another cluster."""
        if is_managed_elsewhere(resource):
            return any(role.active for role in resource.status.replica_statuses.values())
        pods = (pod for pod in self._stores.pods.owned_by(resource) if labels.ATTEMPT in pod.metadata.labels)
        return any(pod.status.phase not in ENDED for pod in pods)

    def _workload(self, resource: TrainingJob) -> Workload | None:
        """The Workload that the job owns, or the one without an owner that was created for it."""
        owned = next(iter(self._stores.workloads.owned_by(resource)), None)
        name = _prebuilt(resource)
        if owned is not None or not name:
            return owned
        found = self._stores.workloads.get(ObjectKey(resource.metadata.namespace, name))
        return found if found is not None and found.metadata.controller is None else None


def _prebuilt(resource: TrainingJob) -> str:
    meta = resource.metadata
    return meta.annotations.get(PREBUILT) or meta.labels.get(PREBUILT, "")


async def _value(client: Client, resource: Resource[PriorityClass], name: str) -> int:
    try:
        return (await client.get(resource, ObjectKey("", name))).value
    except NotFoundError:
        return 0  # the pods of the job are refused for it, with a message
