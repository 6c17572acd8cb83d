"""The ring of changes: what it keeps, and what it merges."""

from kubedl.console import cursor
from kubedl.console.cursor import Cursor
from kubedl.console.journal import Journal, Mark, Place, merge
from tests.unit.console.world import Clock

NLP, VISION = Place("jobs", "nlp"), Place("jobs", "vision")


def everywhere(_: Place) -> bool:
    return True


def test_a_position_in_the_ring_gets_exactly_what_came_after() -> None:
    """Also the newest one: nothing."""
    journal = Journal(Clock())
    for name in "abc":
        journal.add(NLP, name, name.encode())
    assert [change.uid for change in journal.since(1) or ()] == ["b", "c"]
    assert journal.since(3) == []


def test_a_position_that_is_not_covered_is_refused() -> None:
    """Because it is too old, or was never reached; then a viewer takes the list."""
    journal = Journal(Clock(), most=2)
    for name in "abc":
        journal.add(NLP, name, b"")
    assert journal.since(0) is None
    assert journal.since(1) is not None
    assert journal.since(4) is None


def test_changes_are_dropped_by_age() -> None:
    """So that a quiet cluster keeps no old rows."""
    clock = Clock()
    journal = Journal(clock, seconds=300)
    journal.add(NLP, "a", b"")
    clock.now += 301
    journal.add(NLP, "b", b"")
    assert journal.since(0) is None
    assert [change.uid for change in journal.since(1) or ()] == ["b"]


def test_a_merge_has_the_last_row_of_each_job() -> None:
    """Whatever the number of changes, so a slow viewer costs no memory."""
    journal = Journal(Clock())
    journal.add(NLP, "a", b"1")
    journal.add(NLP, "b", b"1")
    journal.add(NLP, "a", b"2")
    journal.add(NLP, "c", b"1")
    journal.add(NLP, "b", Mark.GONE)
    journal.add(NLP, "c", Mark.TOUCHED)
    journal.add(NLP, "b", Mark.TOUCHED)
    assert merge(journal.since(0) or (), everywhere) == ([b"2", b"1"], ["b"], ["c"])


def test_a_job_that_was_made_again_is_not_gone() -> None:
    """The later change counts."""
    journal = Journal(Clock())
    journal.add(NLP, "a", Mark.GONE)
    journal.add(NLP, "a", b"2")
    assert merge(journal.since(0) or (), everywhere) == ([b"2"], [], [])


def test_a_merge_has_nothing_of_hidden_places() -> None:
    """No row, no uid, no mark."""
    journal = Journal(Clock())
    for what in (b"secret", Mark.TOUCHED, Mark.GONE):
        journal.add(VISION, "v", what)
    journal.add(NLP, "n", b"1")
    assert merge(journal.since(0) or (), lambda place: place == NLP) == ([b"1"], [], [])


def test_a_cursor_survives_the_way_through_a_browser() -> None:
    """What is not one is nothing, never an error."""
    assert cursor.parse(str(Cursor("ab", 7, "cd"))) == ("ab", 7, "cd")
    for text in ("", "ab-7", "ab--1-cd", "ab-7-cd\n", "x-7-cd", f"ab-{'9' * 30}-cd"):
        assert cursor.parse(text) is None
