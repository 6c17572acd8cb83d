"""The objects of Kueue in the console's cache: the operator's types, with quota, use and what a Workload wants."""

from kubedl.api.conditions import Condition
from kubedl.api.kueue import GROUP
from kubedl.history.observed import Template
from kubedl.kube.quantity import Quantity
from kubedl.kube.types.meta import Record, Resource
from kubedl.training.kueue import types


class PodSet(Record, frozen=True):
    """The pods of one role."""

    count: int = 1
    template: Template = Template()


class ShownWorkloadSpec(types.WorkloadSpec, frozen=True):
    """What was asked for."""

    pod_sets: tuple[PodSet, ...] = ()


class ShownWorkload(types.Workload, frozen=True):
    """The claim of a job to quota."""

    spec: ShownWorkloadSpec = ShownWorkloadSpec()


class ResourceQuota(Record, frozen=True):
    """The quota of one resource."""

    name: str = ""
    nominal_quota: Quantity = 0


class ShownFlavorQuotas(types.FlavorQuotas, frozen=True):
    """The quota of one flavor."""

    resources: tuple[ResourceQuota, ...] = ()


class ShownResourceGroup(types.ResourceGroup, frozen=True):
    """Flavors, in the order in which they are tried."""

    flavors: tuple[ShownFlavorQuotas, ...] = ()


class ShownClusterQueueSpec(types.ClusterQueueSpec, frozen=True):
    """Quota, and whom it is shared with."""

    resource_groups: tuple[ShownResourceGroup, ...] = ()
    cohort_name: str = ""
    stop_policy: str = ""


class ResourceUsage(Record, frozen=True):
    """What is used of one resource."""

    name: str = ""
    total: Quantity = 0
    borrowed: Quantity = 0


class FlavorUsage(Record, frozen=True):
    """What is used of one flavor."""

    name: str = ""
    resources: tuple[ResourceUsage, ...] = ()


class ShownClusterQueueStatus(types.ClusterQueueStatus, frozen=True):
    """What is used, and how many wait."""

    flavors_usage: tuple[FlavorUsage, ...] = ()
    pending_workloads: int = 0
    admitted_workloads: int = 0
    conditions: tuple[Condition, ...] = ()


class ShownClusterQueue(types.ClusterQueue, frozen=True):
    """Quota that queues of namespaces share."""

    spec: ShownClusterQueueSpec = ShownClusterQueueSpec()
    status: ShownClusterQueueStatus = ShownClusterQueueStatus()


class LocalQueueStatus(Record, frozen=True):
    """How many wait and run."""

    pending_workloads: int = 0
    admitted_workloads: int = 0
    conditions: tuple[Condition, ...] = ()


class ShownLocalQueue(types.LocalQueue, frozen=True):
    """A queue of a namespace."""

    status: LocalQueueStatus = LocalQueueStatus()


WORKLOADS = Resource(ShownWorkload, "Workload", "workloads", types.VERSION, GROUP)
LOCAL_QUEUES = Resource(ShownLocalQueue, "LocalQueue", "localqueues", types.VERSION, GROUP)
CLUSTER_QUEUES = Resource(ShownClusterQueue, "ClusterQueue", "clusterqueues", types.VERSION, GROUP, namespaced=False)
