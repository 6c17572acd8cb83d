"""What a job waits for, said once: the condition PodsReady, and the status' reason and message for `kubectl get`. Pure.

The first cause is told, in the order in which causes take effect: what cannot be created, a cache, a pod that says why
it does not run, a role or a commit that others wait for, the failure after which pods start again. Each is in the words
of the scheduler, the kubelet or the API server.

A text that changes alone is written at most every `PAUSE`, and one of which only the numbers change every `REFRESH`: a
kubelet or a scheduler that changes its mind costs no more writes than that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from kubedl.api.conditions import Condition, find, is_finished, is_true, set_condition
from kubedl.api.training import JobStatus, TrainingJob
from kubedl.training import tally
from kubedl.training.addons import code
from kubedl.training.diagnosis import Cause, Rank, asks, diagnose, overdue
from kubedl.training.plan import Draft
from kubedl.training.policies.clean import ENDED
from kubedl.training.policies.dependencies import waits_for
from kubedl.training.policies.moment import later
from kubedl.training.snapshot import Sighting
from kubedl.training.wording import shorten, since
from kubedl.wire.core import Pod

PODS_READY = "PodsReady"
NOTHING_SAID = "WaitingForPods"  # pods start, and nobody has complained
LONGEST, LONGEST_LINE = 1024, 160  # characters of the condition's message, and of the line in `kubectl get`
NO_DIGITS = str.maketrans("", "", "0123456789")
PAUSE, REFRESH = timedelta(seconds=10), timedelta(minutes=5)


@dataclass(frozen=True)
class _Wait:
    """What is to be said."""

    reason: str
    words: str
    since: datetime | None = None
    pod: str = ""  # the first that waits for this reason
    more: int = 0  # others that do


@dataclass(frozen=True)
class _Pods:
    """The replicas that should run and are not ready."""

    absent: tuple[Sighting, ...]  # without a pod that could run
    found: tuple[tuple[Pod, Cause], ...]

    @property
    def not_running(self) -> int:
        """Those that have not come so far."""
        return len(self.absent) + sum(cause.rank is not Rank.UNREADY for _, cause in self.found)


def describe(draft: Draft, sightings: list[Sighting]) -> None:
    """Say what the job waits for, or that all its pods are ready. Conditions and counts must be in the draft."""
    draft.set(restarts=restarts(draft, sightings))
    pods = _look(draft, sightings)
    _ask(draft, pods)
    if not pods.absent and not pods.found:
        _all_ready(draft, sightings)
        return
    wait = _blocked(draft) or _cache(draft) or _pod(pods, Rank.ENDING) or _structure(draft, sightings, pods)
    wait = wait or _pod(pods, Rank.UNREADY) or _restart(draft)
    if wait is None:
        _say(draft, _Wait(NOTHING_SAID, ""), _count(draft, pods))
    else:
        who = f"{wait.pod}{f' and {wait.more} more' if wait.more else ''}: {wait.reason}: " if wait.pod else ""
        tail = since(wait.since)
        head = f"{_count(draft, pods)}; {who}"
        _say(draft, wait, head + shorten(wait.words, LONGEST - len(head) - len(tail)) + tail)


def refused(status: JobStatus, generation: int, now: datetime) -> JobStatus:
    """The status with the refusal that the condition Blocked tells as what the job waits for, if there is one."""
    blocked = find(status.conditions, "Blocked")
    if blocked is None or blocked.status != "True":
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


def headline(reason: str, words: str) -> str:
    """One line for `kubectl get`: without what is the same each time, so that the cause has room.

    That is what the API server and the kubelet put before an error, and what the scheduler's plugins add to it about
    preemption and resource claims. The condition has the whole text.
    """
    if reason.endswith("Forbidden"):
        words = words.partition(" is forbidden: ")[2] or words
    if words.startswith("rpc error: code = "):
        words = words.partition(" desc = ")[2] or words
    words = words.removeprefix("Internal error occurred: ").replace("failed to call webhook: ", "", 1)
    for tail in (" no new claims to deallocate", " preemption: "):
        words = words.partition(tail)[0]
    if words.endswith(". not found"):
        words = words.removesuffix(" not found")
    return shorten(f"{reason}: {words}" if words else reason, LONGEST_LINE)


def restarts(draft: Draft, sightings: list[Sighting]) -> int | None:
    """How often pods were replaced or containers restarted; None where there is nothing to say and nobody has yet."""
    status = draft.status
    replaced = status.retries + sum(role.evicted for role in status.replica_statuses.values())
    total = max(status.restarts or 0, replaced + sum(tally.restarts(draft.snapshot.job, one) for one in sightings))
    return total if total or draft.snapshot.job.made.status.start_time is None else status.restarts


def _look(draft: Draft, sightings: list[Sighting]) -> _Pods:
    snapshot, absent, found = draft.snapshot, [], []
    for sighting in sightings:
        pod = sighting.current
        if sighting.succeeded or sighting.replica in draft.given_up:
            continue
        if pod is None and sighting.pod is not None and sighting.pod.metadata.deletion_timestamp is not None:
            pod = sighting.pod  # of an older attempt, and in the way of the next
        if pod is None or pod.status.phase in ENDED:
            absent.append(sighting)
            continue
        cause = diagnose(pod, snapshot.now, snapshot.lost_nodes.get(pod.spec.node_name), snapshot.heard)
        if cause is not None:
            found.append((pod, cause))
            draft.wake(overdue(pod) if not cause.reason else None)
    return _Pods(tuple(absent), tuple(found))


def _ask(draft: Draft, pods: _Pods) -> None:
    """Have the kubelet's Events read for the first pod whose status is silent, when it is time."""
    snapshot, heard = draft.snapshot, draft.snapshot.heard
    for pod, cause in pods.found:
        moment = asks(pod, cause)
        if moment is None:
            continue
        if heard is not None and heard.pod == pod.metadata.uid:
            moment = heard.again
        if snapshot.now >= moment:
            draft.inquire = pod
        draft.wake(moment)
        return


