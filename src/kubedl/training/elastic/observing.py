"""What an observation means for the status: checkpoints confirmed, members gone, time paid."""

from msgspec.structs import replace

from kubedl.training.elastic import ledger as books
from kubedl.training.elastic.membership import Present
from kubedl.training.elastic.pace import measured_pace, p95, pace
from kubedl.training.elastic.status import RECENT, ElasticStatus, ReclaimEnd, Seen
from kubedl.training.elastic.terms import Situation, Terms


def after_what_happened(terms: Terms, status: ElasticStatus, seen: Seen) -> ElasticStatus:
    """Return the status with everything that happened since the last step."""
    status = _with_pace(terms, status, seen)
    status = _with_checkpoint(status, seen)
    status = _with_end_of_pause(status, seen)
    status = _without_lost_members(terms, status, seen)
    status = _with_ends(status, seen)
    status = _with_starts(status, seen)
    progress = seen.durable if seen.progress is None else seen.progress
    return replace(
        status,
        at=seen.now,
        progress=progress,
        durable=seen.durable,
        training=_trains(status, seen),
        waiting_since=None if status.members else (seen.now if status.waiting_since is None else status.waiting_since),
    )


def _trains(status: ElasticStatus, seen: Seen) -> bool:
    paused = status.requested_at is not None or status.changing_since is not None
    return bool(status.members) and seen.training and not paused


def situation(terms: Terms, status: ElasticStatus, seen: Seen, there: Present) -> Situation:
    """Return what the deadline policy has to know."""
    spot_members = sum(pod.spot for pod in there.members)
    waiting = (*there.ready, *there.starting)
    spot_waiting = sum(pod.spot for pod in waiting)
    cold = max(terms.cold_start, p95(status.starts))
    return Situation(
        now=seen.now,
        durable=status.durable,
        progress=None if seen.progress is None else status.progress,
        mode=status.mode,
        training=len(status.members) if status.training else 0,
        spot_members=spot_members,
        spot_starting=spot_waiting,
        on_demand_members=len(there.members) - spot_members,
        on_demand_starting=len(waiting) - spot_waiting,
        on_demand_ready_at=max((pod.begin + cold for pod in there.starting if not pod.spot), default=seen.now),
        cold_start=cold,
        checkpoint=p95(status.checkpoints),
        measured_pace=measured_pace(status.gained, status.trained),
        notices_trusted=all(end is ReclaimEnd.CONFIRMED for end in status.reclaims),
        waiting_since=status.waiting_since,
    )


def _expected(terms: Terms, status: ElasticStatus, now: int) -> float:
    """Return the progress that the members should have made since the last step, by what was promised."""
    return (now - status.at) * pace(len(status.members), terms.size) if status.training else 0.0


def _with_pace(terms: Terms, status: ElasticStatus, seen: Seen) -> ElasticStatus:
    expected = _expected(terms, status, seen.now)
    if not expected or seen.progress is None or seen.progress < status.progress:
        return status
    return replace(
        status,
        trained=status.trained + expected,
        gained=status.gained + seen.progress - status.progress,
    )


def _with_checkpoint(status: ElasticStatus, seen: Seen) -> ElasticStatus:
    if status.requested_at is None or seen.confirmed < status.request:
        return status
    took = seen.now - status.requested_at
    return replace(
        status,
        requested_at=None,
        saved_at=seen.now,
        checkpoints=(*status.checkpoints, took)[-RECENT:],
        ledger=books.saved_members(status.ledger, status.members, took),
    )


def _with_end_of_pause(status: ElasticStatus, seen: Seen) -> ElasticStatus:
    if status.changing_since is None or not seen.training or seen.changes < status.changes:
        return status
    seconds = seen.now - status.changing_since
    return replace(status, changing_since=None, ledger=books.changed_members(status.ledger, status.members, seconds))


def _without_lost_members(terms: Terms, status: ElasticStatus, seen: Seen) -> ElasticStatus:
    """Go on with those who are left, or with nobody; progress that is not durable is lost."""
    running = {pod.uid for pod in seen.pods}
    left = tuple(uid for uid in status.members if uid in running)
    if left == status.members:
        return status
    ledger = status.ledger
    if status.requested_at is not None:
        ledger = books.saved_members(ledger, status.members, seen.now - status.requested_at)
    if status.changing_since is not None:
        ledger = books.changed_members(ledger, status.members, seen.now - status.changing_since)
    measured = measured_pace(status.gained, status.trained)
    speed = pace(len(status.members), terms.size) * measured
    reached = status.progress + _expected(terms, status, seen.now) * measured
    ledger = books.took_back(ledger, status.members, max(reached - seen.durable, 0.0), speed)
    announced = status.requested_at is not None
    members = left if len(left) >= terms.min_size else ()
    if not members:
        ledger = books.left(ledger, left, seen.now)
    return replace(
        status,
        members=members,
        progress=seen.durable,
        requested_at=None,
        changes=status.changes + 1,
        changing_since=seen.now if members else None,
        saved_at=seen.now,
        reclaims=(*status.reclaims, ReclaimEnd.LATE if announced else ReclaimEnd.UNANNOUNCED)[-RECENT:],
        reclaim_count=status.reclaim_count + 1,
        ledger=ledger,
    )


def _with_ends(status: ElasticStatus, seen: Seen) -> ElasticStatus:
    running = {pod.uid for pod in seen.pods}
    ended = [uid for uid in status.ledger.open if uid not in running]
    if not ended:
        return status
    ledger = status.ledger
    for uid in ended:
        ledger = books.closed(ledger, uid, seen.now)
    return replace(status, ledger=ledger, leaving=tuple(uid for uid in status.leaving if uid in running))


def _with_starts(status: ElasticStatus, seen: Seen) -> ElasticStatus:
    """Remember how long pods took that got ready since the last step."""
    took = [
        pod.ready_at - pod.begin
        for pod in seen.pods
        if pod.ready_at is not None and status.at < pod.ready_at <= seen.now
    ]
    return replace(status, starts=(*status.starts, *took)[-RECENT:]) if took else status
