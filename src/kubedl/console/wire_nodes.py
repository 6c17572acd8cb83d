"""What the console sends about nodes and what is free on them."""

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