def _count(draft: Draft, pods: _Pods) -> str:
    missing, total = pods.not_running, draft.snapshot.job.size
    state = "running" if missing else "ready"
    missing = missing or len(pods.found)
    if total == 1:
        return f"the pod is not {state}"
    return f"{missing} of {total} pods {'is' if missing == 1 else 'are'} not {state}"


def _blocked(draft: Draft) -> _Wait | None:
    said = find(draft.status.conditions, "Blocked")
    if said is None or said.status != "True" or draft.creations:  # they may succeed now
        return None
    return _Wait(said.reason, said.message, said.last_transition_time)


def _cache(draft: Draft) -> _Wait | None:
    said = find(draft.status.conditions, "WaitingForCache")
    if said is None or said.status != "True":
        return None
    return _Wait("WaitingForCache", said.message, said.last_transition_time)


def _pod(pods: _Pods, last: Rank) -> _Wait | None:
    told = [(pod, cause) for pod, cause in pods.found if cause.reason and cause.rank <= last]
    first = min(told, key=lambda one: one[1].rank, default=None)  # the first of them, in the order of replicas
    if first is None:
        return None
    pod, cause = first
    same = sum(other.reason == cause.reason for _, other in told)
    return _Wait(cause.reason, cause.words, cause.since, pod.metadata.name, same - 1)


def _structure(draft: Draft, sightings: list[Sighting], pods: _Pods) -> _Wait | None:
    """What keeps pods from being created, and what those that are there do meanwhile."""
    made, texts = draft.snapshot.job.made, list(_roles(draft, sightings, pods))
    reason = "WaitingForRole"
    if not texts and code.is_wanted(made) and not code.revision(made) and pods.absent and pods.found:
        first = pods.found[0][0].metadata.name
        reason, texts = "WaitingForCode", [f"the other pods wait for the commit that {first} fetches (codeSource)"]
    starting = next(((pod, cause) for pod, cause in pods.found if cause.reason and cause.rank is Rank.STARTING), None)
    if starting is not None:
        pod, cause = starting
        texts.append(f"{pod.metadata.name}: {cause.reason}: {cause.words}")
        reason = reason if len(texts) > 1 else cause.reason
    return _Wait(reason, "; ".join(texts), draft.status.start_time) if texts else None


