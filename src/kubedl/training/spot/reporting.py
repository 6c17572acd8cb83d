"""Says where the replicas of a job on spot nodes belong, and why: conditions and events. Pure.

Messages have no numbers that change by themselves: each change of a condition is a write.
"""

from kubedl.api.conditions import is_true
from kubedl.training.elastic.terms import ConditionType, Reason
from kubedl.training.plan import EventType, PlanBuilder
from kubedl.training.policies import index_ranges
from kubedl.training.spot import assignment, progress
from kubedl.training.spot.choosing import Choice, Mode
from kubedl.training.spot.observing import Scene
from kubedl.training.spot.pools import Pools

OVER = "SpotSettled"  # a condition that no longer holds
LEADER, NODES = "LeaderWithoutNode", "NoNodes"
TOLD: dict[ConditionType, EventType] = {
    ConditionType.WAITING_FOR_SPOT: "Normal",
    ConditionType.DEADLINE_AT_RISK: "Warning",
    ConditionType.PROGRESS_UNKNOWN: "Warning",
}
MODE_EVENTS = {Mode.SPOT: "SpotPreferred", Mode.ON_DEMAND: "OnDemandFallback", Mode.LAST: "OnDemandUntilTheEnd"}

WHY: dict[str, str] = {
    Reason.NO_DEADLINE: "the job has no deadline",
    Reason.AHEAD_OF_LINE: "the training is ahead of what the deadline asks for",
    Reason.BEHIND_LINE: "the training is behind what the deadline asks for",
    Reason.SLACK_LOW: "there is little time to spare until the deadline",
    Reason.SLACK_SPENT: "there is no time to spare until the deadline",
    Reason.WAITED_TOO_LONG: "the job has waited too long for spot nodes",
}
WHAT = {
    Mode.SPOT: "replicas belong to spot pools",
    Mode.ON_DEMAND: "replicas without a spot node go to on-demand pools",
    Mode.LAST: "all replicas belong to on-demand pools until the end",
}


def tell_mode(builder: PlanBuilder, choice: Choice) -> None:
    """Record that the mode has changed."""
    builder.event("Normal", MODE_EVENTS[choice.mode], f"{WHAT[choice.mode]}: {WHY.get(choice.reason, choice.reason)}")


def report(builder: PlanBuilder, seen: Scene, pools: Pools, choice: Choice) -> None:
    """Set the conditions."""
    status = builder.status.spot
    if status is None:
        return
    on_demand = [
        rank
        for rank, name in enumerate(assignment.read(status.pools, seen.size))
        if name is not None and pools.is_on_demand(name)
    ]
    least = min(builder.observed.job.spec.spot.min_on_demand, seen.size)
    why = WHY.get(status.reason, "it was decided so")
    _waiting(builder, seen)
    is_smaller = seen.trains and seen.running < seen.size and bool(seen.without_node)
    _set(builder, ConditionType.SHRUNK, is_smaller, NODES, "the job trains without replicas that have no node")
    falls_back = len(on_demand) > least and bool(pools.spot)
    who = f"replicas of rank {index_ranges.write(on_demand)} belong to on-demand pools"
    _set(builder, ConditionType.ON_DEMAND_FALLBACK, falls_back, status.reason or status.mode, f"{who}: {why}")
    at_risk = ConditionType.DEADLINE_AT_RISK in choice.conditions
    risk = "the time to spare is less than it takes until all replicas train"
    _set(builder, ConditionType.DEADLINE_AT_RISK, at_risk, Reason.SLACK_LOW.value, risk)
    unknown = is_progress_unknown(builder, seen)
    text = "the program does not report step and total: only work that was reported before counts"
    _set(builder, ConditionType.PROGRESS_UNKNOWN, unknown, "NoReport", text)


def is_progress_unknown(builder: PlanBuilder, seen: Scene) -> bool:
    """Return whether a program that trains does not say how far it is, although a deadline depends on it."""
    before = is_true(builder.status.conditions, ConditionType.PROGRESS_UNKNOWN)
    if builder.observed.job.spec.spot.work is None:
        return False
    if not seen.trains:
        return before
    return progress.is_unknown(builder.observed.progress, builder.observed.now, was_unknown=before)


def stop(builder: PlanBuilder, reason: str) -> None:
    """Nobody trains any more."""
    for kind in ConditionType:
        builder.condition(kind, False, reason)


def _waiting(builder: PlanBuilder, seen: Scene) -> None:
    """The first replica counts alone: without it nobody trains, however many nodes the others have."""
    job = builder.observed.job
    if 0 in seen.without_node and seen.size - len(seen.without_node) >= seen.min_size:
        name = job.pod_name(job.leader)
        text = f"{name} has no node, and the others cannot train without it, since it keeps the rendezvous"
        reason = LEADER
    else:
        text = f"there are nodes for fewer than {seen.min_size} replicas, the smallest number that trains"
        reason = NODES
    _set(builder, ConditionType.WAITING_FOR_SPOT, seen.waits_for_nodes, reason, text)


def _set(builder: PlanBuilder, kind: ConditionType, holds: bool, reason: str, message: str) -> None:
    turned = builder.condition(kind, holds, reason if holds else OVER, message if holds else "")
    if turned and holds and kind in TOLD:
        builder.event(TOLD[kind], kind.value, message)
