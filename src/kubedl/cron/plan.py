"""Plans the next step of a Cron from the observed state. Pure.

A run is entered in the status, which is written only over the version it was computed from, before its job is created:
of two operators that see the same time come, one gets a conflict. So the status names every run that may be active,
whatever the caches of jobs lack, and Forbid and Replace are decided by it. A run in the status that is missing in the
caches is looked up in the API server.

Of several missed times only the latest is made up for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from kubedl.api.conditions import Condition, set_condition
from kubedl.api.cron import MOST_ROWS, Cron, CronStatus, RunReference
from kubedl.api.training import TrainingJob
from kubedl.cron import runs as of_runs
from kubedl.cron.runs import Run
from kubedl.cron.schedule import Schedule, ScheduleError, parse
from kubedl.kube.types.meta import Resource

READY = "Ready"
LOOK_AGAIN = timedelta(seconds=60)  # at the latest: the clock may have been set
TOLERANCE = timedelta(minutes=1)  # between the clocks of two operators
Kinds = Mapping[str, Resource[TrainingJob]]


@dataclass(frozen=True)
class Observed:
    """A Cron, its runs, and the time."""

    cron: Cron
    runs: tuple[Run, ...]  # the jobs that it controls, in the caches
    kinds: Kinds  # the installed kinds
    now: datetime
    absent: frozenset[RunReference] = frozenset()  # runs in the status that the API server does not have


@dataclass(frozen=True)
class Reason:
    """The condition Ready: why runs are started or not."""

    status: Literal["True", "False"]
    reason: str
    message: str = ""


@dataclass(frozen=True)
class Plan:
    """What to write for a Cron, in this order, and when to reconcile it again."""

    status: CronStatus
    inquire: tuple[RunReference, ...] = ()  # look these up in the API server, then plan again
    create: datetime | None = None  # the scheduled time of the run to create, after the status that names it is written
    replace: tuple[Run, ...] = ()  # active runs to delete
    expire: tuple[Run, ...] = ()  # finished runs to delete
    wake_at: datetime | None = None


@dataclass(frozen=True)
class _Runs:
    """The runs in the status, compared with the caches."""

    active: tuple[RunReference, ...]  # exist and have not ended
    pending: RunReference | None  # in the status, and not created
    lost: tuple[RunReference, ...]  # deleted before they ended
    unknown: tuple[RunReference, ...]  # not in the caches


def plan(observed: Observed) -> Plan:
    """Return what to do for this Cron now."""
    cron = observed.cron
    if cron.metadata.deletion_timestamp is not None:
        return Plan(cron.status)  # its runs are garbage-collected
    known = _compare(observed)
    if known.unknown:
        return Plan(cron.status, inquire=known.unknown)
    schedule = parse(cron.spec.schedule, cron.spec.time_zone)
    if isinstance(schedule, ScheduleError):
        return _idle(observed, known, Reason("False", schedule.reason, str(schedule)))
    obstacle = _obstacle(observed)
    if obstacle is not None:
        return _idle(observed, known, obstacle)
    return _scheduled(observed, known, schedule)


def with_reason(cron: Cron, status: CronStatus, said: Reason, now: datetime) -> CronStatus:
    """Return the status with the condition Ready."""
    generation = cron.metadata.generation
    condition = Condition(
        type=READY, status=said.status, reason=said.reason, message=said.message, observed_generation=generation
    )
    return msgspec.structs.replace(
        status, conditions=set_condition(status.conditions, condition, now), observed_generation=generation
    )


def _compare(observed: Observed) -> _Runs:
    cached = {(run.resource.kind, run.name): run for run in observed.runs}
    active = {name: run.reference() for name, run in cached.items() if not run.is_finished}
    pending: RunReference | None = None
    lost, unknown = [], []
    for entry in observed.cron.status.active:
        if (entry.kind, entry.name) in cached:
            continue
        if entry.kind not in observed.kinds:  # of a package that is no longer installed
            lost.append(entry)
        elif entry not in observed.absent:
            unknown.append(entry)
        elif entry.uid:
            lost.append(entry)
        else:
            pending = entry
    ordered = sorted(active.values(), key=lambda entry: (of_runs.minute_of(entry.name), entry.name))
    return _Runs(tuple(ordered), pending, tuple(lost), tuple(unknown))


def _obstacle(observed: Observed) -> Reason | None:
    """Why no run is started at any time."""
    spec, meta = observed.cron.spec, observed.cron.metadata
    if spec.template.kind not in observed.kinds:
        known = ", ".join(sorted(observed.kinds))
        return Reason("False", "UnknownKind", f"{spec.template.kind} is not a kind of job; there are {known}")
    if complaint := of_runs.template_complaint(spec.template, meta.namespace):
        return Reason("False", "InvalidTemplate", complaint)
    if spec.suspend:
        return Reason("False", "CronSuspended", "no runs are started while suspend is true")
    if spec.deadline is not None and observed.now > spec.deadline:
        return Reason("False", "DeadlineReached", f"no runs are started after {_text(spec.deadline)}")
    return None


def _idle(observed: Observed, known: _Runs, said: Reason) -> Plan:
    """Start no run, and look after those that there are."""
    return _plan(observed, known, said, known.active)


def _scheduled(observed: Observed, known: _Runs, schedule: Schedule) -> Plan:
    cron, now = observed.cron, observed.now
    last, policy = cron.status.last_schedule_time, cron.spec.concurrency_policy
    following = schedule.after(now if last is None else max(now, last))
    if following is not None and cron.spec.deadline is not None and following > cron.spec.deadline:
        following = None
    due, said = _due(observed, schedule)
    kept = known.active
    if due is None and known.pending is not None and last is not None and not _is_late(cron, last, now):
        due, kept = last, (*known.active, known.pending)  # its creation failed, or the operator died before it
    if due is None:
        return _plan(observed, known, said, kept, following)
    if known.active and policy == "Replace":
        return _plan(observed, known, _waiting(known, policy), kept, following, replaces=True)
    if (known.active and policy == "Forbid") or len(known.active) >= MOST_ROWS:
        return _plan(observed, known, _waiting(known, policy), kept, following)
    entry = of_runs.claimed(cron, due)
    decided = _plan(observed, known, said, (*known.active, entry), following)
    status = msgspec.structs.replace(decided.status, last_schedule_time=due)
    return replace(decided, status=status, create=due)


def _due(observed: Observed, schedule: Schedule) -> tuple[datetime | None, Reason]:
    """Return the latest scheduled time without a run, if one is to be started for it."""
    cron, now = observed.cron, observed.now
    said, last = Reason("True", "Scheduled"), cron.status.last_schedule_time
    since = last if last is not None else cron.metadata.creation_timestamp
    latest = schedule.latest(now)
    if last is not None and last > now + TOLERANCE:
        message = f"the clock was set back: the last run was scheduled for {_text(last)}, and none is repeated"
        return None, Reason("True", "ClockSetBack", message)
    if latest is None or since is None or latest <= since:
        return None, said
    if _is_late(cron, latest, now):
        within = f"startingDeadlineSeconds ({cron.spec.starting_deadline_seconds})"
        return None, Reason("True", "RunMissed", f"the run of {_text(latest)} was not started within {within}")
    return latest, said


def _is_late(cron: Cron, scheduled: datetime, now: datetime) -> bool:
    seconds = cron.spec.starting_deadline_seconds
    return seconds is not None and (now - scheduled).total_seconds() > seconds


def _waiting(known: _Runs, policy: str) -> Reason:
    oldest = known.active[0].name
    if policy == "Replace":
        return Reason("True", "ReplacingRun", f"a run is due and starts when {oldest} is deleted")
    if policy == "Forbid":
        return Reason("True", "WaitingForRun", f"a run is due and starts when {oldest} has ended (Forbid)")
    return Reason("True", "WaitingForRun", f"a run is due and waits: {len(known.active)} runs are active")


def _plan(
    observed: Observed,
    known: _Runs,
    said: Reason,
    active: tuple[RunReference, ...],
    following: datetime | None = None,
    *,
    replaces: bool = False,
) -> Plan:
    cron, now, limit = observed.cron, observed.now, observed.cron.spec.history_limit
    status = msgspec.structs.replace(
        with_reason(cron, cron.status, said, now),
        active=active,
        history=of_runs.history(cron.status.history, observed.runs, known.lost, limit, now),
        next_schedule_time=following,
    )
    unfinished = (run for run in observed.runs if not run.is_finished and not run.is_leaving)
    moments = [] if following is None else [following, now + LOOK_AGAIN]
    if following is None and cron.spec.deadline is not None and cron.spec.deadline >= now:
        moments.append(min(cron.spec.deadline + timedelta(seconds=1), now + LOOK_AGAIN))
    return Plan(
        status=status,
        replace=tuple(unfinished) if replaces else (),
        expire=of_runs.expired(observed.runs, limit),
        wake_at=min(moments, default=None),
    )


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
