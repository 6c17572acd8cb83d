"""Repair of what failed: which replicas move to their next attempt, what it costs, and what people are told.

Moving is recorded in status before any pod is deleted, and a pod of an older attempt is never judged again. So each
failure is counted once, whenever the operator dies.
"""

from dataclasses import replace

import msgspec

from kubedl.api.training import ReplicaStatus, RestartScope
from kubedl.training import ending, labels, lost_nodes, tally
from kubedl.training.addons import sync_status
from kubedl.training.ending import Outcome
from kubedl.training.job import Job, Replica
from kubedl.training.plan import Draft
from kubedl.training.policies import backoff, success
from kubedl.training.policies.clean import ENDED
from kubedl.training.policies.failure import Cost, Failure, judge
from kubedl.training.policies.incident import judge_together
from kubedl.training.policies.moment import LONG_AGO
from kubedl.training.snapshot import Sighting, Snapshot
from kubedl.wire.core import Pod


def scope(snapshot: Snapshot) -> RestartScope:
    """What one death costs in this job."""
    chosen: RestartScope | None = snapshot.job.spec.restart_scope
    return chosen or snapshot.kind.restart_scope(snapshot.job)


def remove(draft: Draft, pod: Pod) -> None:
    """This pod must go; by force if its node is lost for good, and if it may come back, when it has not."""
    draft.delete(pod, lost_nodes.is_given_up(draft, pod))


def repair(draft: Draft, sightings: list[Sighting]) -> tuple[Outcome | None, list[Sighting]]:
    """Deal with every failure; returns why the job fails, if it does, and the replicas as they are to be now."""
    snapshot = draft.snapshot
    failures = [failure for sighting in sightings if (failure := _failure(draft, sighting)) is not None]
    # A deletion is dated by its end, and a node's clock may run ahead.
    failures = [replace(failure, when=min(failure.when, snapshot.now)) for failure in failures]
    together = scope(snapshot) == "Job"
    outcome = _together(draft, sightings, failures) if together else _each(draft, sightings, failures)
    if draft.moved:
        sightings = tally.look(snapshot, draft.status)
    # What counts against the limit: replacements so far, and restarts in place of those that run.
    retries = draft.status.retries + sum(tally.restarts(snapshot.job, sighting) for sighting in sightings)
    if outcome is None and backoff.exceeded(retries, snapshot.job.spec.backoff_limit):
        outcome = ending.limit_reached_in_place(snapshot.job, sightings)
    if outcome is None:
        _remove_old(draft, sightings)
        lost_nodes.tell(draft)
    return outcome, sightings


def begin_anew(draft: Draft, sightings: list[Sighting]) -> list[Sighting]:
    """A job is resumed. Under the scope Job whoever had succeeded must run again, or the others wait for it in vain.

    Unless a failure from before the suspension is left, which ends the job or restarts it as it would have before.
    """
    snapshot = draft.snapshot
    done = tally.done(sightings)
    if scope(snapshot) != "Job" or not done or success.is_done(snapshot.kind, snapshot.job, done):
        return sightings
    left = [one for one in sightings if one.current is not None and not one.succeeded]
    judged = (_judged(snapshot, one.replica, one.current) for one in left if one.current is not None)
    if _without_given_up(draft, sightings, [failure for failure in judged if failure is not None]):
        return sightings
    _move_all_on(draft, sightings)
    return tally.look(snapshot, draft.status)


def _each(draft: Draft, sightings: list[Sighting], failures: list[Failure]) -> Outcome | None:
    job = draft.snapshot.job
    seen = {sighting.replica: sighting for sighting in sightings}
    moved: list[Sighting] = []
    for failure in _without_given_up(draft, sightings, failures):
        if failure.cost is Cost.JOB:
            _move_on(draft, moved)
            return "ReplicaFailed", f"{job.pod_name(failure.replica)} {failure.text}"
        before = draft.status.replica_statuses.get(failure.replica.role, ReplicaStatus()).attempts
        if not _due(draft, failure, before.get(str(failure.replica.index), 0)):
            continue
        _count(draft, failure, tally.restarts(job, seen[failure.replica]))
        moved.append(seen[failure.replica])
        if backoff.exceeded(draft.status.retries, job.spec.backoff_limit):
            _move_on(draft, moved)
            return ending.limit_reached(job, failure)
        _tell(draft, failure, "ReplicaReplaced", "it is replaced")
    _move_on(draft, moved)
    return None


