"""Pauses that grow, and an end."""

import pytest

from kubedl.oci.retry import GIVE_UP, LONGEST, LONGEST_ASKED, RetryPolicy, asked_for


class Clock:
    """Time that passes only while somebody pauses."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)


def test_pauses_grow_up_to_a_bound_and_then_it_is_given_up() -> None:
    clock = Clock()
    patience = RetryPolicy(lambda: clock.now, clock.pause)
    while not patience.spent():
        patience.wait()
    assert all(early < late for early, late in zip(clock.pauses[:4:2], clock.pauses[2:6:2], strict=True))
    assert max(clock.pauses) <= LONGEST
    assert GIVE_UP < clock.now <= GIVE_UP + LONGEST


def test_whatever_moves_begins_the_count_anew() -> None:
    clock = Clock()
    patience = RetryPolicy(lambda: clock.now, clock.pause)
    while not patience.spent():
        patience.wait()
    patience.progressed()
    assert not patience.spent()
    patience.wait()
    assert clock.pauses[-1] <= 0.5


def test_what_a_registry_asks_for_is_granted_up_to_a_bound() -> None:
    clock = Clock()
    patience = RetryPolicy(lambda: clock.now, clock.pause)
    patience.wait(7)
    patience.wait(100_000)
    assert clock.pauses == [7, LONGEST_ASKED]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("", None), ("-1", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("9" * 99, None)],
)
def test_what_a_header_asks_for(header: str, seconds: float | None) -> None:
    assert asked_for(header) == seconds
