"""The deadline policy: how many replicas a job wants from spot and from on-demand nodes.

A line leads from now to the deadline. Ahead of it the job takes what spot gives and waits when there is none; behind it
on-demand nodes help. Two thresholds on the slack (the seconds to spare at full size) guard the deadline itself: a
reclaim above the second costs at most a checkpoint, a cold start, and a checkpoint and changeover to join.
"""

import math

from kubedl.training.elastic.pace import pace, smallest_size
from kubedl.training.elastic.terms import ConditionType, Decision, Mode, Reason, Situation, Terms

STEEPEST_WAIT = 0.85  # under a loose deadline the line starts later instead of being flatter
CATCH_UP = 3600  # seconds in which a deficit is to be made up
LOOK_AGAIN = 300  # while behind the line at less than full size
LEAVE_MARGIN = 5  # seconds before a node is taken at which its replicas are gone


def choose(terms: Terms, now: Situation) -> Decision:
    """Decide. Pure: the same terms and situation give the same decision."""
    if terms.max_cost is not None and now.spent >= terms.max_cost:
        return Decision(0, 0, 0, now.mode, Reason.BUDGET_SPENT, ())
    if terms.deadline is None:
        return _without_deadline(terms, now)
    return _with_deadline(terms, now, terms.deadline)


def notice_suffices(terms: Terms, now: Situation) -> bool:
    """Return whether a reclaim leaves time for a checkpoint, so that it takes back no progress."""
    return now.notices_trusted and checkpoint_seconds(terms, now) + LEAVE_MARGIN <= terms.notice


def checkpoint_seconds(terms: Terms, now: Situation) -> int:
    """Return how long a checkpoint takes: as configured, or longer if it was seen."""
    return max(terms.checkpoint, now.checkpoint)


def thresholds(terms: Terms, now: Situation) -> tuple[int, int]:
    """Return the slack below which on-demand fills the size, and below which it takes over for good."""
    cold = max(terms.cold_start, now.cold_start)
    pause = checkpoint_seconds(terms, now) + terms.changeover
    return 2 * cold + 6 * pause, cold + 3 * pause


def secured(terms: Terms, now: Situation) -> float:
    """Return the progress that a reclaim cannot take back."""
    if now.progress is None:
        return now.durable
    if notice_suffices(terms, now) or (now.spot_members == 0 and now.on_demand_members > 0):
        return now.progress
    return now.durable


def _without_deadline(terms: Terms, now: Situation) -> Decision:
    size, reason = 0, Reason.NO_DEADLINE
    if _spot_is_not_cheaper(terms):
        size, reason = terms.size, Reason.SPOT_NOT_CHEAPER
    elif _waited_too_long(terms, now):
        size, reason = terms.size, Reason.WAITED_TOO_LONG
    on_demand = _on_demand(terms, now, size)
    spot = 0 if reason is Reason.SPOT_NOT_CHEAPER else terms.size - terms.min_on_demand
    return Decision(
        spot,
        on_demand,
        size,
        Mode.LINE,
        reason,
        _conditions(terms, now, on_demand),
        projected_end=_projected_end(terms, now),
        next_look=_end_of_wait(terms, now),
    )


def _with_deadline(terms: Terms, now: Situation, deadline: int) -> Decision:
    total = terms.work / now.measured_pace
    slack = (deadline - now.now) - (total - secured(terms, now) / now.measured_pace)
    mode = _mode(terms, now, slack)
    slope = max(total / max(deadline - terms.started, 1), STEEPEST_WAIT)
    reached = (now.durable if now.progress is None else now.progress) / now.measured_pace
    behind = total - slope * (deadline - now.now) - reached
    size, reason = _size(terms, now, mode, slope, behind)
    if mode is Mode.LAST:  # what runs on spot goes on until on-demand is there; nothing new is begun on it
        taken_over = now.on_demand_members >= terms.size
        on_demand, spot = terms.size, 0 if taken_over else now.spot_members + now.spot_starting
    else:
        on_demand, spot = _on_demand(terms, now, size), terms.size - terms.min_on_demand
    if reason is Reason.SPOT_NOT_CHEAPER:
        spot = now.spot_members
    return Decision(
        spot,
        on_demand,
        size,
        mode,
        reason,
        _conditions(terms, now, on_demand, slack),
        slack,
        _projected_end(terms, now),
        _next_look(terms, now, slack, slope, behind, size),
    )


