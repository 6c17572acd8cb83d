"""A version goes out in steps, comes back on a verdict, and hears a person once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kubedl.api.inference_rollout import Step
from kubedl.serving.rollout.analysis import GOOD, AnalysisResult, Metrics, Thresholds, evaluate
from kubedl.serving.rollout.commands import ANNOTATION, ANSWERED, NO_COMMAND, Command, pending_command
from kubedl.serving.rollout.state_machine import (
    LOOK,
    MOST_INTERRUPTIONS,
    STARTING,
    Observations,
    RolloutStrategy,
    State,
    advance,
    candidate_replicas,
    served,
    set_target,
    share,
    until_next,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
BOUNDS = Thresholds(error_rate=0.02, p99=timedelta(milliseconds=300), min_requests=100)
PLAN = RolloutStrategy((Step(weight=10, pause=60), Step(weight=50, pause=60)), BOUNDS)
BY_HAND = RolloutStrategy((Step(weight=10), Step(weight=50)))
BAD = AnalysisResult("Bad", "ErrorRate", "5.00% of 200 requests failed; at most 2.00% may")
UNKNOWN = AnalysisResult("Unknown", "TooFewRequests", "fewer than 100 requests seen")
SERVING = State(stable="v1")
UNREADY, REPLACED = Observations(ready=False), Observations(replaced=True)


def at_step(number: int, plan: RolloutStrategy = PLAN, now: datetime = NOW) -> State:
    """v2 on trial, in that step since `now`."""
    state = advance(plan, set_target(plan, SERVING, "v2", now), GOOD, now)
    return replace(state, step=number)


def test_a_first_version_is_served_at_once() -> None:
    assert set_target(PLAN, State(), "v1", NOW) == State(stable="v1")


@pytest.mark.parametrize("plan", [None, RolloutStrategy()])
def test_without_steps_a_new_version_is_served_at_once(plan: RolloutStrategy | None) -> None:
    assert set_target(plan, SERVING, "v2", NOW) == State(stable="v2")


@pytest.mark.parametrize("plan", [None, PLAN])
def test_a_version_that_is_not_wanted_any_more_is_not_served(plan: RolloutStrategy | None) -> None:
    """The server's image has the model from now on: there is nothing to try it against."""
    assert set_target(plan, SERVING, "", NOW) == State()
    assert set_target(plan, at_step(0), "", NOW) == State()


def test_nothing_is_tried_without_pods() -> None:
    """What serves stays what it is, so that the next version is tried when there are pods again."""
    state = set_target(PLAN, at_step(1), "v2", NOW, off=True)
    assert (state.phase, state.stable, state.candidate, state.reason) == ("Stable", "v1", "", "Off")
    assert set_target(PLAN, state, "v2", NOW, off=True) == state
    assert set_target(PLAN, state, "v1", NOW, off=True) == SERVING
    assert set_target(PLAN, state, "v2", NOW).candidate == "v2"


@pytest.mark.parametrize("state", [replace(at_step(1), phase="Promoting"), advance(PLAN, at_step(0), BAD, NOW)])
def test_what_was_decided_stays_decided_without_pods(state: State) -> None:
    assert set_target(PLAN, state, "v2", NOW, off=True) == state


def test_a_trial_ends_with_the_plan_for_it() -> None:
    state = set_target(None, at_step(0), "v1", NOW)
    assert (state.phase, state.candidate, state.stable) == ("Stable", "", "v1")


def test_a_new_version_gets_nothing_before_it_is_ready() -> None:
    state = advance(PLAN, set_target(PLAN, SERVING, "v2", NOW), UNKNOWN, NOW, observations=UNREADY)
    assert (state.phase, state.candidate, share(PLAN, state), served(state)) == ("Starting", "v2", 0, "v1")


def test_a_good_version_is_promoted_in_steps() -> None:
    """Its share grows step by step; then the predictor itself is replaced, and then the trial is over."""
    state, now, shares = set_target(PLAN, SERVING, "v2", NOW), NOW, []
    for _ in range(4):
        state = advance(PLAN, state, GOOD, now)
        shares.append((state.phase, share(PLAN, state), served(state)))
        now += MINUTE
    assert shares == [
        ("Stepping", 10, "v1"),
        ("Stepping", 50, "v1"),
        ("Promoting", 50, "v2"),
        ("Promoting", 50, "v2"),
    ]
    ended = advance(PLAN, state, GOOD, now, observations=REPLACED)
    assert (ended.phase, ended.stable, ended.candidate, share(PLAN, ended)) == ("Stable", "v2", "", 0)
    assert ended.reason == "Promoted"


def test_a_step_lasts_as_long_as_it_says() -> None:
    assert advance(PLAN, at_step(0), GOOD, NOW + MINUTE - timedelta(seconds=1)).step == 0
    assert advance(PLAN, at_step(0), GOOD, NOW + MINUTE).step == 1


