"""activeDeadlineSeconds: a job may run only so long, counted from its start or from its last resume."""

from datetime import datetime, timedelta

from kubedl.training.policies.moment import later


def deadline(start: datetime | None, seconds: int | None) -> datetime | None:
    """The moment at which the job fails; None if there is no such moment."""
    return later(start, timedelta(seconds=seconds)) if start is not None and seconds is not None else None
