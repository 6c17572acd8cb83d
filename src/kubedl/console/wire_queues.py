"""What the console sends about queues of Kueue."""

from collections.abc import Sequence
from datetime import datetime

from kubedl.console.wire_base import Missing, Wire


class Quota(Wire, frozen=True):
    """The quota of one resource of one flavor: cores, bytes or pieces."""

    flavor: str
    resource: str
    nominal: float
    used: float | None  # None: Kueue has not said
    borrowed: float | None  # of what is used


class ClusterQueueRow(Wire, frozen=True):
    """Quota that queues of namespaces share."""

    name: str
    cohort: str
    problem: str  # why nothing is admitted; empty: it works
    quotas: Sequence[Quota]
    waiting: int | None  # None: Kueue has not said
    admitted: int | None


class LocalQueueRow(Wire, frozen=True):
    """A queue of a namespace."""

    namespace: str
    name: str
    cluster_queue: str
    problem: str
    waiting: int | None  # None: Kueue has not said
    admitted: int | None


class WaitingRow(Wire, frozen=True):
    """A Workload that waits."""

    uid: str
    position: int  # in its ClusterQueue, from 1; those that the caller may not list count too
    namespace: str
    queue: str
    cluster_queue: str
    kind: str  # of a job of KubeDL; empty: of anything else
    name: str
    priority: int
    cpu_millis: int
    memory_bytes: int
    gpus: int
    since: datetime | None
    message: str


class QueueList(Wire, frozen=True):
    """The queues that a person may list, and who waits in them."""

    installed: bool
    cluster_queues: Sequence[ClusterQueueRow]
    local_queues: Sequence[LocalQueueRow]
    waiting: Sequence[WaitingRow]  # at most 500
    more_waiting: int
    more_queues: int  # of both kinds, beyond 500 each
    missing: Sequence[Missing]
