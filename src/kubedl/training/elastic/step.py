"""One step of an elastic job: from what is remembered and seen to what is remembered next, which says what to do.

The status is written before anything is done, and the same step over the written status changes nothing. So an operator
may die at any point: the next one finds in the status what is still to be done. That is: keep as many pods of each pool
as the decision wants, delete those that leave, ask for the checkpoint of the request's number, and let members train.
"""

from msgspec import Struct
from msgspec.structs import replace

from kubedl.training.elastic import ledger as books
from kubedl.training.elastic.deadline import LEAVE_MARGIN, checkpoint_seconds, choose, notice_suffices
from kubedl.training.elastic.ledger import Entry
from kubedl.training.elastic.membership import SETTLE, Present, present, wanted_members
from kubedl.training.elastic.observing import after_what_happened, situation
from kubedl.training.elastic.status import ElasticStatus, ReclaimEnd, Seen, SeenPod
from kubedl.training.elastic.terms import Decision, Mode, Situation, Terms

INTERVAL, SHORT_INTERVAL = 3600, 1200  # between checkpoints: where a notice leaves time for one, and where not


class Step(Struct, frozen=True):
    """What to write, and what was decided."""

    status: ElasticStatus
    decision: Decision
    next_look: int | None


def step(terms: Terms, status: ElasticStatus, seen: Seen) -> Step:
    """Decide what comes next. Pure."""
    status = after_what_happened(terms, _opened(status, seen), seen)
    there = present(seen.pods, status.members, status.leaving)
    now = situation(terms, status, seen, there)
    decision = choose(terms, now)
    changed = _change_members(terms, status, seen, decision, there, now)
    if changed.members != status.members:
        there = present(seen.pods, changed.members, changed.leaving)
        now = situation(terms, changed, seen, there)
        decision = choose(terms, now)
    status = _release(terms, replace(changed, mode=decision.mode), seen, decision, there)
    if _checkpoint_is_due(terms, status, seen, decision, now):
        status = _request(status, seen)
    return Step(status, decision, _next_look(terms, status, decision, there, now))


def _opened(status: ElasticStatus, seen: Seen) -> ElasticStatus:
    ledger = status.ledger
    for pod in seen.pods:
        if pod.uid not in ledger.open:
            pool = "spot" if pod.spot else "on-demand"
            entry = Entry(pool, pod.hourly, pod.on_demand_hourly, pod.share, pod.begin, pod.begin)
            ledger = books.opened(ledger, pod.uid, entry)
    return status if ledger is status.ledger else replace(status, ledger=ledger)


def _change_members(
    terms: Terms, status: ElasticStatus, seen: Seen, decision: Decision, there: Present, now: Situation
) -> ElasticStatus:
    if status.requested_at is not None:
        return status  # all wait for the checkpoint
    taken = [pod for pod in seen.pods if pod.taken_at is not None and pod.uid in status.members]
    if status.changing_since is not None and not taken:
        return status
    wanted = wanted_members(terms, decision, there, seen.now, max(terms.cold_start, now.cold_start))
    if wanted == status.members:
        return status
    if status.members and status.progress > status.durable:
        return _request(status, seen) if not taken or _fits(terms, taken, now) else status
    return _with_members(status, wanted, taken, seen.now)


def _fits(terms: Terms, taken: list[SeenPod], now: Situation) -> bool:
    """Return whether a checkpoint can be confirmed before the first of these nodes goes."""
    first = min(pod.taken_at for pod in taken if pod.taken_at is not None)
    return first - now.now - LEAVE_MARGIN >= checkpoint_seconds(terms, now)


def _with_members(status: ElasticStatus, members: tuple[str, ...], taken: list[SeenPod], now: int) -> ElasticStatus:
    gone = [uid for uid in status.members if uid not in members]
    ledger = status.ledger
    if status.changing_since is not None:
        ledger = books.changed_members(ledger, status.members, now - status.changing_since)
    ledger = books.joined(books.left(ledger, gone, now), members, now)
    reclaimed = [uid for uid in gone if any(pod.uid == uid for pod in taken)]
    # Who does not train because others are missing stays for now: `_release` decides about it.
    leaving = gone if members else reclaimed
    return replace(
        status,
        members=members,
        leaving=tuple(sorted({*status.leaving, *leaving})),
        training=False,
        changes=status.changes + 1,
        changing_since=now if members else None,
        waiting_since=None if members else now,
        saved_at=now,
        reclaims=(*status.reclaims, *([ReclaimEnd.CONFIRMED] if reclaimed else []))[-20:],
        reclaim_count=status.reclaim_count + bool(reclaimed),
        ledger=ledger,
    )


def _release(terms: Terms, status: ElasticStatus, seen: Seen, decision: Decision, there: Present) -> ElasticStatus:
    """Give back what is paid for nothing."""
    leaving = {pod.uid for pod in seen.pods if pod.taken_at is not None and pod.uid not in status.members}
    idle = (*there.starting, *there.ready)
    members = len(there.members)
    surplus = there.count(spot=False) - decision.on_demand
    if surplus > 0:
        leaving.update(pod.uid for pod in [pod for pod in idle if not pod.spot][:surplus])
    if decision.mode is Mode.LAST and members >= terms.size and not any(pod.spot for pod in there.members):
        leaving.update(pod.uid for pod in idle if pod.spot)
    if not members and there.count(spot=True) + decision.on_demand < terms.min_size:
        leaving.update(pod.uid for pod in idle if pod.spot)
    if leaving <= set(status.leaving):
        return status
    return replace(status, leaving=tuple(sorted({*status.leaving, *leaving})))


def _checkpoint_is_due(terms: Terms, status: ElasticStatus, seen: Seen, decision: Decision, now: Situation) -> bool:
    if not (status.training and seen.training) or status.requested_at is not None:
        return False
    if status.progress <= status.durable or seen.now < _due(terms, status, now):
        return False
    pause = checkpoint_seconds(terms, now) + terms.changeover
    return decision.mode is not Mode.LAST or decision.slack is None or decision.slack >= 2 * pause


def _due(terms: Terms, status: ElasticStatus, now: Situation) -> int:
    return status.saved_at + (INTERVAL if notice_suffices(terms, now) else SHORT_INTERVAL)


def _request(status: ElasticStatus, seen: Seen) -> ElasticStatus:
    return replace(status, request=status.request + 1, requested_at=seen.now, training=False)


def _next_look(terms: Terms, status: ElasticStatus, decision: Decision, there: Present, now: Situation) -> int | None:
    looks = [] if decision.next_look is None else [decision.next_look]
    if status.training:
        due = _due(terms, status, now)
        if due > now.now:
            looks.append(due)
        looks += [pod.ready_at + SETTLE for pod in there.ready if pod.ready_at is not None]
    return min((look for look in looks if look > now.now), default=None)
