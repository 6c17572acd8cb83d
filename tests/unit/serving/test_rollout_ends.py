"""A rollout ends: when the spec names another version, when its time is over, when there is no room for its pods."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from kubedl.serving.rollout.analysis import GOOD
from kubedl.serving.rollout.commands import NO_COMMAND, Command, addressed
from kubedl.serving.rollout.state_machine import (
    LATE_LOOK,
    LOADING,
    PROMOTED_BY_HAND,
    STARTING,
    Observations,
    RolloutStrategy,
    State,
    advance,
    set_target,
    share,
    until_next,
    without,
)
from tests.unit.serving.rollout.test_state_machine import (
    BAD,
    MINUTE,
    NOW,
    PLAN,
    REPLACED,
    SERVING,
    UNKNOWN,
    UNREADY,
    at_step,
)

SLOW = replace(PLAN, start=timedelta(minutes=15))
PROMOTING = replace(at_step(1), phase="Promoting")
STUCK = Observations(stuck=True)


@pytest.mark.parametrize("state", [set_target(PLAN, SERVING, "v2", NOW), at_step(1)])
def test_a_trial_ends_when_the_spec_names_a_version_that_cannot_be_had(state: State) -> None:
    """It would else go on to all requests, though nobody asks for it any more."""
    ended = without(state, "v3", "there is no ModelVersion v3")
    assert (ended.phase, ended.stable, ended.candidate, share(PLAN, ended)) == ("Stable", "v1", "", 0)
    assert (ended.reason, "v2" in ended.message, "there is no ModelVersion v3" in ended.message) == (
        "Withdrawn",
        True,
        True,
    )
    assert set_target(PLAN, ended, "v3", NOW).candidate == "v3"


@pytest.mark.parametrize("state", [SERVING, at_step(1), PROMOTING])
def test_what_the_spec_names_goes_on_though_it_cannot_be_had_any_more(state: State) -> None:
    """Its pods have their model; and a promotion that has begun comes to its end."""
    assert without(state, "v2", "there is no ModelVersion v2") == state
    assert without(PROMOTING, "v3", "there is no ModelVersion v3") == PROMOTING


def test_another_version_in_the_spec_forgets_which_one_was_rejected() -> None:
    rejected = advance(PLAN, at_step(0), BAD, NOW)
    assert without(rejected, "v2", "it is gone") == rejected
    assert without(rejected, "v3", "it is not built yet") == SERVING


@pytest.mark.parametrize("plan", [None, RolloutStrategy()])
def test_a_rejected_version_is_not_served_because_the_rollout_is_taken_out_of_the_spec(
    plan: RolloutStrategy | None,
) -> None:
    rejected = advance(PLAN, at_step(0), BAD, NOW)
    assert set_target(plan, rejected, "v2", NOW) == rejected
    assert set_target(plan, rejected, "v3", NOW) == State(stable="v3")
    assert advance(plan, rejected, GOOD, NOW).phase == "RolledBack"


@pytest.mark.parametrize("plan", [None, PLAN])
def test_a_rejected_version_is_served_when_a_person_asks_for_it(plan: RolloutStrategy | None) -> None:
    rejected = advance(PLAN, at_step(0), BAD, NOW)
    served = advance(plan, rejected, GOOD, NOW, Command("promote"))
    assert (served.phase, served.stable, served.rejected, served.reason) == ("Stable", "v2", "", PROMOTED_BY_HAND)
    assert served.message == "promoted by annotation serving.kubedl.io/rollout=promote"


def test_a_model_that_loads_for_twelve_minutes_is_not_rolled_back_if_the_spec_allows_it() -> None:
    state, now = set_target(SLOW, SERVING, "v2", NOW), NOW
    while now < NOW + 12 * MINUTE:
        now += timedelta(seconds=15)
        state = advance(SLOW, state, UNKNOWN, now, observations=UNREADY)
        assert state.phase == "Starting"
    assert advance(SLOW, state, UNKNOWN, now).phase == "Stepping"
    late = advance(SLOW, state, UNKNOWN, NOW + SLOW.start, observations=UNREADY)
    assert (late.phase, late.reason, "900 s (rollout.startSeconds)" in late.message) == ("RolledBack", "NotReady", True)


def test_the_time_in_which_a_model_is_copied_does_not_count() -> None:
    """Its loader can be seen; it may take a day, and not longer."""
    state, later = set_target(PLAN, SERVING, "v2", NOW), NOW + 2 * STARTING
    assert advance(PLAN, state, UNKNOWN, later, observations=Observations(ready=False, loading=True)) == state
    assert until_next(PLAN, state, later) == LATE_LOOK
    loaded = Observations(ready=False, loaded=later)
    assert advance(PLAN, state, UNKNOWN, later + STARTING - MINUTE, observations=loaded) == state
    assert advance(PLAN, state, UNKNOWN, later + STARTING, observations=loaded).reason == "NotReady"
    too_long = NOW + STARTING + LOADING
    assert (
        advance(PLAN, state, UNKNOWN, too_long, observations=Observations(ready=False, loading=True)).reason
        == "NotReady"
    )


def test_a_promotion_without_room_for_its_pods_ends() -> None:
    """When Kubernetes says that there is no progress, and not before the pods have had their time."""
    begun = replace(PROMOTING, since=NOW)
    assert advance(PLAN, begun, GOOD, NOW + STARTING - MINUTE, observations=STUCK) == begun
    assert advance(PLAN, begun, GOOD, NOW + STARTING) == begun
    assert advance(PLAN, begun, GOOD, NOW + STARTING, observations=replace(STUCK, loading=True)) == begun
    ended = advance(PLAN, begun, GOOD, NOW + STARTING, observations=STUCK)
    assert (ended.phase, ended.stable, ended.rejected, ended.reason) == ("RolledBack", "v1", "v2", "PromotionStuck")
    assert advance(PLAN, begun, GOOD, NOW + STARTING, observations=replace(REPLACED, stuck=True)).stable == "v2"
    assert set_target(PLAN, ended, "v3", NOW).candidate == "v3"


@pytest.mark.parametrize("after", [timedelta(), timedelta(hours=1)])
def test_a_step_does_not_wait_for_requests_for_ever(after: timedelta) -> None:
    """Longer than its pause and the deadline; a predictor of weight 0 would keep twice the pods."""
    plan = replace(PLAN, deadline=timedelta(hours=2))
    over = NOW + MINUTE + plan.deadline
    assert advance(plan, at_step(0), UNKNOWN, over - MINUTE).phase == "Stepping"
    ended = advance(plan, at_step(0), UNKNOWN, over + after)
    assert (ended.phase, ended.reason, ended.rejected) == ("RolledBack", "TooFewRequests", "v2")
    assert ended.message.endswith("within 7200 s after the step's pause (analysis.deadlineSeconds)")
    assert advance(plan, at_step(0), GOOD, over + after).step == 1


@pytest.mark.parametrize(
    ("stable", "candidate", "expected"),
    [(4, 2, 50), (2, 2, 50), (1, 2, 67), (0, 2, 100), (4, 0, 50)],
)
def test_pods_that_are_ready_have_equal_parts_while_others_are_replaced(
    stable: int, candidate: int, expected: int
) -> None:
    """And the candidate never less than in its last step."""
    assert share(PLAN, PROMOTING, stable, candidate) == expected
    assert share(PLAN, at_step(1), stable, candidate) == 50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("promote", "Promoting"),
        ("promote:main", "Promoting"),
        ("promote:other", "Stepping"),
        ("abort:other", "Stepping"),
    ],
)
def test_a_word_may_name_a_predictor(text: str, expected: str) -> None:
    state = advance(PLAN, at_step(0), UNKNOWN, NOW, addressed(Command(text), "main"))
    assert (state.phase, state.last_command) == (expected, text)


def test_a_word_for_another_predictor_ends_no_promotion() -> None:
    moment: datetime = NOW + MINUTE
    assert advance(PLAN, PROMOTING, GOOD, moment, addressed(Command("abort:other"), "main")).phase == "Promoting"
    assert advance(PLAN, PROMOTING, GOOD, moment, NO_COMMAND).phase == "Promoting"
