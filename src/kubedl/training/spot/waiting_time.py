"""How long a job has waited for nodes, as `maxWaitSeconds` counts: only while nodes of its pools are what is missing.

Time in which it is suspended, held back, or pulls images does not count, and does not begin the count anew: only
training does.
"""

from datetime import datetime, timedelta

import msgspec

from kubedl.api.spot import SpotStatus
from kubedl.schema.structural import MAX_INT32
from kubedl.training.policies.safe_time import later


def counted(status: SpotStatus, now: datetime, *, trains: bool, waits: bool) -> SpotStatus:
    """Return the status with the count as it is now; the same one if nothing has changed."""
    if trains:
        since, before = None, 0
    elif waits:
        since, before = status.waiting_since or now, _before(status)
    else:
        since, before = None, waited(status, now)
    if (since, before) == (status.waiting_since, status.waited_seconds):
        return status
    return msgspec.structs.replace(status, waiting_since=since, waited_seconds=before)


def waited(status: SpotStatus, now: datetime) -> int:
    """Return for how many seconds the job has waited since it last trained."""
    current = now - status.waiting_since if status.waiting_since is not None else timedelta()
    return min(_before(status) + max(int(current.total_seconds()), 0), MAX_INT32)


def end_of(status: SpotStatus, most: int | None) -> datetime | None:
    """Return when the job will have waited too long; None if it does not wait."""
    if most is None or status.waiting_since is None:
        return None
    return later(status.waiting_since, timedelta(seconds=most - _before(status)))


def is_too_long(status: SpotStatus, most: int | None, now: datetime) -> bool:
    """Return whether the job waits, and has waited too long."""
    return most is not None and status.waiting_since is not None and waited(status, now) >= most


def _before(status: SpotStatus) -> int:
    """Return the seconds of before; somebody may have edited the status."""
    return min(max(status.waited_seconds, 0), MAX_INT32)
