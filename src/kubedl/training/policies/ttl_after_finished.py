"""ttlSecondsAfterFinished: a finished job is deleted, with its dependents, after this time."""

from datetime import datetime, timedelta

from kubedl.training.policies.safe_time import later


def expiry(completion: datetime | None, seconds: int | None) -> datetime | None:
    """Return when the job is deleted; None if never."""
    return later(completion, timedelta(seconds=seconds)) if completion is not None and seconds is not None else None