def test_a_bad_version_is_rolled_back_within_its_step() -> None:
    state = advance(PLAN, at_step(0), BAD, NOW + timedelta(seconds=1))
    assert (state.phase, state.stable, state.rejected, share(PLAN, state)) == ("RolledBack", "v1", "v2", 0)
    assert (state.reason, state.message) == ("ErrorRate", BAD.message)


def test_a_rejected_version_is_not_tried_again_unasked() -> None:
    state = advance(PLAN, at_step(0), BAD, NOW)
    assert set_target(PLAN, state, "v2", NOW) == state
    assert set_target(PLAN, state, "v3", NOW).candidate == "v3"
    assert advance(PLAN, state, GOOD, NOW, Command("retry")).candidate == "v2"


def test_too_little_known_holds_a_version_where_it_is() -> None:
    """And says so; what it has is kept."""
    state = advance(PLAN, at_step(0), UNKNOWN, NOW + 10 * MINUTE)
    assert (state.phase, state.step, state.reason) == ("Stepping", 0, "TooFewRequests")
    assert "fewer than 100" in state.message
    assert advance(PLAN, state, GOOD, NOW + 11 * MINUTE).step == 1


def test_a_candidate_that_is_lost_has_no_share_and_begins_its_pause_anew() -> None:
    """What was measured of it in this step still counts."""
    lost = advance(PLAN, at_step(1), GOOD, NOW + MINUTE, observations=UNREADY)
    assert (lost.phase, lost.step, share(PLAN, lost)) == ("Starting", 1, 0)
    back = advance(PLAN, lost, GOOD, NOW + 2 * MINUTE)
    assert (back.phase, back.step, back.since, share(PLAN, back)) == ("Stepping", 1, NOW + 2 * MINUTE, 50)
    assert back.step_since == NOW


def test_a_candidate_that_crashes_again_and_again_is_rolled_back() -> None:
    """However soon it is back each time, and whatever nobody could measure."""
    state, now = at_step(0), NOW
    for _ in range(MOST_INTERRUPTIONS):
        state = advance(PLAN, state, UNKNOWN, now := now + MINUTE / 2, observations=UNREADY)
        assert state.phase == "Starting"
        state = advance(PLAN, state, UNKNOWN, now := now + MINUTE / 2)
        assert (state.phase, state.step) == ("Stepping", 0)
    ended = advance(PLAN, state, UNKNOWN, now + MINUTE / 2, observations=UNREADY)
    assert (ended.phase, ended.reason, ended.rejected) == ("RolledBack", "Unstable", "v2")


def test_a_step_that_was_passed_forgives_its_interruptions() -> None:
    state = advance(PLAN, replace(at_step(0), interruptions=MOST_INTERRUPTIONS), GOOD, NOW + MINUTE)
    assert (state.step, state.interruptions, state.step_since) == (1, 0, NOW + MINUTE)


def test_a_crash_does_not_hide_what_was_measured() -> None:
    state = advance(PLAN, at_step(0), BAD, NOW, observations=UNREADY)
    assert (state.phase, state.reason) == ("RolledBack", "ErrorRate")


def test_a_candidate_that_never_gets_ready_is_rolled_back() -> None:
    state = set_target(PLAN, SERVING, "v2", NOW)
    soon = NOW + STARTING - timedelta(seconds=1)
    assert advance(PLAN, state, UNKNOWN, soon, observations=UNREADY).phase == "Starting"
    late = advance(PLAN, state, UNKNOWN, NOW + STARTING, observations=UNREADY)
    assert (late.phase, late.reason) == ("RolledBack", "NotReady")


def test_a_pause_without_an_end_waits_for_a_person() -> None:
    state = advance(BY_HAND, at_step(0, BY_HAND), GOOD, NOW + timedelta(days=9))
    assert (state.step, state.reason) == (0, "Paused")
    assert advance(BY_HAND, state, GOOD, NOW, Command("next")).step == 1


def test_a_word_is_done_once() -> None:
    """It stays in the annotation until the operator takes it out, and may be read many times."""
    first = advance(BY_HAND, at_step(0, BY_HAND), GOOD, NOW, Command("next"))
    assert advance(BY_HAND, first, GOOD, NOW, Command("next")) == first
    assert advance(BY_HAND, first, GOOD, NOW) == first
    assert advance(BY_HAND, first, GOOD, NOW, Command("abort")).phase == "RolledBack"
    assert advance(BY_HAND, first, GOOD, NOW, Command("next", 2)).phase == "Promoting"


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, NO_COMMAND),
        ({ANNOTATION: "next"}, Command("next", 1)),
        ({ANNOTATION: "next", ANSWERED: "7"}, Command("next", 8)),
        ({ANNOTATION: "x" * 1000, ANSWERED: "-7"}, Command("x" * 128, 1)),
        ({ANNOTATION: "next", ANSWERED: "9" * 1000}, Command("next", 1)),
    ],
)
def test_words_are_counted(annotations: dict[str, str], expected: Command) -> None:
    """Whatever somebody writes there."""
    assert pending_command(annotations) == expected


