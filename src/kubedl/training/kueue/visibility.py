"""Kueue's visibility API, reduced to the fields that are read: the Workloads that wait in a LocalQueue, in order."""

from kubedl.api.kueue import GROUP
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.training.kueue.types import VERSION

VISIBILITY_GROUP = f"visibility.{GROUP}"
PENDING_WORKLOADS = "pendingworkloads"  # the subresource of a LocalQueue


class PendingWorkload(Record, frozen=True):
    """A Workload that waits, with its positions, from 0."""

    metadata: ObjectMeta = ObjectMeta()
    position_in_local_queue: int = 0
    position_in_cluster_queue: int = 0


class PendingWorkloads(Record, frozen=True):
    """The Workloads that wait in a LocalQueue, the first ones first."""

    metadata: ObjectMeta = ObjectMeta()
    items: tuple[PendingWorkload, ...] | None = ()


VISIBLE_QUEUES = Resource(PendingWorkloads, "PendingWorkloadsSummary", "localqueues", VERSION, VISIBILITY_GROUP)
