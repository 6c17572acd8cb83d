"""The suspension that `onMaxWait: Suspend` makes. It is in the status, since the operator edits no spec. Pure.

It ends when somebody resumes the job: by setting `suspend` to true and then to false, or by asking for more patience or
a later deadline. Other edits say nothing about it.
"""

from datetime import datetime

import msgspec

from kubedl.api.spot import SpotStatus, SpotSuspension
from kubedl.training.job import Job
from kubedl.training.plan import PlanBuilder
from kubedl.training.spot.terms import DateError, deadline_of

REASON = "WaitedTooLong"


def begin(status: SpotStatus, job: Job, now: datetime) -> SpotStatus:
    """Return the status of a job that is suspended from now on."""
    made = SpotSuspension(at=now, max_wait_seconds=job.spec.spot.max_wait_seconds or 0, deadline=_deadline(job, status))
    return msgspec.structs.replace(status, suspended=made, waiting_since=None, waited_seconds=0)


def message(made: SpotSuspension) -> str:
    """Return why the job is suspended, and how to resume it."""
    return (
        f"no nodes were found within maxWaitSeconds ({made.max_wait_seconds}): raise it, or set suspend to true and "
        "then to false"
    )


def resume(builder: PlanBuilder) -> None:
    """End a suspension, if its user has asked for it."""
    status: SpotStatus | None = builder.status.spot
    if status is not None and status.suspended is not None and _is_resumed(builder.observed.job, status):
        builder.set(spot=msgspec.structs.replace(status, suspended=None))


def obstacle(builder: PlanBuilder) -> tuple[str, str] | None:
    """Return why a job is suspended although its user has not suspended it."""
    status: SpotStatus | None = builder.status.spot
    made = status.suspended if status is not None else None
    return (REASON, message(made)) if made is not None else None


def _is_resumed(job: Job, status: SpotStatus) -> bool:
    spot, made = job.spec.spot, status.suspended
    if made is None or job.spec.suspend or spot is None:
        return True  # its user suspends it now, and resumes it later
    if spot.max_wait_seconds is None or spot.max_wait_seconds > made.max_wait_seconds or spot.on_max_wait != "Suspend":
        return True
    deadline = _deadline(job, status)
    return made.deadline is not None and (deadline is None or deadline > made.deadline)


def _deadline(job: Job, status: SpotStatus) -> datetime | None:
    try:
        return deadline_of(job.spec.spot, status.started_at)
    except DateError:
        return None
