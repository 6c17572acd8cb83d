"""What the user and the administrator said about a job, as the deadline policy reads it. Pure."""

from datetime import UTC, datetime, timedelta

import msgspec

from kubedl.api.spot import Spot
from kubedl.training.elastic.terms import Terms
from kubedl.training.job import Job
from kubedl.training.policies.safe_time import later
from kubedl.training.spot.pools import Pools

FIRST_YEAR, LAST_YEAR = 2000, 2100
FAR = 2**37  # seconds: the year 6325


class DateError(Exception):
    """The deadline is no date."""


def seconds_of(moment: datetime) -> int:
    """Return a time as the policy counts it."""
    return int(moment.timestamp())


def moment_of(seconds: int | None) -> datetime | None:
    """Return a time of the policy as a date; None if there is none, or no calendar reaches it."""
    if seconds is None or not 0 <= seconds < FAR:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def deadline_of(spot: Spot, started: datetime | None) -> datetime | None:
    """Return when the training has to be done; None if it does not matter, or is not known yet. Raises DateError.

    The API server refuses what is no date. Whatever comes past it must not stop the operator.
    """
    if spot.deadline is not None:
        try:
            found = msgspec.convert(spot.deadline, datetime)
        except msgspec.ValidationError as error:
            raise DateError(f"spec.spot.deadline is no date: {error}") from error
        if found.tzinfo is None or not FIRST_YEAR <= found.year < LAST_YEAR:
            raise DateError(f"spec.spot.deadline is no date with a zone from {FIRST_YEAR} to {LAST_YEAR - 1}")
        return found.astimezone(UTC).replace(microsecond=0)
    if spot.deadline_seconds is None or started is None:
        return None
    return later(started, timedelta(seconds=spot.deadline_seconds))


def smallest_size(job: Job, role: str) -> int:
    """Return how many replicas train at least: the smallest number of workers, and all replicas of other roles.

    A job that is not elastic is refused when it starts; one that started before needs all of them.
    """
    if job.spec.elastic is None:
        return job.size
    return min(int(job.spec.elastic.min_replicas) + job.size - job.count(role), job.size)


def terms_of(job: Job, role: str, pools: Pools, started: datetime) -> Terms:
    """Return the terms of a job; all its replicas count, as they do for its framework."""
    spot: Spot = job.spec.spot
    deadline = deadline_of(spot, started)
    on_demand = spot.on_max_wait in (None, "OnDemand")
    return Terms(
        size=job.size,
        min_size=smallest_size(job, role),
        work=spot.work.seconds if spot.work is not None else 0,
        started=seconds_of(started),
        deadline=seconds_of(deadline) if deadline is not None else None,
        cold_start=max((pool.start_seconds for pool in pools.on_demand), default=300),
        notice=min((pool.notice_seconds for pool in pools.spot), default=0),
        min_on_demand=min(spot.min_on_demand, job.size),
        max_wait=spot.max_wait_seconds if on_demand else None,
    )
