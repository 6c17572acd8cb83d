"""The fields of pods, their Events and their nodes that are recorded; `observed` has those of jobs, and the rule."""

from datetime import datetime

from kubedl.history.observed import NO_AMOUNTS, Amounts, RecordedMeta, TemplateSpec
from kubedl.kube.types.core import PodCondition
from kubedl.kube.types.meta import Record, Resource


class Running(Record, frozen=True):
    """The running state of a container."""

    started_at: datetime | None = None


class Terminated(Record, frozen=True):
    """The terminated state of a container, without its message: the program wrote that."""

    exit_code: int = 0
    reason: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerState(Record, frozen=True):
    """The state of a container."""

    running: Running | None = None
    terminated: Terminated | None = None


class RecordedContainerStatus(Record, frozen=True):
    """The status of one container."""

    name: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class RecordedPodStatus(Record, frozen=True):
    """The status of a pod."""

    phase: str = ""
    reason: str = ""
    start_time: datetime | None = None
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[RecordedContainerStatus, ...] = ()


class RecordedPodSpec(TemplateSpec, frozen=True):
    """Node and resources of a pod."""

    node_name: str = ""
    restart_policy: str = ""


class RecordedPod(Record, frozen=True):
    """A pod of a job."""

    metadata: RecordedMeta = RecordedMeta()
    spec: RecordedPodSpec = RecordedPodSpec()
    status: RecordedPodStatus = RecordedPodStatus()


class Involved(Record, frozen=True):
    """The object that an event is about."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class Source(Record, frozen=True):
    """Who reports an event."""

    component: str = ""


class Series(Record, frozen=True):
    """Repetitions of an event."""

    count: int = 0
    last_observed_time: datetime | None = None


class RecordedEvent(Record, frozen=True):
    """An event."""

    metadata: RecordedMeta = RecordedMeta()
    involved_object: Involved = Involved()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: Series | None = None
    source: Source = Source()
    reporting_component: str = ""


class RecordedNodeStatus(Record, frozen=True):
    """What a node offers to pods."""

    allocatable: Amounts = NO_AMOUNTS


class RecordedNode(Record, frozen=True):
    """A node."""

    metadata: RecordedMeta = RecordedMeta()
    status: RecordedNodeStatus = RecordedNodeStatus()


PODS = Resource(RecordedPod, "Pod", "pods")
EVENTS = Resource(RecordedEvent, "Event", "events", bookmarks=False)  # the API server does not cache them
NODES = Resource(RecordedNode, "Node", "nodes", namespaced=False)
