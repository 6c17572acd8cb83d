"""Sets of indexes as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.training.policies import index_ranges
from tests import processor_time
from tests.hypothesis_settings import tried


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ([], ""),
        ([0], "0"),
        ([3, 1, 2], "1-3"),
        ([0, 1, 2, 5], "0-2,5"),
        ([0, 2, 4], "0,2,4"),
        ([7, 7], "7"),
    ],
)
def test_both_ways(members: list[int], text: str) -> None:
    """As batch Jobs write them."""
    assert text == index_ranges.write(members)
    assert frozenset(members) == index_ranges.read(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", set()),
        ("1,x,3", {1, 3}),
        ("5-2", set()),
        ("-3", set()),
        ("1-2-3", set()),
        ("1-", {1}),
        (" 1", set()),
        ("²", set()),
        ("1,,2", {1, 2}),
        ("5,2", {2, 5}),
        ("2-5,1-3,4", {1, 2, 3, 4, 5}),
        ("9" * 5_000, set()),
        ("1-" + "9" * 5_000, set()),
    ],
)
def test_what_cannot_be_read_counts_as_nothing(text: str, expected: set[int]) -> None:
    """A person may have edited the status."""
    assert expected == index_ranges.read(text)


def test_a_range_that_somebody_made_up_costs_no_memory() -> None:
    """Not more than the largest job could have."""
    assert len(index_ranges.read("0-999999999")) <= 10_001


@pytest.mark.parametrize("part", ["0-9999,", "0-9999,5,1-8,", "7,", "9999-0,", "x,", ","])
def test_a_text_that_fills_the_status_is_read_in_no_time(part: str) -> None:
    """The work is bounded by the largest job, however often somebody repeats a range."""
    text = part * (1_500_000 // len(part))
    assert processor_time.seconds(lambda: index_ranges.read(text)) < 0.1
    assert len(index_ranges.read(text)) <= 10_000


def test_the_largest_job_is_read_whole() -> None:
    """Every second index makes the most parts."""
    every_second = frozenset(range(1, 10_000, 2))
    assert every_second == index_ranges.read(index_ranges.write(every_second))


@given(st.sets(st.integers(0, 9_999), max_size=60))
@tried(100)
def test_reading_gives_what_was_written(members: set[int]) -> None:
    """For any set."""
    assert members == index_ranges.read(index_ranges.write(members))


@given(st.text(st.sampled_from("0123456789-, x"), max_size=30))
@tried(100)
def test_no_text_is_an_error(text: str) -> None:
    """Whatever it is."""
    assert all(member >= 0 for member in index_ranges.read(text))
