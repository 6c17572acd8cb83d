"""Reports what a job waits for: the condition PodsReady, and reason and message of the status. Pure.

The first cause is reported, in the order in which causes take effect: a rejected creation, the gate of an add-on, a pod
that does not start, a role that others wait for, the failure before a restart. The message is that of the
scheduler, the kubelet or the API server; that of the scheduler follows a condensed form of it.

If only the message changes, it is written at most every `PAUSE`, and every `REFRESH` if only its numbers change. This
bounds the writes for a pod whose status keeps changing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from kubedl.api.conditions import Condition, find, holding, is_finished, is_true, set_condition
from kubedl.api.training import JobStatus, TrainingJob
from kubedl.kube.types.core import Pod
from kubedl.training import replica_status, scheduler_message
from kubedl.training.addons import registry
from kubedl.training.formatting import headline, shorten, since
from kubedl.training.gang import assignment as gang
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import PlanBuilder
from kubedl.training.pod_diagnostics import Cause, Rank, asks, diagnose, overdue
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.depends_on import waits_for
from kubedl.training.policies.safe_time import later

PODS_READY = "PodsReady"
WAITING_FOR_PODS = "WaitingForPods"  # pods start, and no component reports a problem
LONGEST = 1024  # characters of the condition's message
NO_DIGITS = str.maketrans("", "", "0123456789")
UNPLACED = ("Unschedulable", "NotScheduled")  # by the scheduler
PAUSE, REFRESH = timedelta(seconds=10), timedelta(minutes=5)


@dataclass(frozen=True)
class _Wait:
    """What the job waits for."""

    reason: str
    message: str
    since: datetime | None = None
    pod: str = ""  # the first pod with this reason
    more: int = 0  # how many other pods have it
    line: str = ""  # the message for `kubectl get`, if it is another one
    exact: str = ""  # the part of the message whose numbers are written as soon as its words would be


@dataclass(frozen=True)
class _Pods:
    """The replicas that are not ready."""

    absent: tuple[ObservedReplica, ...]  # without a usable pod
    found: tuple[tuple[Pod, Cause], ...]
    reported: tuple[tuple[Pod, Cause], ...]  # those of the found ones whose reason is known

    @classmethod
    def of(cls, absent: Sequence[ObservedReplica], found: Sequence[tuple[Pod, Cause]]) -> "_Pods":
        """Return the pods; most of those that start have no reason yet, and are looked at no further."""
        return cls(tuple(absent), tuple(found), tuple(one for one in found if one[1].reason))

    @property
    def not_running(self) -> int:
        """The number of replicas that do not run."""
        unready = [cause for _, cause in self.reported if cause.rank is Rank.UNREADY]
        return len(self.absent) + len(self.found) - len(unready)


def describe(builder: PlanBuilder, replicas: list[ObservedReplica]) -> None:
    """Report what the job waits for, or that all pods are ready. Call it after conditions and counts are set."""
    builder.set(restarts=restarts(builder, replicas))
    pods = _look(builder, replicas)
    _ask(builder, pods)
    if not pods.absent and not pods.found:
        _all_ready(builder, replicas)
    else:
        _tell(builder, replicas, pods)


def begun(observed: Observed, status: JobStatus, created: Sequence[Pod]) -> JobStatus:
    """Return the status of a job whose pods were just created, with what the API server returned about them.

    Pods with scheduling gates wait from the start: reported in the first status, that needs no second write.
    """
    job = observed.job
    if len(created) < job.size or not any(pod.condition("PodScheduled") for pod in created):
        return status
    builder, by_name = PlanBuilder(observed), {pod.metadata.name: pod for pod in created}
    builder.status = status
    pods = [by_name[job.pod_name(replica)] for replica in job.replicas()]
    causes = [(pod, cause) for pod in pods if (cause := diagnose(pod, observed.now)) is not None]
    _tell(builder, [], _Pods.of((), causes))
    return builder.status


def refused(status: JobStatus, generation: int, now: datetime) -> JobStatus:
    """Return the status with the reason of the condition Blocked as what the job waits for, if it is True."""
    blocked = holding(status.conditions, "Blocked")
    if blocked is None:
        return status
    tail = since(blocked.last_transition_time)
    new = Condition(
        type=PODS_READY,
        status="False",
        reason=blocked.reason,
        message=shorten(blocked.message, LONGEST - len(tail)) + tail,
        observed_generation=generation,
    )
    line = headline(blocked.reason, blocked.message)
    return msgspec.structs.replace(
        status, reason=blocked.reason, message=line, conditions=set_condition(status.conditions, new, now)
    )


def restarts(builder: PlanBuilder, replicas: list[ObservedReplica]) -> int | None:
    """Return how often pods were replaced or containers restarted; None for a new job without restarts."""
    status = builder.status
    replaced = status.retries + sum(role.evicted for role in status.replica_statuses.values())
    total = max(
        status.restarts or 0,
        replaced + sum(replica_status.restarts(builder.observed.job, seen) for seen in replicas),
    )
    return total if total or builder.observed.job.resource.status.start_time is None else status.restarts


def _look(builder: PlanBuilder, replicas: list[ObservedReplica]) -> _Pods:
    observed, absent, found = builder.observed, [], []
    for seen in replicas:
        pod = seen.current
        if seen.succeeded or seen.replica in builder.given_up:
            continue
        if pod is None and seen.pod is not None and seen.pod.metadata.deletion_timestamp is not None:
            pod = seen.pod  # of an older attempt, and blocks the name of the next
        if pod is None or pod.status.phase in ENDED:
            absent.append(seen)
            continue
        cause = diagnose(pod, observed.now, observed.lost_nodes.get(pod.spec.node_name), observed.heard)
        if cause is not None:
            found.append((pod, cause))
            if not cause.reason:
                builder.wake(overdue(pod))
    return _Pods.of(absent, found)


def _ask(builder: PlanBuilder, pods: _Pods) -> None:
    """Request the kubelet's Events of the first pod whose status has no reason, when it is time."""
    observed, heard = builder.observed, builder.observed.heard
    for pod, cause in pods.found:
        moment = asks(pod, cause)
        if moment is None:
            continue
        if heard is not None and heard.pod == pod.metadata.uid:
            moment = heard.again
        if observed.now >= moment:
            builder.inquire = pod
        builder.wake(moment)
        return


