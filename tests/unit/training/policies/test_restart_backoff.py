"""backoffLimit and the pauses between attempts."""

import pytest

from kubedl.training.policies.restart_backoff import exceeded, pause


@pytest.mark.parametrize(
    ("retries", "limit", "expected"),
    [(0, None, False), (1_000, None, False), (0, 0, False), (1, 0, True), (3, 3, False), (4, 3, True)],
)
def test_the_limit_is_what_may_be_used_up(retries: int, limit: int | None, expected: bool) -> None:
    """A limit of three allows three retries; without a limit there is none."""
    assert expected == exceeded(retries, limit)


@pytest.mark.parametrize(
    ("before", "disrupted", "seconds"),
    [
        (0, False, 0),
        (1, False, 5),
        (2, False, 10),
        (3, False, 20),
        (6, False, 160),
        (7, False, 300),
        (5_000, False, 300),
        (0, True, 0),
        (3, True, 0),
        (4, True, 5),
        (5, True, 10),
        (5_000, True, 300),
    ],
)
def test_pauses_double_up_to_five_minutes_and_disruptions_have_three_free(
    before: int, disrupted: bool, seconds: int
) -> None:
    """The first failure is repaired at once; a node that refuses pods at once does not make a hot loop."""
    assert seconds == pause(before, disrupted).total_seconds()
