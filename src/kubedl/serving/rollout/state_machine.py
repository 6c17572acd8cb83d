"""State machine of a canary rollout: steps, pauses, analysis results and manual commands. Pure.

The stable version stays complete until the canary has passed every step; then it is replaced in place while both serve.
One failed analysis rolls the canary back, and it is not tried again without a command; so does losing its pods
repeatedly. A canary that the spec no longer names gets no further step. Nothing waits forever: not a start, not a step
without requests, not a promotion without room for its pods. Commands are in `commands`.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from kubedl.api.inference_rollout import Phase, Step
from kubedl.serving.rollout.analysis import PENDING, AnalysisResult, Thresholds, spelled
from kubedl.serving.rollout.commands import ANNOTATION, NO_COMMAND, Command, by_hand, command_for

LOOK = timedelta(seconds=2)  # between evaluations of a canary
STARTING = timedelta(minutes=10)  # for a canary to become ready, the default of Deployments
LOADING = timedelta(days=1)  # additional time for its loader
LATE_LOOK = timedelta(seconds=15)  # between checks of a canary that is loading after its start deadline
MOST_INTERRUPTIONS = 3  # per step: nodes are drained, but a version that cannot stay up is bad


@dataclass(frozen=True)
class RolloutStrategy:
    """The strategy of a rollout."""

    steps: tuple[Step, ...] = ()
    bounds: Thresholds | None = None
    start: timedelta = STARTING  # for the canary to become ready, without its loader
    deadline: timedelta = timedelta(days=1)  # that a step may wait for metrics after its pause


@dataclass(frozen=True)
class Observations:
    """The observed state of a predictor's pods."""

    ready: bool = True  # the canary can receive traffic
    replaced: bool = False  # all pods of the predictor itself run the canary's version
    stuck: bool = False  # the predictor's Deployment makes no progress, and can be rolled back
    unschedulable: bool = False  # a pod that the rollout waits for cannot be scheduled
    loading: bool = False  # a loader is copying the model into a pod
    loaded: datetime | None = None  # when the last loader ended


ALL_WELL = Observations()
NOT_READY = "not all pods of the new version are ready"
LOST = "the new version lost its last ready pod; the step continues when all its pods are ready"
OFF = "the predictor has no replicas; the rollout starts when it has"
PROMOTED_BY_HAND = "PromotedByHand"
NO_ROOM = "NoRoomForPods"  # of a promotion whose additional pods cannot be scheduled


@dataclass(frozen=True)
class State:
    """The state of a rollout. All of it is stored in the status."""

    phase: Phase = "Stable"
    stable: str = ""  # the stable version
    candidate: str = ""  # the canary version
    rejected: str = ""  # the version that was rolled back and is not tried again without a command
    step: int = 0
    since: datetime | None = None  # when the step, or the wait for the canary, began
    step_since: datetime | None = None  # the same without interruptions: since when requests count for the step
    interruptions: int = 0  # how often the canary lost its last ready pod in this step
    reason: str = ""
    message: str = ""
    last_command: str = ""  # the last handled command
    last_command_number: int = 0  # its sequence number


def acknowledge(state: State, command: Command) -> State:
    """Mark the command as handled."""
    return replace(state, last_command=command.text, last_command_number=command.number) if command.text else state


def reject_abort(state: State, command: Command) -> State:
    """Reject an abort: the stable version is not available any more, and stopping half-way would leave a mixture."""
    if state.phase != "Promoting" or command_for(state, command) != "abort":
        return state
    message = f"the promotion cannot be aborted: ModelVersion {state.stable}, which served before, is not available"
    return replace(acknowledge(state, command), reason="CannotAbort", message=message)


def set_target(plan: RolloutStrategy | None, state: State, wanted: str, now: datetime, *, off: bool = False) -> State:
    """Set the version that the spec names. The first version, none, or one without pods needs no rollout."""
    if wanted == state.stable:
        return _withdrawn(state)
    if state.rejected and wanted == state.rejected:
        return state  # whether in steps or at once: it needs a command
    if not wanted or not state.stable or plan is None or not plan.steps:
        return _after(state, State(stable=wanted))
    if state.phase == "Promoting":
        return state  # finish a promotion first: a third version would mix with two others
    if off:
        return _after(state, State(stable=state.stable, reason="Off", message=OFF))
    return state if wanted == state.candidate else _begun(state, wanted, now)


