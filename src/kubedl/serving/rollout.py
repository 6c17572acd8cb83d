"""From one version of a predictor to the next: steps, pauses, verdicts, a person's word. Pure.

The version that serves stays whole until the next one has passed every step; then it is replaced in place while both
serve. One verdict against the candidate ends its trial, and the same candidate is not tried again unasked; one that
loses its pods again and again has a verdict against it. A version that the spec no longer names gets no further step,
and nothing waits for ever: not a start, not a step without requests, not a promotion without room for its pods. What a
person says in the annotation is done once, however often it is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from kubedl.api.inference_rollout import Phase, RolloutStatus, Step
from kubedl.serving.verdict import PENDING, Bounds, Verdict, spelled

ANNOTATION = "serving.kubedl.io/rollout"
ANSWERED = f"{ANNOTATION}-answered"  # how many words were done and taken away
LONGEST_WORD = 128
WORDS = ("next", "promote", "abort", "retry")
LOOK = timedelta(seconds=2)  # between two looks at a candidate's figures
STARTING = timedelta(minutes=10)  # that a candidate may take to become ready, as Deployments have it
LOADING = timedelta(days=1)  # that its loader may take beyond that
LATE_LOOK = timedelta(seconds=15)  # between two looks at a candidate whose time to start is over while it loads
MOST_INTERRUPTIONS = 3  # of one step: nodes are drained, and a version that cannot stay up is bad


@dataclass(frozen=True)
class Plan:
    """How a version is rolled out."""

    steps: tuple[Step, ...] = ()
    bounds: Bounds | None = None
    start: timedelta = STARTING  # that the candidate may take to become ready, without its loader
    deadline: timedelta = timedelta(days=1)  # that a step may wait for figures after its pause


@dataclass(frozen=True)
class Word:
    """What a person says, and which of all words it is: the same word may be said again.

    `promote` is said to every predictor, `promote:main` to the one of that name.
    """

    text: str = ""
    number: int = 1
    is_meant: bool = True  # the predictor that hears it

    @property
    def command(self) -> str:
        """What is to be done."""
        return self.text.partition(":")[0]

    @property
    def predictor(self) -> str:
        """Which predictor is to do it; none names all."""
        return self.text.partition(":")[2]


@dataclass(frozen=True)
class Seen:
    """What is seen of a predictor's pods."""

    ready: bool = True  # the candidate can have requests
    replaced: bool = False  # the predictor itself runs the candidate's version, and nothing else
    stuck: bool = False  # the predictor's Deployment makes no progress, and can go back
    unschedulable: bool = False  # a pod that is waited for fits on no node
    loading: bool = False  # a loader copies the model into a pod
    loaded: datetime | None = None  # when the last loader ended


SILENCE, ALL_WELL = Word(), Seen()
NOT_READY = "not all pods of the new version are ready"
LOST = "the new version lost its last ready pod; the step continues when all its pods are ready"
OFF = "the predictor has no replicas; the rollout starts when it has"
PROMOTED_BY_HAND = "PromotedByHand"
NO_ROOM = "NoRoomForPods"  # of a promotion whose further pods no node can take


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


def addressed(word: Word, predictor: str) -> Word:
    """The word as a predictor hears it: one for another predictor is done by hearing it."""
    return replace(word, is_meant=word.predictor in ("", predictor))


def heard(state: State, word: Word) -> State:
    """It is done, whatever it was."""
    return replace(state, handled=word.text, words=word.number) if word.text else state


def without_way_back(state: State, word: Word) -> State:
    """What served before cannot be had any more: a promotion that ended half-way would leave a mixture."""
    if state.phase != "Promoting" or _told(state, word) != "abort":
        return state
    message = f"the promotion cannot be aborted: ModelVersion {state.stable}, which served before, is not available"
    return replace(heard(state, word), reason="NoWayBack", message=message)


def aim(plan: Plan | None, state: State, wanted: str, now: datetime, *, off: bool = False) -> State:
    """Take up what the spec wants to be served. There is no trial of a first version, nor of none, nor without pods."""
    if wanted == state.stable:
        return _withdrawn(state)
    if state.rejected and wanted == state.rejected:
        return state  # whether it is to be rolled out in steps or at once: a person has to ask for it
    if not wanted or not state.stable or plan is None or not plan.steps:
        return _after(state, State(stable=wanted))
    if state.phase == "Promoting":
        return state  # a promotion that has begun is ended first: a third version would mix with two others
    if off:
        return _after(state, State(stable=state.stable, reason="Off", message=OFF))
    return state if wanted == state.candidate else _begun(state, wanted, now)


