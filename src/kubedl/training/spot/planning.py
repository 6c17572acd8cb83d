"""Decides in each pass which pool every replica of a job belongs to, and sends those without a node there. Pure.

The pools are in the status before a pod is made for one of them, and a replica that changes its pool is of a past
attempt before its pod is deleted: an operator that dies at any point leaves nothing that the next one cannot go on
with. Replicas that train are moved by `elastic.reclaim`, after a checkpoint: they are those whose pod is of another
pool than the status says.
"""

from datetime import timedelta

import msgspec

from kubedl.api.conditions import is_true
from kubedl.api.elastic import ElasticStatus
from kubedl.api.spot import SpotProgress, SpotStatus
from kubedl.training import restarts
from kubedl.training.completion_messages import Outcome
from kubedl.training.elastic.reclaim_records import OVER
from kubedl.training.elastic.terms import ConditionType
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import PlanBuilder, ProgressRequest
from kubedl.training.policies import index_ranges
from kubedl.training.policies.safe_time import later
from kubedl.training.replica_status import observe_replicas
from kubedl.training.spot import assignment, losses, observing, progress, reporting, suspension, waiting_time
from kubedl.training.spot.assignment import Assigned, State
from kubedl.training.spot.choosing import Choice, Mode, Situation, choose
from kubedl.training.spot.moving import is_move
from kubedl.training.spot.observing import Memory, Scene, scene, situation
from kubedl.training.spot.pools import PoolNotFoundError, Pools, pool_of, pools_of
from kubedl.training.spot.refusal import INVALID, NOT_FOUND
from kubedl.training.spot.terms import DateError, moment_of, terms_of

POLL = timedelta(seconds=15)  # between two questions for progress
BETWEEN = timedelta(seconds=600)  # two moves of replicas that train
AFTER_NO_CHECKPOINT = timedelta(seconds=3600)
EXCEEDED = "MaxWaitExceeded"

Replicas = list[ObservedReplica]


def advance(builder: PlanBuilder, replicas: Replicas) -> tuple[Outcome | None, Replicas]:
    """Decide; returns why the job fails, if it waits in vain, and the replicas with their new attempts."""
    observed = builder.observed
    spec = observed.job.spec
    if spec.spot is None or spec.elastic is None or not replicas or replicas[0].succeeded:
        return None, replicas  # without elastic the add-on holds pods back
    try:
        pools = pools_of(observed.job.spec.spot, observed.settings.pools)
        before = _begun(observed, builder.status.spot or SpotStatus())
        terms_of(observed.job, observed.kind.elastic_role, pools, before.started_at or observed.now)
    except (PoolNotFoundError, DateError) as error:
        _hold(builder, replicas, NOT_FOUND if isinstance(error, PoolNotFoundError) else INVALID)
        return None, replicas
    seen = scene(observed, replicas, pools, assignment.read(before.pools, len(replicas)))
    status = waiting_time.counted(before, observed.now, trains=seen.trains, waits=seen.waits_for_nodes)
    status = _with_progress(builder, status, seen)
    most, answer = observed.job.spec.spot.max_wait_seconds, observed.job.spec.spot.on_max_wait
    builder.wake(waiting_time.end_of(status, most))
    if waiting_time.is_too_long(status, most, observed.now) and answer in ("Suspend", "Fail"):
        return _give_up(builder, status, answer), replicas
    choice = choose(_situation(builder, status, seen, pools))
    status = _assigned(builder, status, seen, pools, choice)
    builder.set(spot=status)
    reporting.report(builder, seen, pools, choice)
    if status.pools != (observed.job.resource.status.spot or SpotStatus()).pools:
        builder.moved = True  # pods are made for the pools that are in the status
    _ask(builder, seen)
    builder.wake(moment_of(choice.next_look))
    return None, _move(builder, replicas, seen)


def _hold(builder: PlanBuilder, replicas: Replicas, reason: str) -> None:
    """Let pods that run stay, and stop the clock: the add-on holds back others, and says why."""
    reporting.stop(builder, reason)
    if (status := builder.status.spot) is not None:
        trains = observing.trains(builder.observed, replicas)
        builder.set(spot=waiting_time.counted(status, builder.observed.now, trains=trains, waits=False))


