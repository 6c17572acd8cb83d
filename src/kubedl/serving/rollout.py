"""From one version of a predictor to the next: steps, pauses, verdicts, a person's word. Pure.

The version that serves stays whole until the next one has passed every step; then it is replaced in place while both
serve. One verdict against the candidate ends its trial, and the same candidate is not tried again unasked; one that
loses its pods again and again has a verdict against it. What a person says in the annotation is done once, however
often it is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from kubedl.api.inference_rollout import Phase, RolloutStatus, Step
from kubedl.serving.verdict import PENDING, Bounds, Verdict, spelled

ANNOTATION = "serving.kubedl.io/rollout"
ANSWERED = f"{ANNOTATION}-answered"  # how many words were done and taken away
LONGEST_WORD = 64
WORDS = ("next", "promote", "abort", "retry")
LOOK = timedelta(seconds=2)  # between two looks at a candidate's figures
STARTING = timedelta(minutes=10)  # that a candidate may take to become ready, as Deployments have it
MOST_INTERRUPTIONS = 3  # of one step: nodes are drained, and a version that cannot stay up is bad


@dataclass(frozen=True)
class Plan:
    """How a version is rolled out."""

    steps: tuple[Step, ...] = ()
    bounds: Bounds | None = None


@dataclass(frozen=True)
class Word:
    """What a person says, and which of all words it is: the same word may be said again."""

    text: str = ""
    number: int = 1


SILENCE = Word()
NOT_READY = "not every pod of the new version is ready"
LOST = "the new version lost its last ready pod, and goes on when all are ready"
OFF = "a new version is tried when the predictor has pods"


@dataclass(frozen=True)
class State:
    """How far a rollout is. All of it is kept in the status."""

    phase: Phase = "Stable"
    stable: str = ""  # the version that serves
    candidate: str = ""  # the one on trial
    rejected: str = ""  # the one that was on trial and is not tried again unasked
    step: int = 0
    since: datetime | None = None  # when the step, or the wait for the candidate, began
    step_since: datetime | None = None  # the same without interruptions: since when requests count for the step
    interruptions: int = 0  # of the step: how often the candidate lost its last ready pod
    reason: str = ""
    message: str = ""
    handled: str = ""  # the last word, when it has been done what it says
    words: int = 0  # which of all words that was


def said(annotations: Mapping[str, str]) -> Word:
    """The word of a person that has not been taken away yet."""
    answered = annotations.get(ANSWERED, "")
    known = int(answered) if answered.isascii() and answered.isdigit() and len(answered) < 10 else 0
    return Word(annotations.get(ANNOTATION, "")[:LONGEST_WORD], known + 1)


def is_done(state: State | RolloutStatus, word: Word) -> bool:
    """Whether a predictor has heard a word."""
    return (state.handled, state.words) == (word.text, word.number)


def heard(state: State, word: Word) -> State:
    """It is done, whatever it was."""
    return replace(state, handled=word.text, words=word.number) if word.text else state


def without_way_back(state: State, word: Word) -> State:
    """What served before cannot be had any more: a promotion that ended half-way would leave a mixture."""
    if state.phase != "Promoting" or word.text != "abort" or is_done(state, word):
        return state
    message = f"it cannot be aborted: ModelVersion {state.stable}, which served before, cannot be had any more"
    return replace(heard(state, word), reason="NoWayBack", message=message)


def aim(plan: Plan | None, state: State, wanted: str, now: datetime, *, off: bool = False) -> State:
    """Take up what the spec wants to be served. There is no trial of a first version, nor of none, nor without pods."""
    if wanted == state.stable:
        return _withdrawn(state)
    if not wanted or not state.stable or plan is None or not plan.steps:
        return _after(state, State(stable=wanted))
    if state.phase == "Promoting" or wanted == state.rejected:
        return state  # a promotion that has begun is ended first: a third version would mix with two others
    if off:
        return _after(state, State(stable=state.stable, reason="Off", message=OFF))
    return state if wanted == state.candidate else _begun(state, wanted, now)


def advance(
    plan: Plan,
    state: State,
    verdict: Verdict,
    now: datetime,
    word: Word = SILENCE,
    *,
    ready: bool = True,
    replaced: bool = False,
) -> State:
    """The next state; asked on every look, so that no word said to one trial waits for the next.

    `ready` says that the candidate can have requests, `replaced` that the predictor itself runs it, and nothing else.
    """
    told = word.text if not is_done(state, word) else ""
    state = heard(state, word)
    if not state.candidate:
        return _begun(state, state.rejected, now) if told == "retry" and state.rejected else state
    if told == "abort":
        return _rolled_back(state, "Aborted", "a person ended it")
    if state.phase == "Promoting":
        return _promoted(state) if replaced else state
    if told == "promote":
        return _promoting(state, now, "PromotedByHand", "a person promoted it")
    if state.phase == "Stepping" and verdict.outcome == "Bad":
        return _rolled_back(state, verdict.reason, verdict.message)  # be it ready or not: a crash hides no figures
    return _tried(plan, state, verdict, now, unasked=told != "next") if ready else _waiting(state, now)


def share(plan: Plan | None, state: State) -> int:
    """The candidate's part of the predictor's requests, 0-100."""
    if plan is None or not plan.steps or state.phase not in ("Stepping", "Promoting"):
        return 0
    # While the predictor itself is replaced, by pods that are ready, nothing needs to change for anybody.
    return _step(plan, state).weight


def served(state: State) -> str:
    """The version that the predictor itself runs, or is to run."""
    return state.candidate if state.phase == "Promoting" else state.stable


def candidate_replicas(plan: Plan, replicas: int) -> int:
    """As many as the largest step needs, from the first on: pods that come late would be late for their requests."""
    most = max((step.weight for step in plan.steps), default=0)
    return max(1, ceil(replicas * most / 100))


def until_next(plan: Plan | None, state: State, now: datetime) -> timedelta | None:
    """When to look again without being asked."""
    if plan is None or not plan.steps or state.since is None or not state.candidate:
        return None
    if state.phase == "Promoting":
        return state.since + STARTING - now if now < state.since + STARTING else None
    if state.phase == "Starting":
        return max(timedelta(), state.since + STARTING - now)
    pause = _pause(plan, state)
    left = max(timedelta(), state.since + pause - now) if pause is not None else None
    if plan.bounds is None:
        return left
    return LOOK if not left else min(left, LOOK)


def _after(before: State, state: State) -> State:
    """Whatever begins or ends, a person has said what he has said."""
    return replace(state, handled=before.handled, words=before.words)


def _begun(state: State, wanted: str, now: datetime) -> State:
    begun = State("Starting", state.stable, wanted, since=now, reason="Starting", message=NOT_READY)
    return _after(state, begun)


def _withdrawn(state: State) -> State:
    """The spec went back to what serves."""
    if state.candidate:
        told = "the spec asks for the version again that served before"
        return _after(state, State(stable=state.stable, reason="Withdrawn", message=told))
    if state.reason == "Off":
        return _after(state, State(stable=state.stable))
    return replace(state, phase="Stable", rejected="") if state.phase == "RolledBack" else state


def _rolled_back(state: State, reason: str, message: str) -> State:
    ended = State("RolledBack", state.stable, rejected=state.candidate, reason=reason, message=message)
    return _after(state, ended)


def _promoting(state: State, now: datetime, reason: str, message: str) -> State:
    return replace(state, phase="Promoting", since=now, reason=reason, message=message)


def _promoted(state: State) -> State:
    return _after(state, State(stable=state.candidate, reason="Promoted", message=state.message))


def _tried(plan: Plan, state: State, verdict: Verdict, now: datetime, *, unasked: bool) -> State:
    if state.phase == "Starting":
        return _in_step(plan, replace(state, phase="Stepping", since=now, step_since=state.step_since or now))
    return _stepped(plan, state, verdict, now, unasked=unasked)


def _waiting(state: State, now: datetime) -> State:
    """A candidate that is not ready has no share. Its pause begins anew when it is; what was measured still counts."""
    if state.phase == "Stepping":
        lost = state.interruptions + 1
        if lost > MOST_INTERRUPTIONS:
            return _rolled_back(state, "Unstable", f"in one step it lost its last ready pod {lost} times")
        return replace(state, phase="Starting", since=now, interruptions=lost, reason="NotReady", message=LOST)
    if state.since is not None and now - state.since >= STARTING:
        return _rolled_back(state, "NotReady", f"{state.message or NOT_READY}, for {spelled(STARTING)}")
    return state


def _stepped(plan: Plan, state: State, verdict: Verdict, now: datetime, *, unasked: bool) -> State:
    pause = _pause(plan, state)
    if unasked and (pause is None or (state.since is not None and now < state.since + pause)):
        return _in_step(plan, state)
    if unasked and verdict == PENDING:
        return state
    if unasked and verdict.outcome == "Unknown":
        return replace(state, reason=verdict.reason, message=f"{_told(plan, state)}; {verdict.message}")
    if state.step + 1 >= len(plan.steps):
        message = "a person let it pass the last step" if not unasked else "it passed every step"
        return _promoting(state, now, "Promoting", message)
    return _in_step(plan, replace(state, step=state.step + 1, since=now, step_since=now, interruptions=0))


def _in_step(plan: Plan, state: State) -> State:
    reason = "Step" if _pause(plan, state) is not None else "Paused"
    return replace(state, reason=reason, message=_told(plan, state))


def _step(plan: Plan, state: State) -> Step:
    """The step that the state is in; steps may have been taken out of the spec meanwhile."""
    return plan.steps[min(state.step, len(plan.steps) - 1)]


def _pause(plan: Plan, state: State) -> timedelta | None:
    """How long the step lasts; None: until a person says `next`."""
    seconds = _step(plan, state).pause
    return timedelta(seconds=seconds) if seconds is not None else None


def _told(plan: Plan, state: State) -> str:
    pause = _pause(plan, state)
    lasting = f"for {spelled(pause)}" if pause is not None else "until somebody lets it go on"
    number = min(state.step, len(plan.steps) - 1) + 1
    return f"step {number} of {len(plan.steps)}: {_step(plan, state).weight} % {lasting}"