def without(state: State, wanted: str, why: str) -> State:
    """What the spec wants cannot be had. A trial of another version ends: nobody asks for it any more."""
    if state.phase == "RolledBack" and wanted != state.rejected:
        return _after(state, State(stable=state.stable))
    if not state.candidate or state.phase == "Promoting" or wanted == state.candidate:
        return state
    message = f"the spec no longer names ModelVersion {state.candidate}; {why}"
    return _after(state, State(stable=state.stable, reason="Withdrawn", message=message))


def advance(
    plan: Plan | None, state: State, verdict: Verdict, now: datetime, word: Word = SILENCE, seen: Seen = ALL_WELL
) -> State:
    """The next state; asked on every look, so that no word said to one trial waits for the next."""
    told = _told(state, word)
    state = heard(state, word)
    if not state.candidate or plan is None:
        return _resumed(plan, state, told, now)
    if told == "abort":
        return _rolled_back(state, "Aborted", _by_hand("aborted", told))
    if state.phase == "Promoting":
        return _replaced(plan, state, now, seen)
    if told == "promote":
        return _promoting(state, now, PROMOTED_BY_HAND, _by_hand("promoted", told))
    if state.phase == "Stepping" and verdict.outcome == "Bad":
        return _rolled_back(state, verdict.reason, verdict.message)  # be it ready or not: a crash hides no figures
    return _tried(plan, state, verdict, now, unasked=told != "next") if seen.ready else _waiting(plan, state, now, seen)


def share(plan: Plan | None, state: State, stable: int = 1, candidate: int = 0) -> int:
    """The candidate's part of the predictor's requests, 0-100, if so many pods of both are ready."""
    if plan is None or not plan.steps or state.phase not in ("Stepping", "Promoting"):
        return 0
    weight = _step(plan, state).weight
    if state.phase == "Stepping" or not candidate:
        return weight
    # Pods of the predictor are missing while it is replaced: those that are ready have equal parts.
    return max(weight, ceil(100 * candidate / (candidate + stable)))


def carried(plan: Plan | None) -> int:
    """How many percent of the predictor's pods the candidate has: so many may be missing while they are replaced."""
    return max((step.weight for step in plan.steps), default=0) if plan is not None else 0


def served(state: State) -> str:
    """The version that the predictor itself runs, or is to run."""
    return state.candidate if state.phase == "Promoting" else state.stable


def candidate_replicas(plan: Plan, replicas: int) -> int:
    """As many as the largest step needs, from the first on: pods that come late would be late for their requests."""
    return max(1, ceil(replicas * carried(plan) / 100))


def until_next(plan: Plan | None, state: State, now: datetime) -> timedelta | None:
    """When to look again without being asked."""
    if plan is None or not plan.steps or state.since is None or not state.candidate:
        return None
    started = state.since + plan.start
    if state.phase == "Promoting":
        return started - now if now < started else None
    if state.phase == "Starting":
        return started - now if now < started else LATE_LOOK
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


def _told(state: State, word: Word) -> str:
    """What a word asks of this predictor, if that is not done yet."""
    return word.command if word.is_meant and not is_done(state, word) else ""


def _by_hand(done: str, command: str) -> str:
    return f"{done} by annotation {ANNOTATION}={command}"


def _resumed(plan: Plan | None, state: State, told: str, now: datetime) -> State:
    """Nothing is on trial. A version that was rejected is tried again, or served at once, if a person asks for it."""
    if not state.rejected or state.phase != "RolledBack":
        return state
    if told == "promote":
        message = _by_hand("promoted", told)
        return _after(state, State(stable=state.rejected, reason=PROMOTED_BY_HAND, message=message))
    return _begun(state, state.rejected, now) if told == "retry" and plan is not None else state


def _withdrawn(state: State) -> State:
    """The spec went back to what serves."""
    if state.candidate:
        told = f"the spec names ModelVersion {state.stable} again, which served before"
        return _after(state, State(stable=state.stable, reason="Withdrawn", message=told))
    if state.reason == "Off":
        return _after(state, State(stable=state.stable))
    return replace(state, phase="Stable", rejected="") if state.phase == "RolledBack" else state


