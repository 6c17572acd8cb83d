"""Objects of Kueue, reduced to the fields that are read."""

from collections.abc import Mapping

from kubedl.api.conditions import Condition
from kubedl.api.kueue import GROUP
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import NOTHING, ObjectMeta, Record, Resource

VERSION = "v1beta2"
DEFAULT_QUEUE = "default"  # the LocalQueue of jobs that name none
PREBUILT = f"{GROUP}/prebuilt-workload-name"  # annotation or label of a job whose Workload MultiKueue has created


class PodSetAssignment(Record, frozen=True):
    """What the pods of one role were admitted to."""

    name: str
    flavors: Mapping[str, str] = NOTHING  # ResourceFlavor by resource
    count: int | None = None  # of pods; fewer than asked for in a partial admission
    resource_usage: Mapping[str, str] = NOTHING  # quantity by resource
    topology_assignment: RawObject | None = None  # Kueue chooses the nodes of each pod


class Admission(Record, frozen=True):
    """The quota that a Workload holds."""

    cluster_queue: str = ""
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class PodSetUpdate(Record, frozen=True):
    """What an admission check adds to the pods of one role."""

    name: str
    labels: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING
    node_selector: Mapping[str, str] = NOTHING
    tolerations: tuple[RawObject, ...] = ()


class AdmissionCheckState(Record, frozen=True):
    """One admission check, for example a ProvisioningRequest."""

    name: str = ""
    state: str = ""
    message: str = ""
    pod_set_updates: tuple[PodSetUpdate, ...] = ()


class ReclaimablePod(Record, frozen=True):
    """The number of pods of a role whose quota is not needed any more."""

    name: str
    count: int


class WorkloadSpec(Record, frozen=True):
    """What was asked for."""

    queue_name: str = ""
    active: bool = True
    priority: int = 0


class WorkloadStatus(Record, frozen=True):
    """What Kueue and its owner say."""

    conditions: tuple[Condition, ...] = ()
    admission: Admission | None = None
    admission_checks: tuple[AdmissionCheckState, ...] = ()
    reclaimable_pods: tuple[ReclaimablePod, ...] = ()


class Workload(Record, frozen=True):
    """The claim of a job to quota."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class FlavorSpec(Record, frozen=True):
    """The nodes of a flavor."""

    node_labels: Mapping[str, str] = NOTHING
    tolerations: tuple[RawObject, ...] = ()
    topology_name: str = ""  # empty if Kueue does not choose nodes


class ResourceFlavor(Record, frozen=True):
    """A kind of nodes that quota is counted for."""

    metadata: ObjectMeta = ObjectMeta()
    spec: FlavorSpec = FlavorSpec()


class FlavorQuotas(Record, frozen=True):
    """The quota of one flavor."""

    name: str = ""


class ResourceGroup(Record, frozen=True):
    """Flavors, in the order in which they are tried."""

    flavors: tuple[FlavorQuotas, ...] = ()


class ClusterQueueSpec(Record, frozen=True):
    """The quota of a ClusterQueue."""

    resource_groups: tuple[ResourceGroup, ...] = ()


class ClusterQueueStatus(Record, frozen=True):
    """How many Workloads hold quota."""

    reserving_workloads: int = 0


class ClusterQueue(Record, frozen=True):
    """Quota that queues of namespaces share."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()


class LocalQueueSpec(Record, frozen=True):
    """The ClusterQueue of a LocalQueue."""

    cluster_queue: str = ""


class LocalQueue(Record, frozen=True):
    """A queue of a namespace."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LocalQueueSpec = LocalQueueSpec()


class PriorityClass(Record, frozen=True):
    """A WorkloadPriorityClass of Kueue, or a PriorityClass of pods."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0


WORKLOADS = Resource(Workload, "Workload", "workloads", VERSION, GROUP)
RESOURCE_FLAVORS = Resource(ResourceFlavor, "ResourceFlavor", "resourceflavors", VERSION, GROUP, namespaced=False)
CLUSTER_QUEUES = Resource(ClusterQueue, "ClusterQueue", "clusterqueues", VERSION, GROUP, namespaced=False)
LOCAL_QUEUES = Resource(LocalQueue, "LocalQueue", "localqueues", VERSION, GROUP)
WORKLOAD_PRIORITIES = Resource(
    PriorityClass, "WorkloadPriorityClass", "workloadpriorityclasses", VERSION, GROUP, namespaced=False
)
POD_PRIORITIES = Resource(
    PriorityClass, "PriorityClass", "priorityclasses", "v1", "scheduling.k8s.io", namespaced=False
)
