"""Texts of others are bounded and one line; durations are short."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.training.formatting import STEPS, coarse, duration, shorten, since
from tests.training_builders import NOW


@given(text=st.text(max_size=3000), most=st.integers(16, 1024))
def test_a_text_is_one_line_of_bounded_length(text: str, most: int) -> None:
    """Whatever is in it."""
    line = shorten(text, most)
    assert len(line) <= most
    assert "\n" not in line


def test_the_beginning_and_the_end_stay() -> None:
    """An error begins with what failed and ends with why."""
    line = shorten("failed to pull " + "x" * 100_000 + " not found", 60)
    assert line.startswith("failed to pull x")
    assert line.endswith("x not found")
    assert len(line) <= 60
    assert shorten("a\n  b", 60) == "a b"


def test_it_is_cut_between_words() -> None:
    """Pieces of words are no help to a reader."""
    text = "violates PodSecurity: unrestricted capabilities (container must set securityContext)"
    assert shorten(text, 60) == "violates PodSecurity: … must set securityContext)"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-5, "0 s"), (41, "41 s"), (125, "2 min 5 s"), (3 * 3600 + 120, "3 h 2 min"), (90000, "1 d 1 h")],
)
def test_durations(seconds: int, expected: str) -> None:
    """Two units at most; a clock that runs behind makes none negative."""
    assert duration(timedelta(seconds=seconds)) == expected


@pytest.mark.parametrize(
    ("seconds", "text", "following"),
    [(-5, "", 10), (9, "", 10), (40, "40 s", 60), (59, "40 s", 60), (7300, "2 h", 18000), (90000, "1 d", 172800)],
)
def test_a_lower_bound_of_a_duration_changes_seldom(seconds: int, text: str, following: int) -> None:
    assert coarse(timedelta(seconds=seconds)) == (text, timedelta(seconds=following))


def test_the_last_step_of_a_duration_is_the_last() -> None:
    assert coarse(timedelta(days=1000)) == ("64 d", None)
    assert len(STEPS) == 20


def test_since() -> None:
    """With the date: a job may wait for days."""
    assert since(NOW) == " (since 2026-01-01T12:00:00Z)"
    assert since(None) == ""
