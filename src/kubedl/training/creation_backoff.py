"""Backoff of creates after a rejection.

Delays double up to about a minute. Only time or an edit of the job ends them: events of its pods, and its own status
update, must not cause an immediate retry. If many jobs of a namespace are rejected, their delays start longer, so that
together they make few attempts per second.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.kube.types.meta import ObjectKey, ObjectMeta

FIRST, LONGEST = timedelta(seconds=2), timedelta(seconds=64)
ATTEMPTS = 15  # attempts per second of all rejected jobs of a namespace; the longest delay has precedence
KEPT = timedelta(seconds=60)  # in which a rejection with the same reason but another message is not written again


@dataclass(frozen=True)
class _Refused:
    job: tuple[str, int]  # uid and generation
    times: int
    until: datetime
    message: str
    worded_at: datetime


class CreationBackoff:
    """The rejected jobs of one kind."""

    def __init__(self, jitter: Callable[[], float] = random.random) -> None:
        self._refused: dict[ObjectKey, _Refused] = {}
        self._in_namespace: Counter[str] = Counter()  # rejected jobs
        self._terminating: dict[str, datetime] = {}  # terminating namespaces, and when they were last seen
        self._jitter = jitter

    def until(self, job: ObjectMeta, now: datetime) -> datetime | None:
        """Return when creates may be retried; None if now, and if the clock has been set back since."""
        refusal = self._refused.get(job.key)
        if refusal is None or refusal.job != (job.uid, job.generation) or not now < refusal.until <= now + 2 * LONGEST:
            return None
        return refusal.until

    def record_refusal(self, job: ObjectMeta, message: str, now: datetime) -> None:
        """Record a rejection."""
        refusal, identity = self._refused.get(job.key), (job.uid, job.generation)
        if refusal is None or refusal.job != identity:
            refusal = _Refused(identity, 0, now, message, now)
        if job.key not in self._refused:
            self._in_namespace[job.namespace] += 1
        share = timedelta(seconds=self._in_namespace[job.namespace] / ATTEMPTS)
        pause = min(max(FIRST * 2 ** min(refusal.times, 16), share), LONGEST) * (1 + self._jitter() / 8)
        worded_at = refusal.worded_at if refusal.message == message else now
        self._refused[job.key] = _Refused(identity, refusal.times + 1, now + pause, message, worded_at)

    def throttled_message(self, job: ObjectMeta, message: str, now: datetime) -> str:
        """Return the message of a rejection with the same reason: for a minute, the previous message."""
        refusal = self._refused.get(job.key)
        if refusal is None or refusal.job != (job.uid, job.generation) or abs(now - refusal.worded_at) >= KEPT:
            return message
        return refusal.message

    def release(self, key: ObjectKey) -> None:
        """Reset after a success, or when the job is gone."""
        if self._refused.pop(key, None) is not None:
            self._in_namespace[key.namespace] -= 1
            if not self._in_namespace[key.namespace]:
                del self._in_namespace[key.namespace]

    def record_terminating(self, namespace: str, now: datetime) -> None:
        """Record that the namespace is terminating."""
        self._terminating = {name: at for name, at in self._terminating.items() if now - at < LONGEST}
        self._terminating[namespace] = now

    def terminating_until(self, job: ObjectMeta, now: datetime) -> datetime | None:
        """Return when to check a job of a terminating namespace again; None if it is not terminating.

        A job created later is in a new namespace with the same name.
        """
        at = self._terminating.get(job.namespace)
        if at is None or abs(now - at) >= LONGEST or (job.creation_timestamp or at) > at:
            return None
        return at + LONGEST
