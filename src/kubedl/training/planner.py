"""From a snapshot to a plan: the whole life of a job in the order in which it is decided. Pure.

A job is over, or cannot be run, or is suspended, or its time is up, or it has succeeded, or something must be repaired,
or replicas must be started: the first that holds decides.
"""

from dataclasses import replace

import msgspec

from kubedl.api.conditions import find, is_finished, is_true
from kubedl.api.training import TrainingJob
from kubedl.training import addons, ending, late_edits, lost_nodes, model_version, repair, tally, waiting
from kubedl.training.addons import cache, code, sync_status
from kubedl.training.plan import Creation, Draft, Event, Plan
from kubedl.training.policies import clean, success, ttl
from kubedl.training.policies.deadline import deadline
from kubedl.training.policies.dependencies import waits_for
from kubedl.training.policies.unsupported import unsupported
from kubedl.training.snapshot import Sighting, Snapshot


def plan(snapshot: Snapshot) -> Plan:
    """What is to be done for this job now."""
    draft = Draft(snapshot)
    made = snapshot.job.made
    if made.metadata.deletion_timestamp is not None:
        return draft.plan()  # the garbage collector takes what belongs to it
    if is_finished(made.status.conditions):
        _after_the_end(draft)
        return draft.plan()
    deadline_seconds = snapshot.job.spec.active_deadline_seconds
    draft.set(observed_generation=made.metadata.generation, active_deadline_seconds=deadline_seconds)
    draft.condition("Created", True, "JobCreated", "the job was accepted")
    refusal = _refusal(made)
    if refusal is not None:
        _fail(draft, tally.look(snapshot), *refusal)
    elif made.spec.suspend or is_true(made.status.conditions, "Suspended"):
        _suspend(draft)
    else:
        _run(draft)
    return draft.plan()


def without_version(decided: Plan) -> Plan:
    """The plan of a success that leaves no model version after all; the job says so."""
    message = "no ModelVersion was created: the replica that writes the model never mounted its storage"
    whole = f"{decided.status.message}; {message}"
    conditions = (
        msgspec.structs.replace(one, message=whole) if one.type in ("Succeeded", "Complete") else one
        for one in decided.status.conditions
    )
    status = msgspec.structs.replace(decided.status, model_version_name="", conditions=tuple(conditions))
    told = (event for event in decided.events if event.reason != "ModelVersionCreated")
    return replace(decided, status=status, events=(Event("Warning", "ModelNotMounted", message), *told))


def _refusal(made: TrainingJob) -> ending.Outcome | None:
    # An edit does not end a job that runs: it is ignored, which the condition EditIgnored says, or if it keeps a pod
    # from being made, the condition Blocked.
    if made.status.start_time is not None:
        return None
    words = unsupported(made.metadata.annotations)
    return ("Unsupported", words) if words is not None else addons.refusal(made)


def _run(draft: Draft) -> None:
    snapshot, spec = draft.snapshot, draft.snapshot.job.spec
    if draft.status.start_time is None:
        draft.set(start_time=snapshot.now)
    sightings = tally.look(snapshot)
    tally.record_success(draft, sightings)
    late_edits.ignore(draft, sightings)
    outcome = _learn_commit(draft, sightings)
    if success.is_done(snapshot.kind, snapshot.job, tally.done(sightings)):
        if spec.model_version is not None and not success.is_done(snapshot.kind, snapshot.job, tally.written(snapshot)):
            tally.count(draft, sightings)  # the version stays, so what it is made for must not be taken back
            return
        _succeed(draft, sightings)
        return
    limit = deadline(draft.status.start_time, spec.active_deadline_seconds)
    if limit is not None and snapshot.now >= limit:
        _fail(draft, sightings, "DeadlineExceeded", ending.deadline(draft, limit))
        return
    draft.wake(limit)
    if outcome is None:
        outcome, sightings = repair.repair(draft, sightings)
    if outcome is not None:
        _fail(draft, sightings, *outcome)
        return
    _start(draft, sightings)
    _await_cache(draft)
    tally.count(draft, sightings)
    tally.forget(draft)
    _describe(draft, tally.running(sightings))
    waiting.describe(draft, sightings)


def _learn_commit(draft: Draft, sightings: list[Sighting]) -> ending.Outcome | None:
    """Write down which commit of its code the job runs; returns why it fails if the code cannot be had."""
    made = draft.snapshot.job.made
    if made.status.code_revision or not code.is_wanted(made) or code.is_ignored(draft.status):
        return None
    commit = code.revision(made) or sync_status.commit(sightings)
    if commit:
        draft.set(code_revision=commit)
        return None
    complaint = sync_status.complaint(sightings)
    return ("CodeSyncFailed", complaint) if complaint is not None else None


def _start(draft: Draft, sightings: list[Sighting]) -> None:
    snapshot, made = draft.snapshot, draft.snapshot.job.made
    draft.create_service = not snapshot.has_service
    # One whose pod was deleted is made anew when repair has moved it on, which may take a pause.
    missing = [one for one in sightings if one.pod is None and one.gone is None and not one.succeeded]
    if not missing or draft.moved or draft.deletions:
        return
    # Under the scope Job no two attempts mix: nobody of the next starts before the last of the old one is gone.
    current = sum(sighting.current is not None for sighting in sightings)
    if len(snapshot.pods) > current and repair.scope(snapshot) == "Job":
        return
    progress = tally.progress(snapshot.job, sightings)
    waiting = {role.name: waits_for(role.depends_on, progress) for role in snapshot.job.roles.values()}
    for sighting in missing:
        if waiting[sighting.replica.role] is None:
            draft.creations.append(Creation(sighting.replica, sighting.attempt))
    if code.is_wanted(made) and not code.revision(made):
        # One alone, which tells the commit that all others will run. The status must have it before they are made.
        draft.creations = draft.creations[:1] if not snapshot.pods else []
    if code.is_ignored(draft.status) and not code.is_ignored(made.status):
        draft.creations.clear()  # pods are made as the status has it, which is to be written first


