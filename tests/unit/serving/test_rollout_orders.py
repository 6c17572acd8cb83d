"""Rollouts in every order of events, drawn at random: what always holds, and that everything comes to an end."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from kubedl.serving.rollout.analysis import GOOD, AnalysisResult
from kubedl.serving.rollout.commands import COMMANDS, NO_COMMAND, Command, is_handled
from kubedl.serving.rollout.state_machine import (
    MOST_INTERRUPTIONS,
    STARTING,
    Observations,
    State,
    advance,
    set_target,
    share,
    without,
)
from tests.hypothesis_settings import tried
from tests.unit.serving.rollout.test_state_machine import BAD, MINUTE, NOW, PLAN, REPLACED, UNKNOWN


@dataclass(frozen=True)
class Look:
    """What is seen at one look: what the spec wants and whether that can be had, figures, a word, pods, the time."""

    wanted: str
    available: bool
    verdict: AnalysisResult
    word: Command
    seen: Observations
    later: timedelta


TIMES = st.integers(0, 200).map(lambda seconds: timedelta(seconds=seconds))
LOOKS = st.lists(
    st.builds(
        Look,
        st.sampled_from(("v1", "v2", "v3")),
        st.sampled_from((True, True, False)),
        st.sampled_from((GOOD, BAD, UNKNOWN)),
        st.builds(
            Command, st.sampled_from(("", *COMMANDS, "promote:main", "nonsense")), st.integers(1, 3), st.booleans()
        ),
        st.builds(Observations, st.booleans(), st.booleans(), st.booleans(), st.booleans()),
        TIMES | st.just(STARTING),
    ),
    max_size=30,
)


def walked(looks: list[Look]) -> Iterator[tuple[State, State, datetime]]:
    """The state before and after each look, and when that was."""
    state, now = set_target(PLAN, State(), "v1", NOW), NOW
    for look in looks:
        now += look.later
        if look.available:
            before = set_target(PLAN, state, look.wanted, now)
        else:
            before = without(state, look.wanted, "it is not built yet")
        state = advance(PLAN, before, look.verdict, now, look.word, look.seen)
        yield before, state, now


@given(LOOKS)
@tried(50)
def test_whatever_happens_the_state_makes_sense(looks: list[Look]) -> None:
    """A version serves only after a promotion; a share is one of the plan's; no step is skipped; a verdict counts."""
    for look, (before, state, _) in zip(looks, walked(looks), strict=True):
        promoted = before.phase == "Promoting" and state.stable == before.candidate
        asked_for = look.word.command == "promote" and look.word.is_meant and state.stable == before.rejected
        assert state.stable == before.stable or promoted or asked_for
        assert share(PLAN, state) in (0, 10, 50)
        assert bool(state.candidate) == (state.phase in ("Starting", "Stepping", "Promoting"))
        assert state.candidate != state.stable
        assert bool(state.rejected) == (state.phase == "RolledBack")
        assert state.step <= before.step + 1
        assert state.interruptions <= MOST_INTERRUPTIONS
        if before.phase == "Stepping" and look.verdict is BAD:
            assert state.phase in ("RolledBack", "Promoting")  # the latter only by a person's word
            assert state.phase == "RolledBack" or look.word.command == "promote"
        assert is_handled(state, look.word) or not look.word.text


@given(LOOKS)
@tried(50)
def test_only_what_the_spec_names_is_tried_and_promoted(looks: list[Look]) -> None:
    """Whether it can be had or not; a promotion that has begun comes to its end."""
    for look, (before, state, _) in zip(looks, walked(looks), strict=True):
        if before.phase != "Promoting":
            assert state.candidate in ("", look.wanted)
            assert state.stable in (before.stable, look.wanted)


@given(LOOKS)
@tried(50)
def test_a_word_for_another_predictor_does_nothing(looks: list[Look]) -> None:
    """It is heard, so that it can be taken away."""
    for look, (before, state, now) in zip(looks, walked(looks), strict=True):
        if not look.word.is_meant:
            silent = advance(PLAN, before, look.verdict, now, NO_COMMAND, look.seen)
            assert replace(state, last_command="", last_command_number=0) == replace(
                silent, last_command="", last_command_number=0
            )


@given(
    LOOKS,
    st.lists(
        st.sampled_from((Observations(ready=False), Observations(), Observations(ready=False, loading=True))),
        min_size=1,
    ),
)
@tried(50)
def test_nothing_waits_for_ever(looks: list[Look], seen: list[Observations]) -> None:
    """Without figures, without room for pods, with a loader that never ends: every rollout comes to an end."""
    state, now = set_target(PLAN, State(), "v1", NOW), NOW
    for _, state, now in walked(looks):  # noqa: B007 - where it ends
        pass
    for number in range(20):
        now += timedelta(days=1, hours=1)
        found = replace(seen[number % len(seen)], stuck=True, loading=seen[0].loading and state.phase == "Starting")
        state = advance(
            PLAN, set_target(PLAN, state, state.candidate or state.stable, now), UNKNOWN, now, NO_COMMAND, found
        )
    assert state.phase in ("Stable", "RolledBack")


@given(LOOKS)
@tried(50)
def test_a_good_version_gets_there_in_the_end(
    looks: list[Look],
) -> None:
    """Whatever happened before: once it is wanted, not rejected, ready and good, it is served."""
    state, now = set_target(PLAN, State(), "v1", NOW), NOW
    for _, state, now in walked(looks):  # noqa: B007 - where it ends
        pass
    for _ in range(20):
        now += MINUTE
        state = advance(PLAN, set_target(PLAN, state, "v4", now), GOOD, now, observations=REPLACED)
    assert (state.phase, state.stable) == ("Stable", "v4")