def test_a_word_said_when_nothing_was_on_trial_does_not_wait_for_the_next_trial() -> None:
    state = advance(PLAN, SERVING, GOOD, NOW, Command("promote"))
    begun = advance(PLAN, set_target(PLAN, state, "v2", NOW), UNKNOWN, NOW, Command("promote"), observations=UNREADY)
    assert begun.phase == "Starting"


def test_a_person_can_promote_at_once() -> None:
    assert advance(PLAN, at_step(0), UNKNOWN, NOW, Command("promote")).phase == "Promoting"


@pytest.mark.parametrize(
    "state", [set_target(PLAN, SERVING, "v2", NOW), at_step(1), replace(at_step(1), phase="Promoting")]
)
def test_a_person_can_abort_at_any_time(state: State) -> None:
    ended = advance(PLAN, state, GOOD, NOW, Command("abort"))
    assert (ended.phase, ended.reason, served(ended), ended.rejected) == ("RolledBack", "Aborted", "v1", "v2")


def test_going_back_in_the_spec_ends_a_trial() -> None:
    state = set_target(PLAN, at_step(1), "v1", NOW)
    assert (state.phase, state.candidate, state.rejected, state.reason) == ("Stable", "", "", "Withdrawn")


def test_a_third_version_begins_at_the_first_step() -> None:
    state = set_target(PLAN, at_step(1), "v3", NOW)
    assert (state.phase, state.candidate, state.step, share(PLAN, state)) == ("Starting", "v3", 0, 0)


def test_a_third_version_waits_for_a_promotion_to_end() -> None:
    promoting = replace(at_step(1), phase="Promoting")
    assert set_target(PLAN, promoting, "v3", NOW) == promoting
    assert set_target(PLAN, advance(PLAN, promoting, GOOD, NOW, observations=REPLACED), "v3", NOW).candidate == "v3"


def test_steps_that_were_taken_out_of_the_spec_are_over() -> None:
    fewer = RolloutStrategy((Step(weight=20, pause=60),), BOUNDS)
    assert share(fewer, at_step(1)) == 20
    assert advance(fewer, at_step(1), GOOD, NOW + MINUTE).phase == "Promoting"


@pytest.mark.parametrize(
    ("figures", "outcome", "reason"),
    [
        (Metrics(99, 99), "Unknown", "TooFewRequests"),
        (Metrics(100, 2, timedelta(milliseconds=300)), "Good", "WithinBounds"),
        (Metrics(100, 3), "Bad", "ErrorRate"),
        (Metrics(100, 0, timedelta(milliseconds=301)), "Bad", "Latency"),
        (Metrics(100, 0, timedelta.max), "Bad", "Latency"),
        (Metrics(100, 0, None), "Unknown", "NoMetrics"),
    ],
)
def test_verdicts(figures: Metrics, outcome: str, reason: str) -> None:
    verdict = evaluate(BOUNDS, figures)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


@pytest.mark.parametrize("p99", [None, timedelta(milliseconds=100)])
def test_what_is_not_known_yet_is_told_in_the_same_words(p99: timedelta | None) -> None:
    """The status has them, and a status that changes is looked at again."""
    told = [evaluate(BOUNDS, Metrics(requests, 0, p99)) for requests in (3, 4, 100, 101)]
    assert (told[0], told[2].outcome) == (told[1], "Unknown" if p99 is None else "Good")
    assert p99 is not None or told[2] == told[3]


def test_nothing_seen_and_nothing_asked_for_is_good() -> None:
    assert evaluate(Thresholds(error_rate=0.1, min_requests=0), Metrics(0, 0)).outcome == "Good"


@pytest.mark.parametrize(
    ("replicas", "weights", "expected"), [(3, (10, 50), 2), (1, (10,), 1), (4, (100,), 4), (0, (50,), 1), (3, (), 1)]
)
def test_a_candidate_has_pods_enough_for_its_largest_step(
    replicas: int, weights: tuple[int, ...], expected: int
) -> None:
    assert candidate_replicas(RolloutStrategy(tuple(Step(weight=weight) for weight in weights)), replicas) == expected


@pytest.mark.parametrize(
    ("plan", "state", "expected"),
    [
        (PLAN, SERVING, None),
        (None, SERVING, None),
        (PLAN, set_target(PLAN, SERVING, "v2", NOW), STARTING),
        (PLAN, at_step(0), LOOK),
        (RolloutStrategy((Step(weight=10, pause=60),)), at_step(0), MINUTE),
        (BY_HAND, at_step(0), None),
        (PLAN, replace(at_step(0), since=NOW - 2 * MINUTE), LOOK),
        (PLAN, replace(at_step(0), since=NOW - MINUTE + LOOK / 2), LOOK / 2),
        (PLAN, replace(at_step(0), phase="Promoting"), STARTING),
        (PLAN, replace(at_step(0), phase="Promoting", since=NOW - STARTING), None),
    ],
)
def test_when_to_look_again(plan: RolloutStrategy | None, state: State, expected: timedelta | None) -> None:
    assert until_next(plan, state, NOW) == expected