def _tell(builder: PlanBuilder, replicas: list[ObservedReplica], pods: _Pods) -> None:
    wait = _blocked(builder) or _gated(builder) or _pod(pods, Rank.ENDING) or _structure(builder, replicas, pods)
    wait = wait or _pod(pods, Rank.UNREADY) or _restart(builder)
    if wait is not None and wait.reason in UNPLACED:
        unmet = "".join(f"{text}; " for _, text in builder.observed.unmet_placement)
        placed, said = gang.explain(builder, replicas) + unmet, wait.message
        whole, line = placed + scheduler_message.explain(said), placed + scheduler_message.trim(said)
        wait = replace(wait, message=whole, line=line, exact=placed.rstrip())
    if wait is None:
        _set_condition(builder, _Wait(WAITING_FOR_PODS, ""), _count(builder, pods))
    else:
        who = f"{wait.pod}{f' and {wait.more} more' if wait.more else ''}: {wait.reason}: " if wait.pod else ""
        tail = since(wait.since)
        head = f"{_count(builder, pods)}; {who}"
        _set_condition(builder, wait, head + shorten(wait.message, LONGEST - len(head) - len(tail)) + tail)


def _count(builder: PlanBuilder, pods: _Pods) -> str:
    missing, total = pods.not_running, builder.observed.job.size
    state = "running" if missing else "ready"
    missing = missing or len(pods.found)
    if total == 1:
        return f"the pod is not {state}"
    return f"{missing} of {total} pods {'is' if missing == 1 else 'are'} not {state}"


def _blocked(builder: PlanBuilder) -> _Wait | None:
    condition = holding(builder.status.conditions, "Blocked")
    if condition is None or builder.creations:  # creation is tried again now
        return None
    return _Wait(condition.reason, condition.message, condition.last_transition_time)


def _gated(builder: PlanBuilder) -> _Wait | None:
    """Return what an add-on with its own condition waits for, or why pods that others wait for are not created."""
    for kind in registry.conditions():
        closed = holding(builder.status.conditions, kind)
        if closed is not None:
            return _Wait(kind, closed.message, closed.last_transition_time)
    first = [gate for gate in builder.gates if gate.comes_first]
    return _Wait(first[0].reason, first[0].message) if first else None


def _pod(pods: _Pods, last: Rank) -> _Wait | None:
    reported = [(pod, cause) for pod, cause in pods.reported if cause.rank <= last]
    if not reported:
        return None
    pod, cause = min(reported, key=lambda one: one[1].rank)  # the first, in the order of replicas
    same = sum(other.reason == cause.reason for _, other in reported)
    return _Wait(cause.reason, cause.message, cause.since, pod.metadata.name, same - 1)