def without(state: State, wanted: str, why: str) -> State:
    """Handle a version that is not available. The rollout of another version ends, as the spec no longer names it."""
    if state.phase == "RolledBack" and wanted != state.rejected:
        return _after(state, State(stable=state.stable))
    if not state.candidate or state.phase == "Promoting" or wanted == state.candidate:
        return state
    message = f"the spec no longer names ModelVersion {state.candidate}; {why}"
    return _after(state, State(stable=state.stable, reason="Withdrawn", message=message))


def advance(
    plan: RolloutStrategy | None,
    state: State,
    analysis: AnalysisResult,
    now: datetime,
    command: Command = NO_COMMAND,
    observations: Observations = ALL_WELL,
) -> State:
    """Return the next state; called on every reconcile, so that a command to one rollout does not wait for the next."""
    message = command_for(state, command)
    state = acknowledge(state, command)
    if not state.candidate or plan is None:
        return _resumed(plan, state, message, now)
    if message == "abort":
        return _rolled_back(state, "Aborted", by_hand("aborted", message))
    if state.phase == "Promoting":
        return _replaced(plan, state, now, observations)
    if message == "promote":
        return _promoting(state, now, PROMOTED_BY_HAND, by_hand("promoted", message))
    if state.phase == "Stepping" and analysis.outcome == "Bad":
        return _rolled_back(state, analysis.reason, analysis.message)  # ready or not: a crash must not hide the metrics
    return (
        _tried(plan, state, analysis, now, unasked=message != "next")
        if observations.ready
        else _waiting(plan, state, now, observations)
    )


def share(plan: RolloutStrategy | None, state: State, stable: int = 1, candidate: int = 0) -> int:
    """Return the canary's share of the predictor's traffic, 0-100, for these numbers of ready pods."""
    if plan is None or not plan.steps or state.phase not in ("Stepping", "Promoting"):
        return 0
    weight = _step(plan, state).weight
    if state.phase == "Stepping" or not candidate:
        return weight
    # While the predictor's pods are replaced, ready pods get equal shares.
    return max(weight, ceil(100 * candidate / (candidate + stable)))


def carried(plan: RolloutStrategy | None) -> int:
    """Return the canary's pods in percent of the predictor's: so many may be unavailable during a replacement."""
    return max((step.weight for step in plan.steps), default=0) if plan is not None else 0


def served(state: State) -> str:
    """Return the version of the predictor's own Deployment."""
    return state.candidate if state.phase == "Promoting" else state.stable


def candidate_replicas(plan: RolloutStrategy, replicas: int) -> int:
    """Return the replicas for the largest step, from the first step on: pods started later would be too late."""
    return max(1, ceil(replicas * carried(plan) / 100))


def until_next(plan: RolloutStrategy | None, state: State, now: datetime) -> timedelta | None:
    """Return when to reconcile again."""
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
    """Carry the handled command over to the new state."""
    return replace(state, last_command=before.last_command, last_command_number=before.last_command_number)


def _begun(state: State, wanted: str, now: datetime) -> State:
    begun = State("Starting", state.stable, wanted, since=now, reason="Starting", message=NOT_READY)
    return _after(state, begun)


def _resumed(plan: RolloutStrategy | None, state: State, command: str, now: datetime) -> State:
    """No rollout is active. A rejected version is tried again, or promoted, on command."""
    if not state.rejected or state.phase != "RolledBack":
        return state
    if command == "promote":
        message = by_hand("promoted", command)
        return _after(state, State(stable=state.rejected, reason=PROMOTED_BY_HAND, message=message))
    return _begun(state, state.rejected, now) if command == "retry" and plan is not None else state


def _withdrawn(state: State) -> State:
    """The spec names the stable version again."""
    if state.candidate:
        message = f"the spec names ModelVersion {state.stable} again, which served before"
        return _after(state, State(stable=state.stable, reason="Withdrawn", message=message))
    if state.reason == "Off":
        return _after(state, State(stable=state.stable))
    return replace(state, phase="Stable", rejected="") if state.phase == "RolledBack" else state


def _rolled_back(state: State, reason: str, message: str) -> State:
    ended = State("RolledBack", state.stable, rejected=state.candidate, reason=reason, message=message)
    return _after(state, ended)