def _mode(terms: Terms, now: Situation, slack: float) -> Mode:
    topped, last = thresholds(terms, now)
    if slack < last or (now.mode is Mode.LAST and slack < topped):
        return Mode.LAST
    return Mode.TOPPED if slack < topped else Mode.LINE


def _size(terms: Terms, now: Situation, mode: Mode, slope: float, behind: float) -> tuple[int, Reason]:
    if mode is Mode.LAST:
        return terms.size, Reason.SLACK_SPENT
    if mode is Mode.TOPPED:
        return terms.size, Reason.SLACK_LOW
    if _spot_is_not_cheaper(terms):
        return terms.size, Reason.SPOT_NOT_CHEAPER
    if _waited_too_long(terms, now):
        return terms.size, Reason.WAITED_TOO_LONG
    if behind > 0:
        return smallest_size(terms, min(1.0, slope + behind / CATCH_UP), now.paces), Reason.BEHIND_LINE
    return 0, Reason.AHEAD_OF_LINE


def _on_demand(terms: Terms, now: Situation, size: int) -> int:
    """Fill up to the size; what is there already is given back only to spot replicas that have joined."""
    missing = size - now.spot_members
    if not _spot_is_not_cheaper(terms):
        missing -= now.spot_starting
    kept = min(now.on_demand_members + now.on_demand_starting, terms.size - now.spot_members)
    return max(missing, kept, terms.min_on_demand, 0)


def _spot_is_not_cheaper(terms: Terms) -> bool:
    return (
        terms.spot_price is not None and terms.on_demand_price is not None and terms.spot_price >= terms.on_demand_price
    )


def _end_of_wait(terms: Terms, now: Situation) -> int | None:
    if terms.max_wait is None or now.waiting_since is None or _waited_too_long(terms, now):
        return None
    return now.waiting_since + terms.max_wait


def _waited_too_long(terms: Terms, now: Situation) -> bool:
    return (
        terms.max_wait is not None and now.waiting_since is not None and now.now - now.waiting_since >= terms.max_wait
    )


def _conditions(terms: Terms, now: Situation, on_demand: int, slack: float | None = None) -> tuple[ConditionType, ...]:
    members = now.spot_members + now.on_demand_members
    holds = {
        ConditionType.SHRUNK: 0 < members < terms.size,
        ConditionType.WAITING_FOR_SPOT: members == 0 and on_demand == 0,
        ConditionType.ON_DEMAND_FALLBACK: on_demand > terms.min_on_demand,
        ConditionType.DEADLINE_AT_RISK: slack is not None and slack < _delay(terms, now),
        ConditionType.PROGRESS_UNKNOWN: now.progress is None,
    }
    return tuple(condition for condition, true in holds.items() if true)


def _delay(terms: Terms, now: Situation) -> int:
    """Return the seconds until the full size can train, if on-demand is asked for now."""
    if now.spot_members + now.on_demand_members >= terms.size:
        return 0
    if now.on_demand_members + now.on_demand_starting >= terms.size:
        return max(now.on_demand_ready_at - now.now, 0) + terms.changeover
    return max(terms.cold_start, now.cold_start) + terms.changeover


def _projected_end(terms: Terms, now: Situation) -> int | None:
    speed = pace(now.spot_members + now.on_demand_members, terms.size, now.paces) * now.measured_pace
    if speed <= 0:
        return None
    reached = now.durable if now.progress is None else now.progress
    return now.now + math.ceil(max(terms.work - reached, 0) / speed)


def _next_look(terms: Terms, now: Situation, slack: float, slope: float, behind: float, size: int) -> int | None:
    """Return when the decision may change although nothing happens."""
    speed = pace(now.training, terms.size, now.paces)
    shrinking = 1.0 - speed if notice_suffices(terms, now) and now.progress is not None else 1.0
    times = []
    if shrinking > 0:
        times += [(slack - threshold) / shrinking for threshold in thresholds(terms, now) if slack >= threshold]
    if behind <= 0 and slope > speed:
        times.append(-behind / (slope - speed))
    looks = [now.now + math.floor(seconds) + 1 for seconds in times]
    if behind > 0 and size < terms.size:
        looks.append(now.now + LOOK_AGAIN)
    if (waited := _end_of_wait(terms, now)) is not None:
        looks.append(waited)
    return min(looks, default=None)
