"""ttlSecondsAfterFinished: a finished job is deleted, with all that belongs to it, some time after its end."""

from datetime import datetime, timedelta

from kubedl.training.policies.moment import later


def expiry(completion: datetime | None, seconds: int | None) -> datetime | None:
    """The moment at which the job is deleted; None if it stays."""
    return later(completion, timedelta(seconds=seconds)) if completion is not None and seconds is not None else None