def _promoting(state: State, now: datetime, reason: str, message: str) -> State:
    return replace(state, phase="Promoting", since=now, reason=reason, message=message)


def _replaced(plan: RolloutStrategy, state: State, now: datetime, observations: Observations) -> State:
    """The predictor's own pods are being replaced. If there is no room for them, roll back."""
    if observations.replaced:
        return _after(state, State(stable=state.candidate, reason="Promoted", message=state.message))
    if observations.unschedulable and state.reason != NO_ROOM:
        # Kept in the state: the pods that are replaced first make room, and the next ones would wait again.
        message = "no node has room for an additional pod: pods are replaced one by one"
        return replace(state, since=now, reason=NO_ROOM, message=message)
    if observations.stuck and not observations.loading and _is_over(state.since, plan.start, now):
        message = f"the predictor's pods were not replaced: its Deployment made no progress for {spelled(plan.start)}"
        return _rolled_back(state, "PromotionStuck", message)
    return state


def _tried(plan: RolloutStrategy, state: State, analysis: AnalysisResult, now: datetime, *, unasked: bool) -> State:
    if state.phase == "Starting":
        return _in_step(plan, replace(state, phase="Stepping", since=now, step_since=state.step_since or now))
    return _stepped(plan, state, analysis, now, unasked=unasked)


def _is_over(since: datetime | None, lasting: timedelta, now: datetime) -> bool:
    return since is not None and now - since >= lasting


def _waiting(plan: RolloutStrategy, state: State, now: datetime, observations: Observations) -> State:
    """A canary that is not ready gets no traffic. Its pause restarts when it is ready; its metrics still count."""
    if state.phase == "Stepping":
        lost = state.interruptions + 1
        if lost > MOST_INTERRUPTIONS:
            return _rolled_back(state, "Unstable", f"it lost its last ready pod {lost} times in one step")
        return replace(state, phase="Starting", since=now, interruptions=lost, reason="NotReady", message=LOST)
    since = max(filter(None, (state.since, observations.loaded)), default=None)
    if _is_over(
        state.since if observations.loading else since,
        plan.start + (LOADING if observations.loading else timedelta()),
        now,
    ):
        message = f"{NOT_READY} after {spelled(plan.start)} (rollout.startSeconds)"
        return _rolled_back(state, "NotReady", message)
    return state


def _stepped(plan: RolloutStrategy, state: State, analysis: AnalysisResult, now: datetime, *, unasked: bool) -> State:
    pause = _pause(plan, state)
    if unasked and (pause is None or (state.since is not None and now < state.since + pause)):
        return _in_step(plan, state)
    if unasked and analysis == PENDING:
        return state
    if unasked and analysis.outcome == "Unknown":
        if pause is not None and _is_over(state.since, pause + plan.deadline, now):
            late = (
                f"{analysis.message} within {spelled(plan.deadline)} after the step's pause (analysis.deadlineSeconds)"
            )
            return _rolled_back(state, analysis.reason, late)
        return replace(state, reason=analysis.reason, message=f"{_described(plan, state)}; {analysis.message}")
    if state.step + 1 >= len(plan.steps):
        message = by_hand("passed the last step", "next") if not unasked else "passed every step"
        return _promoting(state, now, "Promoting", message)
    return _in_step(plan, replace(state, step=state.step + 1, since=now, step_since=now, interruptions=0))


def _in_step(plan: RolloutStrategy, state: State) -> State:
    reason = "Step" if _pause(plan, state) is not None else "Paused"
    return replace(state, reason=reason, message=_described(plan, state))


def _step(plan: RolloutStrategy, state: State) -> Step:
    """Return the current step; steps may have been removed from the spec meanwhile."""
    return plan.steps[min(state.step, len(plan.steps) - 1)]


def _pause(plan: RolloutStrategy, state: State) -> timedelta | None:
    """Return the duration of the step; None: until the command `next`."""
    seconds = _step(plan, state).pause
    return timedelta(seconds=seconds) if seconds is not None else None


def _described(plan: RolloutStrategy, state: State) -> str:
    pause = _pause(plan, state)
    lasting = f"for {spelled(pause)}" if pause is not None else f"until annotation {ANNOTATION}=next"
    number = min(state.step, len(plan.steps) - 1) + 1
    return f"step {number} of {len(plan.steps)}: {_step(plan, state).weight} % {lasting}"
