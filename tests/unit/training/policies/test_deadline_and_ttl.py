"""activeDeadlineSeconds and ttlSecondsAfterFinished: moments, or none."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from kubedl.training.policies.active_deadline import deadline
from kubedl.training.policies.safe_time import LONG_AGO, NEVER, later
from kubedl.training.policies.ttl_after_finished import expiry
from tests.training_builders import NOW, after

LAST_DAY = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)


@pytest.mark.parametrize("policy", [deadline, expiry])
@pytest.mark.parametrize(
    ("start", "seconds", "expected"),
    [
        (NOW, 60, after(60)),
        (NOW, 0, NOW),
        (NOW, None, None),
        (None, 60, None),
        (None, None, None),
        (LAST_DAY, 2**31 - 1, NEVER),
    ],
)
def test_a_moment_needs_a_start_and_a_length(
    policy: Callable[[datetime | None, int | None], datetime | None],
    start: datetime | None,
    seconds: int | None,
    expected: datetime | None,
) -> None:
    """And a start that somebody made up overflows no calendar."""
    assert expected == policy(start, seconds)


def test_never_comes_after_everything() -> None:
    """In any time zone."""
    east = datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))
    assert NOW < later(LAST_DAY, timedelta.max) == NEVER
    assert LONG_AGO < NOW
    assert east > NOW
