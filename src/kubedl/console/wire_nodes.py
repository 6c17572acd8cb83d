"""What the console sends about nodes and what is free on them."""

from collections.abc import Sequence
from datetime import datetime

from kubedl.console.wire_base import Wire


class Share(Wire, frozen=True):
    """One resource: millicores, bytes or GPUs. What is not known is null, never 0."""

    total: int
    requested: int | None  # by pods that have a node and have not ended
    free: int | None  # on nodes that take pods
    closed: int | None  # not requested, but on nodes that are cordoned or not ready


class Capacity(Wire, frozen=True):
    """What the cluster has and what is free."""

    nodes: int
    closed_nodes: int  # cordoned or not ready
    cpu: Share
    memory: Share
    gpus: Share
    largest_block: int  # most GPUs that are free on one node
    largest_block_node: str  # empty: no GPU is free, or it is not known
    only_namespace: str  # not empty: pods of other namespaces are not known


class Holder(Wire, frozen=True):
    """A pod that holds GPUs of a node, if the caller may list it."""

    namespace: str
    pod: str
    kind: str  # of the job that the pod belongs to; empty: of none that the caller may list
    job: str
    gpus: int


class HolderGroup(Wire, frozen=True):
    """What a job, a user or a team holds of all GPUs."""

    namespace: str  # empty: of a user, who may have jobs in many
    kind: str  # of a job; empty: it is none that the caller may list
    name: str  # of a job, a pod or a user; empty: a team, nobody who is named, or a job that may not be listed
    user: str  # of a job, as it states it
    gpus: int


class HolderList(Wire, frozen=True):
    """Who holds the GPUs of the cluster, most first."""

    by: str  # workload, user or team, which is a namespace
    rows: Sequence[HolderGroup]  # at most 50
    more: int  # that are not listed because they are too many
    hidden_gpus: int  # held by pods that the caller may not list
    held: int
    only_namespace: str


class NodeRow(Wire, frozen=True):
    """A node in the list."""

    name: str
    ready: bool
    cordoned: bool
    gpu_model: str
    cpu: Share
    memory: Share
    gpus: Share
    pods: int  # that have not ended
    holders: Sequence[Holder]
    hidden_gpus: int  # held by pods that the caller may not list


class NodeList(Wire, frozen=True):
    """A page of the list of nodes, by name."""

    rows: Sequence[NodeRow]
    total: int  # that match
    after: str  # where the next page begins; empty: this is the last one
    only_namespace: str


class NodeStateRow(Wire, frozen=True):
    """A condition of a node."""

    type: str
    status: str
    since: datetime | None


class NodePod(Wire, frozen=True):
    """A pod on a node."""

    namespace: str
    name: str
    phase: str
    kind: str  # as in Holder
    job: str
    cpu_millis: int
    memory_bytes: int
    gpus: int
    created: datetime | None


class NodePage(Wire, frozen=True):
    """One node."""

    node: NodeRow
    conditions: Sequence[NodeStateRow]
    pods: Sequence[NodePod]  # the largest first, at most 500
    more_pods: int  # that are not listed because they are too many
    hidden_pods: int  # that the caller may not list
    only_namespace: str
