"""Built-in Kubernetes objects, reduced to the fields that are read."""

from datetime import datetime

from kubedl.kube.types.meta import ObjectMeta, Record, Resource


class Terminated(Record, frozen=True):
    """The terminated state of a container."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None


class Waiting(Record, frozen=True):
    """The waiting state of a container."""

    reason: str = ""
    message: str = ""


class ContainerState(Record, frozen=True):
    """The state of a container. At most one field is set; none means that it is running."""

    terminated: Terminated | None = None
    waiting: Waiting | None = None


class ContainerStatus(Record, frozen=True):
    """The status of one container."""

    name: str
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(Record, frozen=True):
    """A condition of a pod."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class PodStatus(Record, frozen=True):
    """The status of a pod, set by kubelet and scheduler."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    conditions: tuple[PodCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class InitContainer(Record, frozen=True):
    """An init container; with restartPolicy Always, a sidecar."""

    name: str = ""
    restart_policy: str = ""


class PodSpec(Record, frozen=True):
    """Spec of a pod: its node and init containers."""

    node_name: str = ""
    init_containers: tuple[InitContainer, ...] = ()


class Pod(Record, frozen=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def condition(self, kind: str) -> PodCondition | None:
        """Return the condition of the given type, if any."""
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None

    def holding(self, kind: str) -> PodCondition | None:
        """Return the condition of the given type if it is true."""
        condition = self.condition(kind)
        return condition if condition is not None and condition.status == "True" else None


class ServicePort(Record, frozen=True):
    """A port of a Service."""

    target_port: int | str = 0


class ServiceSpec(Record, frozen=True):
    """Spec of a Service."""

    ports: tuple[ServicePort, ...] = ()


class Service(Record, frozen=True):
    """A Service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class NodeCondition(Record, frozen=True):
    """A condition of a node."""

    type: str
    status: str
    last_transition_time: datetime | None = None


class NodeStatus(Record, frozen=True):
    """Status of a node."""

    conditions: tuple[NodeCondition, ...] = ()


class Taint(Record, frozen=True):
    """A taint of a node."""

    key: str = ""


class NodeSpec(Record, frozen=True):
    """Spec of a node."""

    taints: tuple[Taint, ...] = ()


class Node(Record, frozen=True):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def not_ready_since(self) -> datetime | None:
        """Return since when the node is not reachable; None while it is ready."""
        return self._ready("Unknown")

    @property
    def ready_since(self) -> datetime | None:
        """Return since when the node is ready; None while it is not."""
        return self._ready("True")

    def _ready(self, status: str) -> datetime | None:
        found = (known for known in self.status.conditions if known.type == "Ready" and known.status == status)
        return next((condition.last_transition_time for condition in found), None)


class LeaseSpec(Record, frozen=True):
    """Spec of a Lease: holder and renewal time."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int = 0


class Lease(Record, frozen=True):
    """A Lease."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class Event(Record, frozen=True):
    """An Event about an object, with a count."""

    metadata: ObjectMeta = ObjectMeta()
    count: int = 0


PODS = Resource(Pod, "Pod", "pods")
SERVICES = Resource(Service, "Service", "services")
NODES = Resource(Node, "Node", "nodes", namespaced=False)
LEASES = Resource(Lease, "Lease", "leases", group="coordination.k8s.io")
EVENTS = Resource(Event, "Event", "events", bookmarks=False)


class PullSecret(Record, frozen=True):
    """A reference to an image pull secret."""

    name: str = ""


class ServiceAccount(Record, frozen=True):
    """A ServiceAccount, with the pull secrets of pods that name none."""

    metadata: ObjectMeta = ObjectMeta()
    image_pull_secrets: tuple[PullSecret, ...] | None = ()


SERVICE_ACCOUNTS = Resource(ServiceAccount, "ServiceAccount", "serviceaccounts")