def _roles(draft: Draft, sightings: list[Sighting], pods: _Pods) -> Iterator[str]:
    """Each role that waits for another by dependsOn."""
    job, missing = draft.snapshot.job, {sighting.replica.role for sighting in pods.absent}
    waiting = [role for role in job.roles.values() if role.name in missing and role.depends_on]
    progress = tally.progress(job, sightings) if waiting else {}
    names = {name.lower(): name for name in job.roles}
    for role in waiting:
        dependency = waits_for(role.depends_on, progress)
        if dependency is not None:
            upstream, phase = names[dependency.upstream.lower()], dependency.phase
            counts = progress[upstream]
            reached = {"Running": counts.running, "Ready": counts.ready, "Succeeded": counts.succeeded}[phase]
            yield f"{role.name} waits for {upstream} to be {phase} (dependsOn; {reached} of {counts.replicas} so far)"


def _restart(draft: Draft) -> _Wait | None:
    said = find(draft.status.conditions, "Restarting")
    if said is None or said.status != "True":
        return None
    return _Wait(said.reason, said.message)


def _all_ready(draft: Draft, sightings: list[Sighting]) -> None:
    draft.set(message="")
    if find(draft.status.conditions, PODS_READY) is None:
        return  # a job that ran before this condition existed need not be written for it
    running = sum(not one.succeeded and one.replica not in draft.given_up for one in sightings)
    message = f"all {running} pods are ready" if running > 1 else "the pod is ready"
    draft.condition(PODS_READY, True, PODS_READY, message)


def _say(draft: Draft, wait: _Wait, message: str) -> None:
    if _is_held_back(draft, wait, message):
        written = draft.snapshot.job.made.status
        draft.set(reason=written.reason, message=written.message)
        return
    generation = draft.snapshot.job.made.metadata.generation
    new = Condition(
        type=PODS_READY, status="False", reason=wait.reason, message=message, observed_generation=generation
    )
    conditions = set_condition(draft.status.conditions, new, draft.snapshot.now)
    draft.set(conditions=conditions, reason=wait.reason, message=headline(wait.reason, wait.words))


def _is_held_back(draft: Draft, wait: _Wait, message: str) -> bool:
    """Whether the text stays as it is written: nothing else changes, and it was changed a moment ago."""
    made, now, told_at = draft.snapshot.job.made, draft.snapshot.now, draft.snapshot.told_at
    old = find(made.status.conditions, PODS_READY)
    if old is None or old.status != "False" or draft.creations or _differs(draft, made):
        return False
    if (old.reason, old.message) == (wait.reason, message):
        return True
    alike = (old.reason, _without_numbers(old.message)) == (wait.reason, _without_numbers(message))
    if told_at is None:
        return alike
    free = later(told_at, REFRESH if alike else PAUSE)
    draft.wake(free)
    return now < free


def _differs(draft: Draft, made: TrainingJob) -> bool:
    """Whether the status is to be written anyhow."""
    same_text = {"reason": made.status.reason, "message": made.status.message}
    return bool(msgspec.structs.replace(draft.status, **same_text) != made.status)


def _without_numbers(text: str) -> str:
    return text.translate(NO_DIGITS)


def is_waiting(status: JobStatus) -> bool:
    """Whether the status says that the job waits for pods."""
    said = find(status.conditions, PODS_READY)
    over = is_finished(status.conditions) or is_true(status.conditions, "Suspended")
    return said is not None and said.status == "False" and not over