def record_losses(builder: PlanBuilder, *, saved: bool) -> None:
    """Believe no progress that is in no checkpoint after replicas have failed, or left without one."""
    status = builder.status.spot
    if status is None:
        return
    before, after = builder.observed.job.resource.status, builder.status
    known, now = before.elastic or ElasticStatus(), after.elastic or ElasticStatus()
    unsaved = now.reclaim_counts.unsaved > known.reclaim_counts.unsaved
    unsaved |= any(one.left_at == builder.observed.now and one.confirmed_at is None for one in now.reclaims)
    if unsaved or (after.attempt > before.attempt and not saved) or losses.replaced(after) > losses.replaced(before):
        builder.set(spot=msgspec.structs.replace(status, progress=progress.lost(status.progress, builder.observed.now)))


def stop(builder: PlanBuilder, reason: str, *, ended: bool) -> None:
    """Nobody trains any more: the job is suspended, or has ended."""
    reporting.stop(builder, reason)
    status = builder.status.spot
    if status is None or ended:
        return
    done = progress.lost(status.progress, builder.observed.now) if status.pools else status.progress
    kept = SpotStatus(started_at=status.started_at, progress=done, suspended=status.suspended)
    builder.set(spot=kept)


def _begun(observed: Observed, status: SpotStatus) -> SpotStatus:
    """Return the status of a job that starts, for the first time or again."""
    if status.since is not None:
        return status
    return msgspec.structs.replace(status, started_at=status.started_at or observed.now, since=observed.now)


def _work(builder: PlanBuilder) -> int:
    work = builder.observed.job.spec.spot.work
    return work.seconds if work is not None else 0


def _with_progress(builder: PlanBuilder, status: SpotStatus, seen: Scene) -> SpotStatus:
    """Return the status with the progress of now, if that is worth a write."""
    now, work = _progress(builder, status, seen), _work(builder)
    return (
        msgspec.structs.replace(status, progress=now)
        if progress.is_worth_writing(status.progress, now, work)
        else status
    )


def _progress(builder: PlanBuilder, status: SpotStatus, seen: Scene) -> SpotProgress:
    """Return the progress as it is known now; who takes part is in the status that was written."""
    known = status.progress
    if not seen.trains or _has_changed(builder):
        known = progress.paused(_measured(builder, known, seen.size))
    training = seen.running if seen.trains and not _has_changed(builder) else 0
    return progress.updated(known, builder.observed.progress, _work(builder), training=training, size=seen.size)


def _measured(builder: PlanBuilder, known: SpotProgress, size: int) -> SpotProgress:
    """Return the progress with what those gained who took part until now: often they are together for minutes only."""
    job, elastic = builder.observed.job, builder.observed.job.resource.status.elastic
    if known.measured_at is None or elastic is None:
        return known
    others = job.size - job.count(builder.observed.kind.elastic_role)
    training = min(len(index_ranges.read(elastic.members)) + others, size)
    return progress.updated(known, builder.observed.progress, _work(builder), training=training, size=size)


def _has_changed(builder: PlanBuilder) -> bool:
    """Return whether others train since this pass than before."""
    before, now = builder.observed.job.resource.status.elastic, builder.status.elastic
    return (before.members if before is not None else "") != (now.members if now is not None else "")


def _situation(builder: PlanBuilder, status: SpotStatus, seen: Scene, pools: Pools) -> Situation:
    observed, started = builder.observed, status.started_at or builder.observed.now
    terms = terms_of(observed.job, observed.kind.elastic_role, pools, started)
    assigned = assignment.begin(assignment.read(status.pools, seen.size), pools, terms.min_on_demand, Mode(status.mode))
    unknown = reporting.is_progress_unknown(builder, seen)
    waits = status.waiting_since is not None
    memory = Memory(
        progress=_progress(builder, status, seen),
        is_known=not unknown and _is_measured(builder, status),
        elastic=builder.status.elastic or ElasticStatus(),
        waited=waiting_time.waited(status, observed.now) if waits else None,
    )
    return Situation(
        terms=terms,
        seen=situation(terms, seen, assigned, pools, memory, observed.now),
        mode=Mode(status.mode),
        at_risk=is_true(builder.status.conditions, ConditionType.DEADLINE_AT_RISK),
    )


def _is_measured(builder: PlanBuilder, status: SpotStatus) -> bool:
    """Return whether the program has ever said how far it is."""
    return builder.observed.progress.report is not None or status.progress != SpotProgress()