def _structure(builder: PlanBuilder, replicas: list[ObservedReplica], pods: _Pods) -> _Wait | None:
    """Return what blocks the creation of pods, and what the existing ones do."""
    gates, held = [gate for gate in builder.gates if gate.reason], builder.held_by
    if held is not None and held.reason:  # the roles that others wait for do not start because of it
        reason, texts = held.reason, [held.message]
    else:
        reason, texts = "WaitingForRole", list(_roles(builder, replicas, pods))
    if not texts and gates and pods.absent:
        reason, texts = gates[0].reason, [gates[0].message]
    starting = [(pod, cause) for pod, cause in pods.reported if cause.rank is Rank.STARTING]
    if starting:
        pod, cause = starting[0]
        texts.append(f"{pod.metadata.name}: {cause.reason}: {cause.message}")
        reason = reason if len(texts) > 1 else cause.reason
    return _Wait(reason, "; ".join(texts), builder.status.start_time) if texts else None


def _roles(builder: PlanBuilder, replicas: list[ObservedReplica], pods: _Pods) -> Iterator[str]:
    """Return a text for each role that waits for another by dependsOn."""
    job, missing = builder.observed.job, {seen.replica.role for seen in pods.absent}
    waiting = [role for role in job.roles.values() if role.name in missing and role.depends_on]
    if not waiting:
        return
    progress = replica_status.progress(job, replicas)
    names = {name.lower(): name for name in job.roles}
    for role in waiting:
        dependency = waits_for(role.depends_on, progress)
        if dependency is not None:
            upstream, phase = names[dependency.upstream.lower()], dependency.phase
            counts = progress[upstream]
            reached = {"Running": counts.running, "Ready": counts.ready, "Succeeded": counts.succeeded}[phase]
            yield f"{role.name} waits for {upstream} to be {phase} (dependsOn; {reached} of {counts.replicas} so far)"


def _restart(builder: PlanBuilder) -> _Wait | None:
    condition = holding(builder.status.conditions, "Restarting")
    return _Wait(condition.reason, condition.message) if condition is not None else None


def _all_ready(builder: PlanBuilder, replicas: list[ObservedReplica]) -> None:
    builder.set(message="")
    written = builder.observed.job.resource.status.conditions
    if find(written, PODS_READY) is None and is_true(written, "Running"):
        return  # do not write the status of a job that ran before this condition existed
    running = sum(not seen.succeeded and seen.replica not in builder.given_up for seen in replicas)
    message = f"all {running} pods are ready" if running > 1 else "the pod is ready"
    builder.condition(PODS_READY, True, PODS_READY, message)


def _set_condition(builder: PlanBuilder, wait: _Wait, message: str) -> None:
    if _is_held_back(builder, wait, message):
        written = builder.observed.job.resource.status
        builder.set(reason=written.reason, message=written.message)
        return
    generation = builder.observed.job.resource.metadata.generation
    new = Condition(
        type=PODS_READY, status="False", reason=wait.reason, message=message, observed_generation=generation
    )
    conditions = set_condition(builder.status.conditions, new, builder.observed.now)
    builder.set(conditions=conditions, reason=wait.reason, message=headline(wait.reason, wait.line or wait.message))


def _is_held_back(builder: PlanBuilder, wait: _Wait, message: str) -> bool:
    """Return whether the message is kept: nothing else changes, and it was changed recently."""
    resource = builder.observed.job.resource
    now = builder.observed.now
    message_written_at = builder.observed.message_written_at
    old = find(resource.status.conditions, PODS_READY)
    if old is None or old.status != "False" or builder.creations or _differs(builder, resource):
        return False
    if (old.reason, old.message) == (wait.reason, message):
        return True
    alike = (old.reason, without_numbers(old.message)) == (wait.reason, without_numbers(message))
    alike = alike and wait.exact in old.message
    if message_written_at is None:
        return alike
    free = later(message_written_at, REFRESH if alike else PAUSE)
    builder.wake(free)
    return now < free


def _differs(builder: PlanBuilder, resource: TrainingJob) -> bool:
    """Return whether the status is written in any case."""
    same_text = {"reason": resource.status.reason, "message": resource.status.message}
    return bool(msgspec.structs.replace(builder.status, **same_text) != resource.status)


def without_numbers(text: str) -> str:
    """Return the text without digits, by which messages are compared that count something."""
    return text.translate(NO_DIGITS)


def is_waiting(status: JobStatus) -> bool:
    """Return whether the status says that the job waits for pods, or in a queue."""
    condition = find(status.conditions, PODS_READY)
    suspended = is_true(status.conditions, "Suspended") and status.state != "Queuing"
    over = is_finished(status.conditions) or suspended
    return condition is not None and condition.status == "False" and not over
