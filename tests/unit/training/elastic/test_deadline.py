"""The deadline policy: modes, what is wanted from which pool, conditions, and that waiting never costs the deadline."""

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kubedl.training.elastic.deadline import choose, secured, thresholds
from kubedl.training.elastic.terms import ConditionType, Decision, Mode, Reason, Situation, Terms

HOUR = 3600
ONE = Terms(size=1, min_size=1, work=48 * HOUR, started=0, deadline=60 * HOUR, cold_start=540)
FOUR = msgspec.structs.replace(ONE, size=4)
TOPPED, LAST = 2 * 540 + 6 * 90, 540 + 3 * 90


def at(hours: float, done: float, **fields: object) -> Situation:
    """So many hours after the start, with so many hours of work done and saved."""
    return msgspec.convert(
        {"now": int(hours * HOUR), "durable": done * HOUR, "progress": done * HOUR} | fields, Situation
    )


def with_slack(slack: int, **fields: object) -> Situation:
    """In the middle of the job, with so many seconds to spare."""
    done = (48 * HOUR - (60 * HOUR - 30 * HOUR - slack)) / HOUR
    return at(30, done, **fields)


def test_a_new_job_waits_for_spot_and_pays_nothing() -> None:
    decision = choose(ONE, at(0, 0))
    assert (decision.spot, decision.on_demand, decision.mode) == (1, 0, Mode.LINE)
    assert decision.conditions == (ConditionType.WAITING_FOR_SPOT,)
    assert decision.reason is Reason.AHEAD_OF_LINE


def test_it_looks_again_when_the_line_reaches_it() -> None:
    # The line is 48 - 0.85 · (60 - t): it passes 0 at 60 - 48 / 0.85 = 3.529 h.
    decision = choose(ONE, at(0, 0))
    assert decision.next_look == int((60 - 48 / 0.85) * HOUR) + 1
    behind = choose(ONE, at(decision.next_look / HOUR, 0))
    assert (behind.on_demand, behind.reason) == (1, Reason.BEHIND_LINE)
    assert ConditionType.ON_DEMAND_FALLBACK in behind.conditions


def test_behind_the_line_spot_that_starts_is_counted_on() -> None:
    assert choose(ONE, at(10, 0, spot_starting=1)).on_demand == 0


def test_on_demand_is_given_back_only_to_spot_that_has_joined() -> None:
    ahead = at(1, 1, on_demand_members=1, training=1)
    assert choose(ONE, ahead).on_demand == 1
    assert choose(ONE, msgspec.structs.replace(ahead, spot_starting=1)).on_demand == 1
    assert choose(ONE, msgspec.structs.replace(ahead, spot_members=1)).on_demand == 0


def test_a_small_deficit_is_made_up_by_a_part_of_the_size() -> None:
    line = 48 - 0.85 * (60 - 20)
    sixteen = msgspec.structs.replace(ONE, size=16, min_size=4)
    assert choose(sixteen, at(20, line - 0.001)).on_demand == 14  # 14 / 16 = 0.875
    assert choose(sixteen, at(20, line - 0.1)).on_demand == 16  # 0.85 + 0.1 h / 1 h = 0.95
    assert choose(sixteen, at(20, line - 0.001, spot_members=5, training=5)).on_demand == 9
    assert choose(sixteen, at(20, line - 0.001)).next_look == 20 * HOUR + 300


@pytest.mark.parametrize(
    ("slack", "mode"), [(TOPPED, Mode.LINE), (TOPPED - 1, Mode.TOPPED), (LAST, Mode.TOPPED), (LAST - 1, Mode.LAST)]
)
def test_modes_by_slack(slack: int, mode: Mode) -> None:
    assert thresholds(ONE, with_slack(slack)) == (TOPPED, LAST)
    assert choose(ONE, with_slack(slack, spot_members=1, training=1)).mode is mode


def test_topped_fills_up_and_last_takes_over() -> None:
    topped = choose(FOUR, with_slack(TOPPED - 60, spot_members=3, training=3))
    assert (topped.spot, topped.on_demand) == (4, 1)
    last = choose(FOUR, with_slack(LAST - 60, spot_members=3, training=3))
    assert (last.spot, last.on_demand) == (3, 4)


