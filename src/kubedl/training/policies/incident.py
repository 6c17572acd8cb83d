"""Failures that belong together, and the first cause among them.

In a collective one death makes the survivors fail with ordinary exit codes a moment later. So under the scope Job all
failures are one incident, and one that explains itself (a disruption, a kill) outranks an ordinary exit. If none does,
the verdict waits while a silent peer may still turn out to be the cause: its node may be lost and not yet known to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.training.policies.failure import Cost, Failure


@dataclass(frozen=True)
class Verdict:
    """What to do about the failures of a job."""

    cause: Failure | None = None
    wait_until: datetime | None = None


def judge_together(failures: Sequence[Failure], silent_peers: bool, settle: timedelta, now: datetime) -> Verdict:
    """The one cause of all these failures, or until when to wait for it."""
    if not failures:
        return Verdict()
    cause = min(failures, key=lambda failure: (failure.cost, failure.when, failure.replica))
    first = min(failure.when for failure in failures)
    if cause.cost is Cost.JOB and silent_peers and now < first + settle:
        return Verdict(wait_until=first + settle)
    return Verdict(cause=cause)
