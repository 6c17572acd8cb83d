"""Failures that belong together."""

from datetime import timedelta

import pytest

from kubedl.training.job import Replica
from kubedl.training.policies.failure_policy import Failure, FailureClass
from kubedl.training.policies.root_cause import RootCause, root_cause
from tests.training_builders import after

SETTLE = timedelta(seconds=60)


def failure(index: int, cost: FailureClass, when: float = 0) -> Failure:
    """Of one worker."""
    return Failure(Replica("Worker", index), cost, after(when), "failed")


def test_nothing_happened() -> None:
    """No failures, no verdict."""
    assert RootCause() == root_cause([], silent_peers=True, settle=SETTLE, now=after(0))


@pytest.mark.parametrize(
    ("failures", "cause"),
    [
        ([failure(0, FailureClass.PERMANENT, -5), failure(1, FailureClass.RETRYABLE, -1)], 1),
        ([failure(0, FailureClass.RETRYABLE, -5), failure(1, FailureClass.DISRUPTION, -1)], 1),
        (
            [
                failure(0, FailureClass.PERMANENT, -5),
                failure(1, FailureClass.DISRUPTION, -1),
                failure(2, FailureClass.RETRYABLE, -9),
            ],
            1,
        ),
        ([failure(0, FailureClass.RETRYABLE, -1), failure(1, FailureClass.RETRYABLE, -2)], 1),
        ([failure(2, FailureClass.RETRYABLE, -1), failure(1, FailureClass.RETRYABLE, -1)], 1),
    ],
)
@pytest.mark.parametrize("silent", [True, False])
def test_what_explains_itself_is_the_cause_at_once(failures: list[Failure], cause: int, silent: bool) -> None:
    """A disruption before a kill before an ordinary exit; of equals the first; the rest are echoes."""
    verdict = root_cause(failures, silent_peers=silent, settle=SETTLE, now=after(0))
    assert verdict == RootCause(cause=failures[cause])


@pytest.mark.parametrize(
    ("silent", "now", "waits"), [(True, 10, True), (True, 49, True), (True, 50, False), (False, 0, False)]
)
def test_an_ordinary_exit_waits_for_silent_peers_and_no_longer(silent: bool, now: float, waits: bool) -> None:
    """From the first exit on: a later one prolongs nothing."""
    failures = [failure(1, FailureClass.PERMANENT, 5), failure(0, FailureClass.PERMANENT, -10)]
    verdict = root_cause(failures, silent_peers=silent, settle=SETTLE, now=after(now))
    assert verdict == (RootCause(wait_until=after(50)) if waits else RootCause(cause=failures[1]))