def _await_cache(draft: Draft) -> None:
    """No pod is made that could not mount the job's data; those that run are left alone."""
    snapshot, made = draft.snapshot, draft.snapshot.job.made
    if not cache.name_of(made) or not (draft.creations or snapshot.pods):
        return
    obstacle = cache.obstacle(made, snapshot.cache) if draft.creations else None
    if obstacle is None:
        draft.condition("WaitingForCache", False, "CacheReady")
        draft.set(cache_backend_name=cache.name_of(made))
        return
    if draft.condition("WaitingForCache", True, *obstacle):
        draft.event("Normal", "WaitingForCache", obstacle[1])
    draft.creations.clear()


def _describe(draft: Draft, running: int) -> None:
    """Conditions, state and events from the counts."""
    statuses = draft.status.replica_statuses.values()
    total = draft.snapshot.job.size
    given_up = len(draft.given_up)
    everybody = running + sum(status.succeeded for status in statuses) + given_up >= total
    message = f"{running} of {total} replicas are running"
    complete = f"{message}, {given_up} failed for good" if given_up else f"all {total} replicas are running"
    if everybody:
        draft.condition("Restarting", False, "JobRunning")
        if draft.condition("Running", True, "JobRunning", complete):
            draft.event("Normal", "JobRunning", complete)
        draft.state("Running", "JobRunning")
    elif is_true(draft.status.conditions, "Restarting"):
        cause = find(draft.status.conditions, "Restarting")
        draft.condition("Running", False, "JobRestarting", message)
        draft.state("Restarting", cause.reason if cause is not None else "")
    elif not is_true(draft.status.conditions, "Running"):
        draft.state("Created", waiting.NOTHING_SAID)


def _succeed(draft: Draft, sightings: list[Sighting]) -> None:
    job = draft.snapshot.job
    if job.spec.model_version is not None:
        draft.without_model = draft.status
        draft.set(model_version_name=model_version.name_of(job))
        draft.event("Normal", "ModelVersionCreated", f"created ModelVersion {model_version.name_of(job)}")
    message = ending.success(draft, sightings)
    draft.condition("Succeeded", True, "JobSucceeded", message)
    draft.condition("Complete", True, "JobSucceeded", message)
    draft.event("Normal", "JobSucceeded", message)
    draft.state("Succeeded", "JobSucceeded", ending.without_version(message))
    _end(draft, sightings, "JobSucceeded")


def _fail(draft: Draft, sightings: list[Sighting], reason: str, message: str) -> None:
    draft.condition("Failed", True, reason, message)
    draft.event("Warning", reason, message)
    draft.state("Failed", reason, waiting.headline(reason, message))
    _end(draft, sightings, reason)


def _end(draft: Draft, sightings: list[Sighting], reason: str) -> None:
    draft.condition("Running", False, reason)
    draft.condition("Restarting", False, reason)
    draft.condition("Blocked", False, reason)
    draft.condition("WaitingForCache", False, reason)
    draft.condition(lost_nodes.CONDITION, False, reason)
    draft.condition(waiting.PODS_READY, False, reason)
    draft.set(completion_time=draft.snapshot.now, restarts=waiting.restarts(draft, sightings))
    draft.creations.clear()
    tally.count(draft, sightings, ended=True)
    _after_the_end(draft)


def _after_the_end(draft: Draft) -> None:
    snapshot, spec = draft.snapshot, draft.snapshot.job.spec
    draft.forget = [pod.metadata.uid for pod in snapshot.deleted]
    policy = spec.clean_pod_policy or snapshot.kind.clean_pod_policy
    failed = is_true(draft.status.conditions, "Failed")
    for pod in snapshot.pods:
        if clean.goes(pod, policy, failed=failed):
            repair.remove(draft, pod)
    expiry = ttl.expiry(draft.status.completion_time, spec.ttl_seconds_after_finished)
    if expiry is not None and snapshot.now >= expiry:
        draft.delete_job = True
    draft.wake(expiry)


def _suspend(draft: Draft) -> None:
    """No pod runs; what has succeeded stays. Resumed only when the last one is gone, so that no two runs mix."""
    snapshot = draft.snapshot
    sightings = tally.look(snapshot)
    leaving = [pod for pod in snapshot.pods if pod.status.phase not in clean.ENDED or pod.metadata.deletion_timestamp]
    draft.forget = [pod.metadata.uid for pod in snapshot.deleted]
    if snapshot.job.spec.suspend:
        if draft.condition("Suspended", True, "JobSuspended", "the job is suspended"):
            draft.event("Normal", "JobSuspended", "the job is suspended: its pods are deleted")
        draft.condition("Running", False, "JobSuspended")
        draft.condition("Restarting", False, "JobSuspended")
        draft.condition("Blocked", False, "JobSuspended")
        draft.condition("WaitingForCache", False, "JobSuspended")
        draft.condition(lost_nodes.CONDITION, False, "JobSuspended")
        draft.condition(late_edits.CONDITION, False, "JobSuspended")  # what was edited holds from the resume on
        draft.condition(waiting.PODS_READY, False, "JobSuspended", "the job is suspended")
        draft.set(start_time=None)
        draft.state("Suspended", "JobSuspended")
    elif not leaving:
        draft.condition("Suspended", False, "JobResumed", "the job was resumed")
        draft.event("Normal", "JobResumed", "the job was resumed")
        sightings = repair.begin_anew(draft, sightings)
    for pod in leaving:
        repair.remove(draft, pod)
    tally.count(draft, sightings)
