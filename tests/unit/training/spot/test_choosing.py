"""Spot or on-demand: entered as soon as the deadline asks for it, left only with a margin."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.training.elastic.terms import ConditionType, Reason, Terms
from kubedl.training.elastic.terms import Situation as Seen
from kubedl.training.spot.choosing import Mode, Situation, choose, margin

HOUR = 3600
FOUR = Terms(size=4, min_size=1, work=48 * HOUR, started=0, deadline=60 * HOUR, cold_start=540)
LINE = 48 - 0.85 * (60 - 20)  # hours of work 20 h after the start


def at(hours: float, done: float, mode: Mode = Mode.SPOT, terms: Terms = FOUR, **fields: Any) -> Situation:  # noqa: ANN401
    """So many hours after the start, with so many hours of work done and saved."""
    seen = {"now": int(hours * HOUR), "durable": done * HOUR, "progress": done * HOUR} | fields
    return Situation(terms, msgspec.convert(seen, Seen), mode)


def test_ahead_of_the_line_it_waits_for_spot() -> None:
    choice = choose(at(20, LINE + 0.01))
    assert (choice.mode, choice.on_demand, choice.reason) == (Mode.SPOT, 0, Reason.AHEAD_OF_LINE)


def test_behind_the_line_on_demand_fills_up() -> None:
    choice = choose(at(20, LINE - 1, spot_members=1, training=1))
    assert (choice.mode, choice.on_demand, choice.reason) == (Mode.ON_DEMAND, 3, Reason.BEHIND_LINE)


def test_on_demand_is_left_with_a_margin_only() -> None:
    """Right at the line nothing changes back and forth, whichever side it is on now."""
    ahead: dict[str, Any] = {"on_demand_members": 4, "training": 4}
    enough = margin(FOUR, Seen(now=0, durable=0)) / HOUR
    assert choose(at(20, LINE + 0.01, Mode.ON_DEMAND, **ahead)).mode is Mode.ON_DEMAND
    assert choose(at(20, LINE + enough - 0.01, Mode.ON_DEMAND, **ahead)).mode is Mode.ON_DEMAND
    assert choose(at(20, LINE + enough + 0.01, Mode.ON_DEMAND, **ahead)).mode is Mode.SPOT


def test_within_the_mode_on_demand_never_shrinks() -> None:
    assert choose(at(20, LINE + 0.01, Mode.ON_DEMAND, on_demand_members=2, spot_members=2, training=4)).on_demand == 2


def test_the_last_mode_takes_all_and_stays() -> None:
    slack = 540 + 3 * 90
    done = (48 * HOUR - (60 * HOUR - 30 * HOUR - slack + 60)) / HOUR
    choice = choose(at(30, done, spot_members=4, training=4))
    assert (choice.mode, choice.on_demand, choice.may_move) == (Mode.LAST, 4, True)
    later = choose(at(30, done + 0.1, Mode.LAST, on_demand_members=4, training=4))
    assert later.mode is Mode.LAST


def test_replicas_are_not_moved_if_that_would_make_it_late() -> None:
    done = (48 * HOUR - (60 * HOUR - 30 * HOUR - 300)) / HOUR
    choice = choose(at(30, done, spot_members=4, training=4))
    assert (choice.mode, choice.may_move) == (Mode.LAST, False)


@pytest.mark.parametrize("unknown", [{"progress": None}, {"notices_trusted": False}])
def test_who_trains_is_not_moved_by_guesses(unknown: dict[str, Any]) -> None:
    assert not choose(at(10, 20, spot_members=4, training=4, **unknown)).may_move


def test_without_a_deadline_only_a_long_wait_asks_for_on_demand_which_stays() -> None:
    free = msgspec.structs.replace(FOUR, deadline=None, work=0, max_wait=600)
    assert choose(at(1, 0, terms=free, waiting_since=HOUR - 599)).mode is Mode.SPOT
    choice = choose(at(1, 0, terms=free, waiting_since=HOUR - 600))
    assert (choice.mode, choice.on_demand, choice.reason) == (Mode.ON_DEMAND, 4, Reason.WAITED_TOO_LONG)
    assert choose(at(1, 0, terms=free, spot_members=4, training=4)).projected_end is None
    assert choose(at(2, 0, Mode.ON_DEMAND, free, on_demand_members=4, training=4)).mode is Mode.ON_DEMAND


def test_a_risk_is_over_only_with_a_margin() -> None:
    risk = ConditionType.DEADLINE_AT_RISK
    cold = FOUR.cold_start + FOUR.changeover
    done = (48 * HOUR - (60 * HOUR - 30 * HOUR - cold - 30)) / HOUR  # 30 s more than it takes to start
    situation = at(30, done, Mode.LAST)
    assert risk not in choose(situation).conditions
    assert risk in choose(msgspec.structs.replace(situation, at_risk=True)).conditions


@given(
    hours=st.floats(0, 70),
    done=st.floats(0, 48),
    mode=st.sampled_from(Mode),
    spot=st.integers(0, 4),
    least=st.integers(0, 4),
)
def test_any_situation_has_a_choice_that_is_stable(
    hours: float, done: float, mode: Mode, spot: int, least: int
) -> None:
    """The same situation, with the mode that was chosen, gives the same choice again: nothing flaps by itself."""
    terms = msgspec.structs.replace(FOUR, min_on_demand=least)
    situation = at(hours, done, mode, terms, spot_members=spot, training=spot)
    choice = choose(situation)
    assert least <= choice.on_demand <= 4
    again = choose(msgspec.structs.replace(situation, mode=choice.mode))
    assert (again.mode, again.on_demand) == (choice.mode, choice.on_demand)