def _together(draft: Draft, sightings: list[Sighting], failures: list[Failure]) -> Outcome | None:
    snapshot = draft.snapshot
    # With survivors failing, a peer on a lost node need not be given the grace to explain them.
    found = (lost_nodes.failure(draft, sighting) for sighting in sightings) if failures else ()
    lost = [failure for failure in found if failure is not None]
    fatal = [*_without_given_up(draft, sightings, failures), *lost]
    silent = any(sighting.current is not None and sighting.current.status.phase not in ENDED for sighting in sightings)
    verdict = judge_together(fatal, silent, snapshot.settings.settle, snapshot.now)
    draft.wake(verdict.wait_until)
    cause = verdict.cause
    if cause is None:
        return None
    if cause.cost is Cost.JOB:
        return "ReplicaFailed", f"{snapshot.job.pod_name(cause.replica)} {cause.text}"
    if not _due(draft, cause, draft.status.attempt):
        return None
    _count(draft, cause, sum(tally.restarts(snapshot.job, sighting) for sighting in sightings))
    _move_all_on(draft, sightings)
    if backoff.exceeded(draft.status.retries, snapshot.job.spec.backoff_limit):
        return ending.limit_reached(snapshot.job, cause)
    _tell(draft, cause, "JobRestarting", f"all {snapshot.job.size} replicas are restarted")
    return None


def _without_given_up(draft: Draft, sightings: list[Sighting], failures: list[Failure]) -> list[Failure]:
    """The failures that must be dealt with. A replica that may fail alone is given up, if the job can do without."""
    kind, job = draft.snapshot.kind, draft.snapshot.job
    fatal = _fatal_roles(job, sightings) if failures else frozenset()
    alone = {failure.replica for failure in failures if failure.cost is Cost.JOB and failure.replica.role not in fatal}
    if not alone:
        return failures
    if not success.can_be_done(kind, job, alone):
        needed = "; the job cannot succeed without it"
        return [replace(one, text=one.text + needed) if one.replica in alone else one for one in failures]
    draft.given_up = frozenset(alone)
    return [failure for failure in failures if failure.replica not in alone]


def _failure(draft: Draft, sighting: Sighting) -> Failure | None:
    snapshot, replica = draft.snapshot, sighting.replica
    if sighting.succeeded:
        return None
    pod = sighting.current
    if pod is not None:
        lost = lost_nodes.failure(draft, sighting)
        if lost is None:
            return _judged(snapshot, replica, pod)
        return lost if lost_nodes.is_given_up(draft, pod) else None
    if sighting.gone is not None:
        if sighting.gone.metadata.deletion_timestamp is None:  # no event told of it, a list was without it
            draft.confirm.append(snapshot.job.pod_name(replica))
        found = _judged(snapshot, replica, sighting.gone)
        # Nobody knows when it was deleted. Dated by its birth, what is deleted as soon as it is made comes back slowly.
        born = sighting.gone.metadata.creation_timestamp or LONG_AGO
        return found or Failure(replica, Cost.NOTHING, born, "was deleted")
    if sighting.pod is None and _was_complete(draft, replica.role):
        # Absence is weak evidence: the cache of a new leader may be behind the status it reads.
        draft.confirm.append(snapshot.job.pod_name(replica))
        return Failure(replica, Cost.NOTHING, LONG_AGO, "was deleted while no operator looked")
    return None


def _fatal_roles(job: Job, sightings: list[Sighting]) -> frozenset[str]:
    """Roles of which one that failed for good fails the job: also if somebody still waits for it, in vain."""
    waiting = {one.replica.role for one in sightings if one.pod is None and one.gone is None and not one.succeeded}
    upstream = {dependency.upstream.lower() for name in waiting for dependency in job.roles[name].depends_on}
    return frozenset(role.name for role in job.roles.values() if role.fatal or role.name.lower() in upstream)


