"""How long a job waits after a refusal before anything is created for it again.

The pauses double up to about a minute, and only time ends them, or an edit of the job: what happens to its pods, and
the status that tells of the refusal coming back through the watch, would otherwise be reasons to try again at once.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.wire.meta import Key, ObjectMeta

FIRST, LONGEST = timedelta(seconds=2), timedelta(seconds=64)
KEPT = timedelta(seconds=60)  # for so long a refusal that only changes its words is not written again


@dataclass(frozen=True)
class _Refused:
    job: tuple[str, int]  # uid and generation
    times: int
    until: datetime
    message: str
    worded_at: datetime


class Holds:
    """The jobs of one kind that were refused something."""

    def __init__(self, jitter: Callable[[], float] = random.random) -> None:
        self._refused: dict[Key, _Refused] = {}
        self._jitter = jitter

    def until(self, job: ObjectMeta, now: datetime) -> datetime | None:
        """When creations may be tried again; None if now."""
        found = self._refused.get(job.key)
        if found is None or found.job != (job.uid, job.generation) or found.until <= now:
            return None
        return found.until

    def refuse(self, job: ObjectMeta, message: str, now: datetime) -> None:
        """Something was refused just now."""
        found, identity = self._refused.get(job.key), (job.uid, job.generation)
        if found is None or found.job != identity:
            found = _Refused(identity, 0, now, message, now)
        pause = min(FIRST * 2 ** min(found.times, 16), LONGEST) * (1 + self._jitter() / 8)
        worded_at = found.worded_at if found.message == message else now
        self._refused[job.key] = _Refused(identity, found.times + 1, now + pause, message, worded_at)

    def words(self, job: ObjectMeta, message: str, now: datetime) -> str:
        """What is to be said of a refusal for the same reason: for a minute, what was said before."""
        found = self._refused.get(job.key)
        if found is None or found.job != (job.uid, job.generation) or now - found.worded_at >= KEPT:
            return message
        return found.message

    def release(self, key: Key) -> None:
        """Nothing stands in the way any more, or the job is gone."""
        self._refused.pop(key, None)
