"""Objects of Kueue, reduced to the fields that are read."""

from collections.abc import Mapping

from kubedl.api.conditions import Condition
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import NOTHING, ObjectMeta, Record, Resource

GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"
QUEUE_LABEL = f"{GROUP}/queue-name"  # of a job
PRIORITY_LABEL = f"{GROUP}/priority-class"  # of a job: its WorkloadPriorityClass


class PodSetAssignment(Record, frozen=True):
    """What the pods of one role were admitted to."""

    name: str
    flavors: Mapping[str, str] = NOTHING  # ResourceFlavor by resource


class Admission(Record, frozen=True):
    """The quota that a Workload holds."""

    cluster_queue: str = ""
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class ReclaimablePod(Record, frozen=True):
    """The number of pods of a role whose quota is not needed any more."""

    name: str
    count: int


class WorkloadSpec(Record, frozen=True):
    """What was asked for."""

    queue_name: str = ""
    active: bool = True


class WorkloadStatus(Record, frozen=True):
    """What Kueue and its owner say."""

    conditions: tuple[Condition, ...] = ()
    admission: Admission | None = None
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


class ResourceFlavor(Record, frozen=True):
    """A kind of nodes that quota is counted for."""

    metadata: ObjectMeta = ObjectMeta()
    spec: FlavorSpec = FlavorSpec()


class PriorityClass(Record, frozen=True):
    """A WorkloadPriorityClass of Kueue, or a PriorityClass of pods."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0


WORKLOADS = Resource(Workload, "Workload", "workloads", VERSION, GROUP)
RESOURCE_FLAVORS = Resource(ResourceFlavor, "ResourceFlavor", "resourceflavors", VERSION, GROUP, namespaced=False)
WORKLOAD_PRIORITIES = Resource(
    PriorityClass, "WorkloadPriorityClass", "workloadpriorityclasses", VERSION, GROUP, namespaced=False
)
POD_PRIORITIES = Resource(
    PriorityClass, "PriorityClass", "priorityclasses", "v1", "scheduling.k8s.io", namespaced=False
)