def _rolled_back(state: State, reason: str, message: str) -> State:
    ended = State("RolledBack", state.stable, rejected=state.candidate, reason=reason, message=message)
    return _after(state, ended)


def _promoting(state: State, now: datetime, reason: str, message: str) -> State:
    return replace(state, phase="Promoting", since=now, reason=reason, message=message)


def _replaced(plan: Plan, state: State, now: datetime, seen: Seen) -> State:
    """The predictor's own pods are replaced. If there is no room for them, what served before stays."""
    if seen.replaced:
        return _after(state, State(stable=state.candidate, reason="Promoted", message=state.message))
    if seen.unschedulable and state.reason != NO_ROOM:
        # Kept in the state: the pods that are replaced first make room, and the next would wait again.
        message = "no node has room for a further pod: pods are replaced one after the other"
        return replace(state, since=now, reason=NO_ROOM, message=message)
    if seen.stuck and not seen.loading and _is_over(state.since, plan.start, now):
        message = f"the predictor's pods were not replaced: its Deployment made no progress for {spelled(plan.start)}"
        return _rolled_back(state, "PromotionStuck", message)
    return state


def _tried(plan: Plan, state: State, verdict: Verdict, now: datetime, *, unasked: bool) -> State:
    if state.phase == "Starting":
        return _in_step(plan, replace(state, phase="Stepping", since=now, step_since=state.step_since or now))
    return _stepped(plan, state, verdict, now, unasked=unasked)


def _is_over(since: datetime | None, lasting: timedelta, now: datetime) -> bool:
    return since is not None and now - since >= lasting


def _waiting(plan: Plan, state: State, now: datetime, seen: Seen) -> State:
    """A candidate that is not ready has no share. Its pause begins anew when it is; what was measured still counts."""
    if state.phase == "Stepping":
        lost = state.interruptions + 1
        if lost > MOST_INTERRUPTIONS:
            return _rolled_back(state, "Unstable", f"it lost its last ready pod {lost} times in one step")
        return replace(state, phase="Starting", since=now, interruptions=lost, reason="NotReady", message=LOST)
    since = max(filter(None, (state.since, seen.loaded)), default=None)
    if _is_over(state.since if seen.loading else since, plan.start + (LOADING if seen.loading else timedelta()), now):
        message = f"{NOT_READY} after {spelled(plan.start)} (rollout.startSeconds)"
        return _rolled_back(state, "NotReady", message)
    return state


def _stepped(plan: Plan, state: State, verdict: Verdict, now: datetime, *, unasked: bool) -> State:
    pause = _pause(plan, state)
    if unasked and (pause is None or (state.since is not None and now < state.since + pause)):
        return _in_step(plan, state)
    if unasked and verdict == PENDING:
        return state
    if unasked and verdict.outcome == "Unknown":
        if pause is not None and _is_over(state.since, pause + plan.deadline, now):
            late = (
                f"{verdict.message} within {spelled(plan.deadline)} after the step's pause (analysis.deadlineSeconds)"
            )
            return _rolled_back(state, verdict.reason, late)
        return replace(state, reason=verdict.reason, message=f"{_described(plan, state)}; {verdict.message}")
    if state.step + 1 >= len(plan.steps):
        message = _by_hand("passed the last step", "next") if not unasked else "passed every step"
        return _promoting(state, now, "Promoting", message)
    return _in_step(plan, replace(state, step=state.step + 1, since=now, step_since=now, interruptions=0))


def _in_step(plan: Plan, state: State) -> State:
    reason = "Step" if _pause(plan, state) is not None else "Paused"
    return replace(state, reason=reason, message=_described(plan, state))


def _step(plan: Plan, state: State) -> Step:
    """The step that the state is in; steps may have been taken out of the spec meanwhile."""
    return plan.steps[min(state.step, len(plan.steps) - 1)]


def _pause(plan: Plan, state: State) -> timedelta | None:
    """How long the step lasts; None: until a person says `next`."""
    seconds = _step(plan, state).pause
    return timedelta(seconds=seconds) if seconds is not None else None


def _described(plan: Plan, state: State) -> str:
    pause = _pause(plan, state)
    lasting = f"for {spelled(pause)}" if pause is not None else f"until annotation {ANNOTATION}=next"
    number = min(state.step, len(plan.steps) - 1) + 1
    return f"step {number} of {len(plan.steps)}: {_step(plan, state).weight} % {lasting}"
