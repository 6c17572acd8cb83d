"""activeDeadlineSeconds: the maximum duration of a job, from its start or last resume."""

from datetime import datetime, timedelta

from kubedl.training.policies.safe_time import later


def deadline(start: datetime | None, seconds: int | None) -> datetime | None:
    """Return when the job fails; None if never."""
    return later(start, timedelta(seconds=seconds)) if start is not None and seconds is not None else None
