"""Groups failures, and finds their root cause.

In a collective, one failure makes the peers fail with ordinary exit codes a moment later. So with restartScope Job all
failures are one incident, and a failure with an explanation (disruption, kill) has precedence over an ordinary exit. If
there is none, the decision waits while a silent peer may still be the cause: its node may be lost but not yet reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.training.policies.failure_policy import Failure, FailureClass


@dataclass(frozen=True)
class RootCause:
    """The decision about the failures of a job."""

    cause: Failure | None = None
    wait_until: datetime | None = None


def root_cause(failures: Sequence[Failure], silent_peers: bool, settle: timedelta, now: datetime) -> RootCause:
    """Return the root cause of these failures, or until when to wait for it."""
    if not failures:
        return RootCause()
    cause = min(failures, key=lambda failure: (failure.cost, failure.when, failure.replica))
    first = min(failure.when for failure in failures)
    if cause.cost is FailureClass.PERMANENT and silent_peers and now < first + settle:
        return RootCause(wait_until=first + settle)
    return RootCause(cause=cause)