def test_last_is_left_only_with_the_slack_of_line() -> None:
    assert choose(ONE, with_slack(TOPPED - 1, mode=Mode.LAST)).mode is Mode.LAST
    assert choose(ONE, with_slack(TOPPED, mode=Mode.LAST)).mode is Mode.LINE


def test_only_what_is_durable_counts_where_a_notice_is_too_short_or_not_trusted() -> None:
    now = at(30, 20, durable=19 * HOUR, spot_members=1)
    assert secured(ONE, now) == 20 * HOUR
    assert secured(ONE, msgspec.structs.replace(now, notices_trusted=False)) == 19 * HOUR
    assert secured(ONE, msgspec.structs.replace(now, checkpoint=116)) == 19 * HOUR
    assert secured(ONE, msgspec.structs.replace(now, checkpoint=115)) == 20 * HOUR
    on_demand = msgspec.structs.replace(now, notices_trusted=False, spot_members=0, on_demand_members=1)
    assert secured(ONE, on_demand) == 20 * HOUR


def test_a_silent_program_counts_as_what_it_saved() -> None:
    decision = choose(ONE, at(30, 20, durable=19 * HOUR, progress=None, spot_members=1))
    assert ConditionType.PROGRESS_UNKNOWN in decision.conditions
    assert decision.slack == HOUR * (30 - 29)


def test_a_slower_pace_than_promised_is_believed() -> None:
    slow = at(20, 20, spot_members=1, training=1, measured_pace=0.8)
    assert choose(ONE, slow).slack == pytest.approx(HOUR * (40 - 28 / 0.8))
    assert choose(ONE, slow).projected_end == int((20 + 28 / 0.8) * HOUR)


def test_the_deadline_is_at_risk_when_even_on_demand_is_too_late() -> None:
    assert ConditionType.DEADLINE_AT_RISK not in choose(ONE, with_slack(600)).conditions
    assert ConditionType.DEADLINE_AT_RISK in choose(ONE, with_slack(599)).conditions  # cold start and changeover
    assert ConditionType.DEADLINE_AT_RISK not in choose(ONE, with_slack(0, spot_members=1)).conditions
    assert ConditionType.DEADLINE_AT_RISK in choose(ONE, with_slack(-1, spot_members=1)).conditions


def test_fewer_members_than_wanted_are_shrunk() -> None:
    assert ConditionType.SHRUNK in choose(FOUR, at(1, 1, spot_members=3, training=3)).conditions
    assert ConditionType.SHRUNK not in choose(FOUR, at(1, 1, spot_members=4, training=4)).conditions


def test_without_a_deadline_on_demand_comes_only_after_the_longest_wait() -> None:
    patient = msgspec.structs.replace(ONE, deadline=None, max_wait=HOUR)
    assert choose(patient, at(0.5, 0, waiting_since=0)).on_demand == 0
    assert choose(patient, at(0.5, 0, waiting_since=0)).next_look == HOUR
    waited = choose(patient, at(1, 0, waiting_since=0))
    assert (waited.on_demand, waited.reason, waited.slack) == (1, Reason.WAITED_TOO_LONG, None)


def test_spot_that_is_not_cheaper_is_not_waited_for() -> None:
    dear = msgspec.structs.replace(ONE, spot_price=1.0, on_demand_price=1.0)
    assert (choose(dear, at(0, 0)).spot, choose(dear, at(0, 0)).on_demand) == (0, 1)
    assert choose(dear, at(0, 0)).reason is Reason.SPOT_NOT_CHEAPER


def test_a_spent_budget_stops_everything() -> None:
    decision = choose(msgspec.structs.replace(ONE, max_cost=10.0), at(30, 1, spent=10.0))
    assert (decision.spot, decision.on_demand, decision.reason) == (0, 0, Reason.BUDGET_SPENT)