def _judged(snapshot: Snapshot, replica: Replica, pod: Pod) -> Failure | None:
    role = snapshot.job.roles[replica.role]
    found = judge(replica, pod, snapshot.job.container, role, scope(snapshot))
    sync = sync_status.ending(pod)
    if found is None or found.cost is Cost.NOTHING or sync is None or sync.exit_code == 0:
        return found
    # The same code was fetched before, or the planner would have failed the job: what failed now may work later.
    return replace(found, cost=Cost.RETRY, text=f"could not fetch the code: {sync_status.words(sync)}")


def _was_complete(draft: Draft, role: str) -> bool:
    """Whether all pods of the role had been made; one that is missing then was taken away."""
    recorded = draft.snapshot.job.made.status.replica_statuses.get(role, ReplicaStatus())
    return recorded.active + recorded.succeeded + recorded.failed >= draft.snapshot.job.count(role)


def _due(draft: Draft, failure: Failure, before: int) -> bool:
    """Whether the pause before another attempt is over; if not, look again then."""
    again = failure.when + backoff.pause(before, failure.cost is Cost.NOTHING)
    if draft.snapshot.now >= again:
        return True
    draft.wake(again)
    return False


def _count(draft: Draft, failure: Failure, in_place: int) -> None:
    role = failure.replica.role
    old = draft.status.replica_statuses.get(role, ReplicaStatus())
    counted = failure.cost is Cost.RETRY
    new = msgspec.structs.replace(
        old,
        restarts=old.restarts + counted,
        evicted=old.evicted + (not counted),
    )
    draft.set(
        retries=draft.status.retries + counted + in_place,
        replica_statuses={**draft.status.replica_statuses, role: new},
    )


def _move_on(draft: Draft, moved: list[Sighting]) -> None:
    """Each of these replicas to its next attempt; all at once, since thousands may fail together."""
    attempts: dict[str, dict[str, int]] = {}
    for sighting in moved:
        number = _highest(sighting) + 1 - draft.status.attempt
        attempts.setdefault(sighting.replica.role, {})[str(sighting.replica.index)] = number
    statuses = dict(draft.status.replica_statuses)
    for role, new in attempts.items():
        statuses[role] = msgspec.structs.replace(statuses[role], attempts={**statuses[role].attempts, **new})
    draft.moved |= bool(moved)
    draft.set(replica_statuses=statuses)


def _move_all_on(draft: Draft, sightings: list[Sighting]) -> None:
    """Whoever had succeeded runs again: without it the others would wait at their rendezvous for ever.

    So does whoever was given up: it is another attempt.
    """
    draft.moved = True
    statuses = draft.status.replica_statuses
    anew = {
        role: msgspec.structs.replace(status, attempts={}, active=0, failed=0, succeeded=0, succeeded_indexes="")
        for role, status in statuses.items()
    }
    draft.set(attempt=max(map(_highest, sightings)) + 1, replica_statuses=anew)
    draft.given_up = frozenset()


def _highest(sighting: Sighting) -> int:
    """The attempt that is left behind: as the status has it, or as a label says that somebody has edited."""
    found = [labels.attempt(pod) for pod in (sighting.current, sighting.gone) if pod is not None]
    return max([sighting.attempt, *found])


def _tell(draft: Draft, failure: Failure, reason: str, consequence: str) -> None:
    limit = draft.snapshot.job.spec.backoff_limit
    used = f"retry {draft.status.retries}" + (f" of {limit}" if limit is not None else "")
    cost = "not counted as a retry" if failure.cost is Cost.NOTHING else used
    message = f"{draft.snapshot.job.pod_name(failure.replica)} {failure.text}; {consequence} ({cost})"
    draft.condition("Restarting", True, reason, message)
    draft.event("Warning", reason, message)


def _remove_old(draft: Draft, sightings: list[Sighting]) -> None:
    """Pods of older attempts, and of replicas that the job no longer has."""
    wanted = {sighting.current.metadata.uid for sighting in sightings if sighting.current is not None}
    for pod in draft.snapshot.pods:
        if pod.metadata.uid not in wanted:
            remove(draft, pod)
