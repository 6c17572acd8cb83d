"""Whom notices are about: replicas on nodes that will be taken, evicted ones, and those that a user removes. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.api.elastic import ElasticStatus, Reclaim
from kubedl.kube.types.core import Pod
from kubedl.training import replica_status
from kubedl.training.elastic.notices import Notice
from kubedl.training.elastic.resizing import has_success, known_size
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.policies import index_ranges
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.failure_policy import DISRUPTED
from kubedl.training.policies.safe_time import later
from kubedl.training.spot.moving import POOL, is_move, moving

RESIZE = "Resize"
NODE = "node"
AHEAD = timedelta(seconds=60)  # a date that is further ahead than this and a checkpoint is not acted upon yet

Key = tuple[str, str]  # what kind of notice, and the node


@dataclass(frozen=True)
class Subject:
    """Somebody has to leave."""

    notice: Notice
    node: str  # empty if a user removes replicas, or they move to another pool
    replicas: tuple[ObservedReplica, ...]  # without those that have left already
    is_going: bool = False  # told to go by others, or lost with the node

    @property
    def pods_leave(self) -> tuple[ObservedReplica, ...]:
        """The replicas whose pods are deleted for it; those that a user removes are deleted by the resize."""
        return self.replicas if self.node or self.notice.source == POOL else ()


def key_of(record: Reclaim) -> Key:
    """Return what a record is about; a node that has several notices is left once."""
    return record.source if record.source in (DISRUPTED, RESIZE) or is_move(record) else NODE, record.node


def is_asked_for(job: Job) -> bool:
    """Return whether a job asks for checkpoints before its replicas leave."""
    return job.spec.elastic is not None and job.spec.elastic.checkpoint is not None


def hold_until_saved(kind: Kind, job: Job, pods: tuple[Pod, ...], deleted: tuple[Pod, ...] = ()) -> None:
    """Let a job that trains keep the replicas that its user removes, until its program has saved or does not answer.

    If none of them runs, nobody who trains leaves: there is nothing to save. A job that restarts to be resized keeps
    its size, since all leave.
    """
    status, role = job.resource.status, kind.elastic_role
    known = status.elastic
    if known is None or status.start_time is None or job.spec.suspend or not is_asked_for(job):
        return
    size = known_size(job)
    if role not in job or not _leave_for(kind, job, job.count(role), size):
        return
    first = 0 if kind.restarts_to_resize(job) else job.count(role)
    removed = {job.pod_name(Replica(role, index)) for index in range(first, size)}
    trained = any(pod.metadata.name in removed and replica_status.is_running(pod) for pod in pods)
    is_judged = any(one.source == RESIZE and one.phase in ("Confirmed", "Unsaved") for one in known.reclaims)
    leader = job.pod_name(job.leader)
    trains = any(pod.metadata.name == leader and replica_status.is_running(pod) for pod in pods)
    if trains and trained and not is_judged and not has_success(job, (*pods, *deleted)):
        job.keep(role, size)


def _leave_for(kind: Kind, job: Job, asked: int, size: int) -> bool:
    """Return whether replicas that train leave if a job of this size gets the size that is asked for."""
    return 0 < size != asked if kind.restarts_to_resize(job) else asked < size


def places(job: Job, pods: Iterable[Pod]) -> set[str]:
    """Return the nodes whose notices count for a job: those of its pods, and those that it has left."""
    if not is_asked_for(job):
        return set()
    known = job.resource.status.elastic
    left = {record.node for record in known.reclaims if record.ended_at is None} if known is not None else set()
    return left | {pod.spec.node_name for pod in pods}


def checkpoint_timeout(observed: Observed) -> timedelta:
    """Return how long the program may take to save."""
    return timedelta(seconds=observed.job.spec.elastic.checkpoint.timeout_seconds)


def due(observed: Observed, notice: Notice) -> datetime:
    """Return when to act on a notice about a node: at once, unless it has a date that is far ahead.

    A window, however long, begins when it is seen, which must be written.
    """
    return observed.now if notice.at is None else later(notice.at, -(checkpoint_timeout(observed) + AHEAD))


def due_notices(observed: Observed) -> dict[str, Notice]:
    """Return the notices to act upon, by node.

    Until then a node is as good as any other: new pods may be there, and what becomes of it is judged as ever.
    """
    return {node: notice for node, notice in observed.notices.items() if due(observed, notice) <= observed.now}


def subjects(observed: Observed, known: ElasticStatus, replicas: Sequence[ObservedReplica]) -> dict[Key, Subject]:
    """Return all notices that are due and stand, also those of nodes that nobody is on any more."""
    noticed = due_notices(observed)
    living: dict[str, list[ObservedReplica]] = {}
    for seen in replicas:
        pod = seen.current
        if pod is not None and pod.spec.node_name and pod.status.phase not in ENDED:
            living.setdefault(pod.spec.node_name, []).append(seen)
    found: dict[Key, Subject] = {}
    for node, notice in noticed.items():
        on_it = tuple(seen for seen in living.get(node, ()) if not _has_left(observed, known, node, seen.replica))
        going = node in observed.lost_nodes or any(_is_going(seen.current) for seen in on_it)
        found[NODE, node] = Subject(notice, node, on_it, going and bool(on_it))
    for node, there in living.items():
        evicted = tuple(seen for seen in there if _is_evicted(seen.current))
        if evicted and node not in noticed and node not in observed.lost_nodes:
            pod = evicted[0].current
            at = pod.metadata.deletion_timestamp if pod is not None else None
            found[DISRUPTED, node] = Subject(
                Notice(DISRUPTED, at=at), node, evicted, any(_is_going(seen.current) for seen in evicted)
            )
    asked = observed.job.asked_replicas(observed.kind.elastic_role)
    has_started = observed.job.resource.status.start_time is not None
    if has_started and _leave_for(observed.kind, observed.job, asked, known.size):
        found[RESIZE, ""] = _resize(observed, asked, replicas)
    if others := moving(observed, replicas):
        found[POOL, ""] = Subject(Notice(POOL), "", others)
    return found


def _resize(observed: Observed, asked: int, replicas: Iterable[ObservedReplica]) -> Subject:
    """Return the replicas that leave for another size; nobody, where all restart, once they may go."""
    role = observed.kind.elastic_role
    if observed.kind.restarts_to_resize(observed.job):
        is_going = observed.job.count(role) == asked
        return Subject(Notice(RESIZE), "", () if is_going else tuple(replicas), is_going)
    removed = tuple(seen for seen in replicas if seen.replica.role == role and seen.replica.index >= asked)
    return Subject(Notice(RESIZE), "", removed, is_going=observed.job.count(role) <= asked)


def _has_left(observed: Observed, known: ElasticStatus, node: str, replica: Replica) -> bool:
    """Return whether a replica has left a node for the notice that stands: if it is back, it is bound to the node.

    A pod that was made before the notice, and waited for a node until now, has not.
    """
    return any(
        record.leader
        if replica == observed.job.leader
        else replica.role == observed.kind.elastic_role and replica.index in index_ranges.read(record.replicas)
        for record in known.reclaims
        if key_of(record) == (NODE, node) and record.ended_at is None and record.left_at is not None
    )


def _is_going(pod: Pod | None) -> bool:
    return pod is not None and pod.metadata.deletion_timestamp is not None


def _is_evicted(pod: Pod | None) -> bool:
    return pod is not None and pod.holding(DISRUPTED) is not None
