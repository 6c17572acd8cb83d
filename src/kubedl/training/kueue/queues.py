"""The queues of Kueue and their flavors, from the informer caches."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.store import Store
from kubedl.training.job import Job
from kubedl.training.kueue.types import ClusterQueue, LocalQueue, ResourceFlavor
from kubedl.training.placement import in_queue
from kubedl.training.placement.wish import is_requested

Reason = tuple[str, str]  # reason and message

UNKNOWN = "QueueNotKnown"


@dataclass(frozen=True)
class Queues:
    """The caches of queues and flavors."""

    local: Store[LocalQueue] = field(default_factory=Store)
    cluster: Store[ClusterQueue] = field(default_factory=Store)
    resource_flavors: Store[ResourceFlavor] = field(default_factory=Store)
    are_known: Callable[[], bool] = lambda: True  # whether the caches have synced

    def flavors(self, job: Job, queue: str) -> in_queue.Flavors:
        """The flavors that a LocalQueue tries, by resource group; nothing if it does not exist."""
        local = self.local.get(ObjectKey(job.namespace, queue))
        found = self.cluster.get(ObjectKey("", local.spec.cluster_queue)) if local is not None else None
        groups = found.spec.resource_groups if found is not None else ()
        known = [[self.resource_flavors.get(ObjectKey("", one.name)) for one in group.flavors] for group in groups]
        return [[flavor for flavor in group if flavor is not None] for group in known]

    def conflict(self, job: Job, queue: str) -> Reason | None:
        """Why a queue would not honour the placement of a job; None if it would, or the job has no placement."""
        if not queue or not is_requested(job.resource):
            return None
        if not self.are_known():
            return UNKNOWN, f"the operator has not read queue {queue} yet"
        return in_queue.conflict(job.resource, self.flavors(job, queue))
