"""Reports what a job in a queue waits for: its position, who holds the quota, and Kueue's reason. Pure.

The text is written at most every `PAUSE`, at most every `MINUTE` if only numbers change, such as the position, and
every `REFRESH` for jobs far behind. So thousands of jobs in a queue cost few writes.
"""

from datetime import timedelta

import msgspec

from kubedl.api.conditions import Condition, find, set_condition
from kubedl.api.training import JobStatus
from kubedl.training.formatting import LONGEST_LINE, headline, shorten, since
from kubedl.training.kueue.places import describe_holders
from kubedl.training.kueue.queue import PENDING, Queue, Reason
from kubedl.training.plan import PlanBuilder
from kubedl.training.policies.safe_time import later
from kubedl.training.waiting import LONGEST, PAUSE, PODS_READY, REFRESH, without_numbers

MINUTE, SOON = timedelta(minutes=1), timedelta(seconds=3)
LOOK_AGAIN = timedelta(seconds=5)  # for a flavor that is not known, or a queue that does not honour the placement
SUSPENDED = "Suspended"
INADMISSIBLE = "Inadmissible"  # Kueue's reason if quota does not matter: there is no such queue, or it is stopped
LEAST_ROOM = 48  # characters; less of a message does not help
NO_FLAVOR = "couldn't assign flavors to pod set "  # the begin of Kueue's message about missing quota


def describe(builder: PlanBuilder, obstacle: Reason) -> None:
    """Report that the job waits in its queue. Call it after the other conditions are set."""
    observed, (reason, said) = builder.observed, obstacle
    generation, queue = observed.job.resource.metadata.generation, observed.queue
    facts, kueue = explain(queue, reason, said) if queue is not None else (said, "")
    waits = find(builder.status.conditions, SUSPENDED)
    tail = since(waits.last_transition_time) if waits is not None else ""
    message = shorten(f"{facts}: {kueue}" if kueue else facts, LONGEST - len(tail)) + tail
    new = Condition(type=PODS_READY, status="False", reason=reason, message=message, observed_generation=generation)
    builder.set(conditions=set_condition(builder.status.conditions, new, observed.now))
    builder.state("Queuing", reason, _line(reason, facts, kueue))


def explain(queue: Queue, reason: str, said: str) -> tuple[str, str]:
    """Return why a job must not run, with its place in the queue if it waits for quota, and what Kueue says."""
    by = f"preempted by {queue.preemptor}" if queue.preemptor else ""
    place, kueue = queue.place, queue.message
    if queue.missing or (reason != PENDING and not kueue):
        return (by, said) if by else (said, "")
    held = describe_holders(place, kueue) if place is not None and reason != INADMISSIBLE else ""
    facts = [place.position if place is not None else "", f"quota held by {held}" if held else "", by]
    facts = [fact for fact in facts if fact]
    if place is None or not place.position:
        facts.insert(0, _bare(queue))
    return "; ".join(facts), kueue


def limit_writes(builder: PlanBuilder) -> None:
    """Keep the status if only the texts of a waiting job change, and changed recently. Call it last."""
    resource, queue = builder.observed.job.resource, builder.observed.queue
    old, new = resource.status, builder.status
    if old == new or queue is None or _without_texts(old) != _without_texts(new):
        return
    if queue.workload is not None and queue.place is None:
        builder.status = old  # the operator has just started: the place that was written is better than none
        builder.wake(later(builder.observed.now, SOON))
        return
    if _text(old).startswith(f"{_bare(queue)} (since "):
        return  # nothing was known yet
    written = builder.observed.message_written_at
    alike = without_numbers(_text(old)) == without_numbers(_text(new))
    if written is None:
        builder.status = old if alike else new
        return
    is_near = queue.place is not None and bool(queue.place.metadata.name)
    free = later(written, PAUSE if not alike else MINUTE if is_near else REFRESH)
    if builder.observed.now < free:
        builder.status = old
        builder.wake(free)


def _without_texts(status: JobStatus) -> JobStatus:
    conditions = tuple(
        msgspec.structs.replace(one, message="") if one.type in (PODS_READY, SUSPENDED) else one
        for one in status.conditions
    )
    return msgspec.structs.replace(status, message="", conditions=conditions)


def _bare(queue: Queue) -> str:
    return f"the job waits in queue {queue.name}"


def _text(status: JobStatus) -> str:
    condition = find(status.conditions, PODS_READY)
    return condition.message if condition is not None else ""


def _line(reason: str, facts: str, kueue: str) -> str:
    """Return the text for `kubectl get`: of what Kueue says, as much as there is room for."""
    if kueue.startswith(NO_FLAVOR):  # for which role
        kueue = kueue.removeprefix(NO_FLAVOR).partition(": ")[2]
    room = LONGEST_LINE - len(f"{reason}: {facts}: ")
    return headline(reason, f"{facts}: {shorten(kueue, room)}" if kueue and room >= LEAST_ROOM else facts)
