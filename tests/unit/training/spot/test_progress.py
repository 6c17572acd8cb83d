"""What a program reports, and how far it is believed."""

from datetime import timedelta

import msgspec
import pytest

from kubedl.api.spot import SpotProgress
from kubedl.schema.structural import MAX_INT32
from kubedl.training.elastic.pace import measured_pace
from kubedl.training.spot.progress import Heard, Report, is_unknown, is_worth_writing, lost, updated
from tests.training_builders import after

WORK = 1000
KNOWN = SpotProgress(seconds=500, durable_seconds=400)


def said(step: int, durable: int, at: float = 0, total: int = 100) -> Heard:
    return Heard(Report(after(at), step, total, durable))


def test_progress_is_a_part_of_the_work() -> None:
    now = updated(SpotProgress(), said(20, 10), WORK, training=4, size=4)
    assert (now.seconds, now.durable_seconds) == (200, 100)


@pytest.mark.parametrize("report", [said(20, 10, total=0), said(-1, 0), said(1, -1), said(1, 0, total=10**16), Heard()])
def test_without_a_report_that_says_it_nothing_moves(report: Heard) -> None:
    assert updated(KNOWN, report, WORK, training=4, size=4) is KNOWN


def test_a_program_that_has_just_started_loses_nothing_by_saying_so() -> None:
    now = updated(KNOWN, said(0, 0), WORK, training=4, size=4)
    assert (now.seconds, now.durable_seconds) == (500, 400)


def test_more_than_all_of_it_is_all_of_it() -> None:
    assert updated(KNOWN, said(300, 200), WORK, training=4, size=4).seconds == WORK


def test_after_a_loss_trust_returns_with_the_next_checkpoint_only() -> None:
    """Not with a report of before, nor with the first one after it."""
    before = lost(KNOWN, after(100))
    assert (before.seconds, before.untrusted_since) == (400, after(100))
    assert updated(before, said(55, 45, at=90), WORK, training=4, size=4) == before
    assert updated(before, said(55, 40, at=200), WORK, training=4, size=4) == before
    again = updated(before, said(60, 58, at=300), WORK, training=4, size=4)
    assert (again.seconds, again.durable_seconds, again.untrusted_since) == (600, 580, None)


def test_a_program_that_is_behind_its_checkpoint_has_lost_it() -> None:
    now = updated(KNOWN, said(3, 0, at=50), WORK, training=4, size=4)
    assert (now.seconds, now.durable_seconds, now.untrusted_since) == (30, 0, after(50))


def test_the_pace_is_measured_while_the_same_replicas_train() -> None:
    """From the first step on, so that the start of the program counts for nothing."""
    first = updated(SpotProgress(), said(1, 0, at=500), 100_000, training=4, size=4)
    assert (first.trained, first.measured_at) == (0, after(500))
    assert measured_pace(first.gained, first.trained) == 1.0
    slow = updated(first, said(2, 0, at=2500), 100_000, training=4, size=4)
    assert (slow.trained, slow.gained, measured_pace(slow.gained, slow.trained)) == (2000, 1000, 0.5)
    half = updated(first, said(2, 0, at=2500), 100_000, training=2, size=4)
    assert measured_pace(half.gained, half.trained) == 1.0


def test_numbers_that_somebody_has_edited_stay_small_enough_to_be_written() -> None:
    edited = SpotProgress(
        seconds=-5, durable_seconds=-(10**30), trained=10**18, gained=10**30, measured_at=after(-6e10)
    )
    now = updated(edited, said(2, 0, at=100), WORK, training=4, size=4)
    assert (now.seconds, now.durable_seconds, now.trained, now.gained) == (20, 0, MAX_INT32, MAX_INT32)
    assert measured_pace(now.gained, now.trained) == 1.0


def test_it_is_written_by_percents() -> None:
    assert not is_worth_writing(KNOWN, msgspec.structs.replace(KNOWN, seconds=509), WORK)
    assert is_worth_writing(KNOWN, msgspec.structs.replace(KNOWN, seconds=510), WORK)
    assert is_worth_writing(KNOWN, lost(KNOWN, after(0)), WORK)
    assert not is_worth_writing(KNOWN, KNOWN, 0)


def test_silence_is_told_after_a_while_and_a_new_operator_says_nothing_else() -> None:
    silent = Heard(said(1, 1).report, after(0))
    assert not is_unknown(silent, after(119), was_unknown=False)
    assert is_unknown(silent, after(120), was_unknown=False)
    assert [is_unknown(Heard(), after(0), was_unknown=before) for before in (True, False)] == [True, False]
    assert not is_unknown(said(1, 1), after(0) + timedelta(hours=9), was_unknown=True)
    assert is_unknown(said(1, 1, total=0), after(0), was_unknown=False)
