"""Chooses between spot and on-demand: the deadline policy, with what keeps it from changing its mind too often.

A mode is entered as soon as the policy asks for it, and left only with a margin: by the progress that the job would
still have ahead of the line if it lost as much as a move to spot nodes and back may cost.
"""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from kubedl.training.elastic import deadline
from kubedl.training.elastic.deadline import CATCH_UP, checkpoint_seconds
from kubedl.training.elastic.terms import ConditionType, Decision, Reason, Terms
from kubedl.training.elastic.terms import Mode as Urgency
from kubedl.training.elastic.terms import Situation as Seen


class Mode(StrEnum):
    """What replicas belong to."""

    SPOT = "Spot"  # spot pools, but for those that never do
    ON_DEMAND = "OnDemand"  # on-demand pools, as far as spot has no nodes and the policy needs them
    LAST = "Last"  # on-demand pools, all of them, until the end


class Situation(Struct, frozen=True):
    """What is seen now, and what was decided before."""

    terms: Terms
    seen: Seen
    mode: Mode = Mode.SPOT  # of the last decision
    at_risk: bool = False  # the last decision said that the deadline is


class Choice(Struct, frozen=True):
    """How many replicas belong to on-demand pools, and why; the others belong to spot pools."""

    mode: Mode
    on_demand: int
    reason: Reason
    conditions: tuple[ConditionType, ...]
    may_move: bool  # replicas that train may be sent to other pools
    projected_end: int | None = None
    next_look: int | None = None


def choose(situation: Situation) -> Choice:
    """Decide. Pure: the same situation gives the same choice."""
    terms, seen = situation.terms, _with_mode(situation)
    decided = deadline.choose(terms, seen)
    mode, reason = _mode(situation, seen, decided), decided.reason
    if mode is Mode.LAST:
        on_demand = terms.size
    elif mode is Mode.ON_DEMAND:
        on_demand = max(decided.on_demand, seen.on_demand_members + seen.on_demand_starting)
    else:
        on_demand = terms.min_on_demand
    return Choice(
        mode=mode,
        on_demand=min(max(on_demand, terms.min_on_demand), terms.size),
        reason=reason,
        conditions=_conditions(situation, seen, decided),
        may_move=_may_move(terms, seen, decided, mode),
        projected_end=decided.projected_end if terms.deadline is not None else None,
        next_look=decided.next_look,
    )


def margin(terms: Terms, seen: Seen) -> int:
    """Return how far ahead of the line a job must be to give on-demand nodes back."""
    return CATCH_UP + _cost_of_a_move(terms, seen)


def _cost_of_a_move(terms: Terms, seen: Seen) -> int:
    """Return what it costs at most to send all replicas to other nodes: save, start there, join."""
    return max(terms.cold_start, seen.cold_start) + 2 * checkpoint_seconds(terms, seen) + terms.changeover


def _with_mode(situation: Situation) -> Seen:
    return replace(situation.seen, mode=Urgency.LAST if situation.mode is Mode.LAST else Urgency.LINE)


def _mode(situation: Situation, seen: Seen, decided: Decision) -> Mode:
    if decided.mode is Urgency.LAST:
        return Mode.LAST
    if decided.size > 0:
        return Mode.ON_DEMAND
    if situation.mode is Mode.SPOT:
        return Mode.SPOT
    if situation.terms.deadline is None or seen.progress is None:
        return Mode.ON_DEMAND  # nothing says that spot nodes would be there now
    less = _less(seen, margin(situation.terms, seen))
    return Mode.SPOT if deadline.choose(situation.terms, less).size == 0 else Mode.ON_DEMAND


def _less(seen: Seen, seconds: int) -> Seen:
    """Return the situation with less progress, which may be below nothing: a new job is not ahead of any line."""
    progress = seen.progress - seconds if seen.progress is not None else None
    return replace(seen, progress=progress, durable=seen.durable - seconds)


def _conditions(situation: Situation, seen: Seen, decided: Decision) -> tuple[ConditionType, ...]:
    """Return what holds; a risk is over only with a margin."""
    risk, found = ConditionType.DEADLINE_AT_RISK, decided.conditions
    if not situation.at_risk or risk in found or situation.terms.deadline is None:
        return found
    less = _less(seen, max(situation.terms.cold_start, seen.cold_start))
    is_over = risk not in deadline.choose(situation.terms, less).conditions
    return found if is_over else (*found, risk)


def _may_move(terms: Terms, seen: Seen, decided: Decision, mode: Mode) -> bool:
    """Return whether what is left until the deadline is enough to move replicas that train.

    In the last mode they move once, as long as that is less than a reclaim could cost; to spot they go when the policy
    has time to spare anyway.
    """
    if terms.deadline is None or seen.progress is None or not seen.notices_trusted:
        return False
    if mode is Mode.LAST:
        return decided.slack is not None and decided.slack >= _cost_of_a_move(terms, seen)
    return mode is Mode.SPOT