def _assigned(builder: PlanBuilder, status: SpotStatus, seen: Scene, pools: Pools, choice: Choice) -> SpotStatus:
    """Return the status with the mode and the pools of all replicas."""
    observed, now = builder.observed, builder.observed.now
    least = min(observed.job.spec.spot.min_on_demand, seen.size)
    known = assignment.read(status.pools, seen.size)
    assigned = assignment.begin(known, pools, least, choice.mode)
    assigned = _reverted(builder, status, seen, assigned, pools.names)
    if not _is_settled(builder, status):
        choice = msgspec.structs.replace(choice, may_move=False)
    placed = assignment.place(assigned, seen.placed, choice, pools, min_size=seen.min_size, least=least)
    moving = [rank for rank, name in enumerate(placed) if name != assigned[rank]]
    placed, again = assignment.try_others(placed, known, seen.placed, pools, now)
    builder.wake(again)
    if any(seen.placed[rank].state is State.TRAINING for rank in moving):
        status = msgspec.structs.replace(status, moved_at=now)
    if choice.mode != status.mode:
        status = msgspec.structs.replace(
            status,
            mode=choice.mode.value,
            since=now,
            reason=choice.reason.value,
            projected_end=moment_of(choice.projected_end),
        )
        reporting.tell_mode(builder, choice)
    return msgspec.structs.replace(status, pools=assignment.write(placed))


def _reverted(
    builder: PlanBuilder, status: SpotStatus, seen: Scene, assigned: Assigned, known: frozenset[str]
) -> Assigned:
    """Leave replicas where they are if their program did not save when they were to be moved."""
    if not _is_unsaved(builder, status):
        return assigned
    pools = [pool_of(one.current) if one.current is not None else "" for one in seen.replicas]
    stays = [one.state is State.TRAINING and name in known for one, name in zip(seen.placed, pools, strict=True)]
    return tuple(pools[rank] if stays[rank] else name for rank, name in enumerate(assigned))


def _is_unsaved(builder: PlanBuilder, status: SpotStatus) -> bool:
    """Return whether the last move of replicas that train was given up, since their program did not save."""
    records = [one for one in (builder.status.elastic or ElasticStatus()).reclaims if is_move(one)]
    moved = status.moved_at
    return bool(records) and moved is not None and records[-1].phase == "Cancelled" and records[-1].seen_at >= moved


def _is_settled(builder: PlanBuilder, status: SpotStatus) -> bool:
    """Return whether nobody is on the way from one node to another, and has not been for a while."""
    records = (builder.status.elastic or ElasticStatus()).reclaims
    pause = AFTER_NO_CHECKPOINT if _is_unsaved(builder, status) else BETWEEN
    is_rested = status.moved_at is None or later(status.moved_at, pause) <= builder.observed.now
    return is_rested and all(one.phase in OVER for one in records)


def _move(builder: PlanBuilder, replicas: Replicas, seen: Scene) -> Replicas:
    """Let the pods of replicas that do not train, and belong to another pool now, be of past attempts."""
    status = builder.status.spot or SpotStatus()
    assigned = assignment.read(status.pools, seen.size)
    idle = (State.WAITING, State.STARTING)
    going = [
        one
        for one, placed, name in zip(replicas, seen.placed, assigned, strict=True)
        if placed.state in idle and one.current is not None and pool_of(one.current) not in ("", name)
    ]
    if not going:
        return replicas
    restarts.next_attempt(builder, going)
    return observe_replicas(builder.observed, builder.status)


def _ask(builder: PlanBuilder, seen: Scene) -> None:
    """Ask the first replica how far it is, if a deadline depends on it."""
    spec, leader = builder.observed.job.spec, seen.replicas[0].current
    if spec.elastic.checkpoint is not None and _work(builder) and seen.trains and leader is not None:
        builder.report = ProgressRequest(leader, spec.elastic.checkpoint.port)
        builder.wake(later(builder.observed.now, POLL))


def _give_up(builder: PlanBuilder, status: SpotStatus, answer: str) -> Outcome | None:
    """The job has waited too long: it fails, or is suspended in the next pass."""
    observed = builder.observed
    if answer == "Fail":
        builder.set(spot=status)
        return EXCEEDED, f"no nodes were found within maxWaitSeconds ({observed.job.spec.spot.max_wait_seconds})"
    builder.set(spot=suspension.begin(status, observed.job, observed.now))
    builder.wake(later(observed.now, timedelta(seconds=1)))
    return None