sizes = st.sampled_from([1, 2, 4, 16])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Terms, Situation]:
    """Any terms with a deadline that on-demand alone could keep, and any situation."""
    size = draw(sizes)
    work = draw(st.integers(HOUR, 100 * HOUR))
    terms = Terms(
        size=size,
        min_size=draw(st.integers(1, size)),
        work=work,
        started=0,
        deadline=int(work * draw(st.floats(1.05, 4))) + 1200,
        cold_start=draw(st.integers(60, 1200)),
        checkpoint=draw(st.integers(1, 200)),
        changeover=draw(st.integers(1, 120)),
        notice=draw(st.sampled_from([0, 30, 120])),
    )
    assert terms.deadline is not None
    progress = draw(st.floats(0, work))
    spot = draw(st.integers(0, size))
    on_demand = draw(st.integers(0, size - spot))
    now = Situation(
        now=draw(st.integers(0, terms.deadline)),
        durable=progress * draw(st.floats(0, 1)),
        progress=draw(st.sampled_from([progress, None])),
        training=draw(st.sampled_from([0, spot + on_demand])),
        spot_members=spot,
        spot_starting=draw(st.integers(0, size - spot)),
        on_demand_members=on_demand,
        on_demand_starting=draw(st.integers(0, size - on_demand)),
        notices_trusted=draw(st.booleans()),
    )
    return terms, now


def needed(terms: Terms, now: Situation) -> float:
    """The seconds that on-demand needs from the moment at which it is asked for, after everything that may be lost."""
    return terms.work - secured(terms, now) + terms.cold_start + 2 * terms.checkpoint + terms.changeover


def waits(decision: Decision) -> bool:
    """Whether the job's progress is left to the spot market."""
    return decision.on_demand == 0


@given(cases())
def test_it_never_waits_when_waiting_misses_the_deadline(case: tuple[Terms, Situation]) -> None:
    terms, now = case
    assert terms.deadline is not None
    decision = choose(terms, now)
    if waits(decision) and now.spot_members + now.spot_starting == 0:
        assert decision.next_look is not None
        assert decision.next_look + needed(terms, now) <= terms.deadline + 1
    if now.now + needed(terms, now) > terms.deadline:
        assert decision.on_demand == terms.size


@given(cases())
def test_it_looks_before_a_threshold_is_passed_by_more_than_a_second(case: tuple[Terms, Situation]) -> None:
    terms, now = case
    decision = choose(terms, now)
    assume(decision.mode is Mode.LINE and now.training == 0)
    topped, _ = thresholds(terms, now)
    assert decision.slack is not None
    assert decision.next_look is not None
    assert decision.slack - (decision.next_look - now.now) >= topped - 1 - 1e-6
    assert decision.next_look > now.now


@given(cases(), st.floats(0, 10 * HOUR))
def test_more_progress_never_wants_more_on_demand(case: tuple[Terms, Situation], more: float) -> None:
    terms, now = case
    assume(now.progress is not None)
    ahead = msgspec.structs.replace(now, durable=now.durable + more, progress=(now.progress or 0) + more)
    assert choose(terms, ahead).on_demand <= choose(terms, now).on_demand


@given(cases(), st.integers(0, 10 * HOUR))
def test_less_time_never_wants_less_on_demand(case: tuple[Terms, Situation], less: int) -> None:
    terms, now = case
    later = msgspec.structs.replace(now, now=now.now + less)
    assert choose(terms, later).on_demand >= choose(terms, now).on_demand


@given(cases())
def test_no_pool_is_asked_for_more_than_the_size(case: tuple[Terms, Situation]) -> None:
    terms, now = case
    decision = choose(terms, now)
    assert 0 <= decision.on_demand <= terms.size
    assert 0 <= decision.spot <= terms.size
    if decision.mode is not Mode.LAST:
        assert decision.on_demand + now.spot_members <= terms.size


@given(cases(), st.integers(1, 600))
def test_slower_starts_never_want_less_on_demand(case: tuple[Terms, Situation], more: int) -> None:
    terms, now = case
    slower = msgspec.structs.replace(now, cold_start=terms.cold_start + more)
    assert choose(terms, slower).on_demand >= choose(terms, now).on_demand
