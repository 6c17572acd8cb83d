"""The built-in objects that we read, each cut down to what is read."""

from datetime import datetime

from kubedl.wire.meta import ObjectMeta, Record, Resource


class Terminated(Record, frozen=True):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None


class Waiting(Record, frozen=True):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class ContainerState(Record, frozen=True):
    """At most one of them is set; none is a running container."""

    terminated: Terminated | None = None
    waiting: Waiting | None = None


class ContainerStatus(Record, frozen=True):
    """One container of a pod."""

    name: str
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(Record, frozen=True):
    """One of a pod's conditions."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class PodStatus(Record, frozen=True):
    """What the kubelet and the scheduler say."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    conditions: tuple[PodCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class InitContainer(Record, frozen=True):
    """A container that runs before the others, or beside them (a sidecar) if it is always restarted."""

    name: str = ""
    restart_policy: str = ""


class PodSpec(Record, frozen=True):
    """Where the pod runs, and what of it is a sidecar."""

    node_name: str = ""
    init_containers: tuple[InitContainer, ...] = ()


class Pod(Record, frozen=True):
    """One replica of something."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def condition(self, kind: str) -> PodCondition | None:
        """The condition of that type, if the pod has it."""
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None


class Service(Record, frozen=True):
    """A name in DNS."""

    metadata: ObjectMeta = ObjectMeta()


class NodeCondition(Record, frozen=True):
    """One of a node's conditions."""

    type: str
    status: str
    last_transition_time: datetime | None = None


class NodeStatus(Record, frozen=True):
    """What the node controller says."""

    conditions: tuple[NodeCondition, ...] = ()


class Node(Record, frozen=True):
    """A machine."""

    metadata: ObjectMeta = ObjectMeta()
    status: NodeStatus = NodeStatus()

    @property
    def lost_since(self) -> datetime | None:
        """Since when nobody has heard of the node; None while it is well."""
        return self._ready("Unknown")

    @property
    def ready_since(self) -> datetime | None:
        """Since when the node is well; None while it is not."""
        return self._ready("True")

    def _ready(self, status: str) -> datetime | None:
        found = (known for known in self.status.conditions if known.type == "Ready" and known.status == status)
        return next((condition.last_transition_time for condition in found), None)


class LeaseSpec(Record, frozen=True):
    """Who holds a lease and until when."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int = 0


class Lease(Record, frozen=True):
    """A right that only one process holds at a time."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class Event(Record, frozen=True):
    """What happened to an object, and how often."""

    metadata: ObjectMeta = ObjectMeta()
    count: int = 0


PODS = Resource(Pod, "Pod", "pods")
SERVICES = Resource(Service, "Service", "services")
NODES = Resource(Node, "Node", "nodes", namespaced=False)
LEASES = Resource(Lease, "Lease", "leases", group="coordination.k8s.io")
EVENTS = Resource(Event, "Event", "events")
