"""The kinds in the console's cache, and the permissions that follow from them."""

from datetime import datetime
from functools import cache
from typing import Any

from kubedl.console.object_kinds import CRONS, INFERENCES, MODEL_VERSIONS, MODELS
from kubedl.console.queue_kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from kubedl.history.observed import NO_AMOUNTS, Amounts, RecordedJob, Requirements, resource_of_jobs
from kubedl.history.observed_pods import EVENTS, Running
from kubedl.kube.types.core import (
    ContainerState,
    ContainerStatus,
    InitContainer,
    Node,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSpec,
    PodStatus,
    Terminated,
)
from kubedl.kube.types.meta import OwnerReference, Record, Resource
from kubedl.schema.grants import FOLLOW, Grant
from kubedl.training.kinds import all_kinds


class ShownContainer(Record, frozen=True):
    """A container. Commands and environment variables are not decoded, so they cannot be shown."""

    name: str = ""
    resources: Requirements = Requirements()


class ShownInitContainer(InitContainer, frozen=True):
    """An init container."""

    resources: Requirements = Requirements()


class ShownPodSpec(PodSpec, frozen=True):
    """Node, containers and requests of a pod."""

    containers: tuple[ShownContainer, ...] = ()
    init_containers: tuple[ShownInitContainer, ...] = ()
    overhead: Amounts = NO_AMOUNTS

    def names(self) -> tuple[str, ...]:
        """Return the names of all containers, those of the program first."""
        return (*(one.name for one in self.containers), *(one.name for one in self.init_containers))


class ShownTerminated(Terminated, frozen=True):
    """How a container ended."""

    started_at: datetime | None = None


class ShownContainerState(ContainerState, frozen=True):
    """The state of a container, with its start."""

    running: Running | None = None
    terminated: ShownTerminated | None = None


class ShownContainerStatus(ContainerStatus, frozen=True):
    """The status of one container."""

    state: ShownContainerState = ShownContainerState()

    @property
    def started(self) -> datetime | None:
        """Return when it was last started."""
        found = self.state.running or self.state.terminated
        return found.started_at if found is not None else None


class ShownPodStatus(PodStatus, frozen=True):
    """The status of a pod."""

    container_statuses: tuple[ShownContainerStatus, ...] = ()


class ShownPod(Pod, frozen=True):
    """A pod, of a job or of anything else that holds a part of a node."""

    spec: ShownPodSpec = ShownPodSpec()
    status: ShownPodStatus = ShownPodStatus()


class ShownNodeSpec(NodeSpec, frozen=True):
    """Whether a node takes new pods."""

    unschedulable: bool = False


class ShownNodeStatus(NodeStatus, frozen=True):
    """What a node offers to pods, and how it is."""

    allocatable: Amounts = NO_AMOUNTS


class ShownNode(Node, frozen=True):
    """A node."""

    spec: ShownNodeSpec = ShownNodeSpec()
    status: ShownNodeStatus = ShownNodeStatus()


PODS = Resource(ShownPod, "Pod", "pods")
NODES = Resource(ShownNode, "Node", "nodes", namespaced=False)


_QUEUES = "Show queues of Kueue, their quota and who waits to those who may list them."
_MODELS = "Show models, what they are made from and who serves them to those who may list them."
# What pages show beside jobs, with the reason why the console's account may list it.
FOLLOWED: tuple[tuple[Resource[Any], str], ...] = (
    (NODES, "Show what nodes have and what is free to those who may list nodes."),
    (CLUSTER_QUEUES, _QUEUES),
    (LOCAL_QUEUES, _QUEUES),
    (WORKLOADS, _QUEUES),
    (MODELS, _MODELS),
    (MODEL_VERSIONS, _MODELS),
    (INFERENCES, "Show services and their rollouts to those who may list them."),
    (CRONS, "Show crons and their runs to those who may list them."),
)


@cache
def job_resources() -> dict[str, Resource[RecordedJob]]:
    """Return the kinds of jobs, by their name in addresses: the kind in small letters."""
    return {kind.kind.lower(): resource_of_jobs(kind.resource, kind.replicas_field) for kind in all_kinds()}


def job_kind(owner: OwnerReference | None) -> str:
    """Return the name in addresses of the kind of jobs that an owner is of; empty if it is none of ours."""
    if owner is None:
        return ""
    name = owner.kind.lower()
    resource = job_resources().get(name)
    return name if resource is not None and owner.api_version == resource.api_version else ""


def grants() -> tuple[Grant, ...]:
    """Return the permissions of the console itself. It changes nothing: people act with their own tokens."""
    cached: tuple[Resource[Any], ...] = (*job_resources().values(), EVENTS)
    return (
        *(Grant(one.group, (one.plural,), FOLLOW, "Show jobs to those who may list them.") for one in cached),
        Grant("", (PODS.plural,), FOLLOW, "Show the pods of jobs, and what pods of any kind leave free on nodes."),
        *(Grant(one.group, (one.plural,), FOLLOW, why, cluster_scoped=not one.namespaced) for one, why in FOLLOWED),
        Grant(
            "authentication.k8s.io", ("tokenreviews",), ("create",), "Find out whose token it is.", cluster_scoped=True
        ),
        Grant(
            "authorization.k8s.io",
            ("subjectaccessreviews",),
            ("create",),
            "Find out what a person may see.",
            cluster_scoped=True,
        ),
    )
