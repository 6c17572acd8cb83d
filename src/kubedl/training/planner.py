"""Plans the next step of a job from the observed state. Pure.

The first case that applies decides: the job is finished, the template of a Cron, invalid, suspended, past its deadline,
succeeded, has failures to handle, or has pods to create.
"""

from collections.abc import Sequence

from kubedl.api.conditions import holding, is_finished, is_true
from kubedl.api.training import cron_policy
from kubedl.training import (
    blocked,
    completion_messages,
    ending,
    ignored_edits,
    last_failure,
    queuing,
    replica_status,
    restarts,
    suspending,
    waiting,
)
from kubedl.training.addons import registry
from kubedl.training.addons.base import Addon
from kubedl.training.elastic import reclaim, resizing
from kubedl.training.gang import assignment as gang
from kubedl.training.gang import release as gang_release
from kubedl.training.kind import Done
from kubedl.training.kueue import admission
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import Creation, Gate, Plan, PlanBuilder
from kubedl.training.policies import success_policy
from kubedl.training.policies.active_deadline import deadline
from kubedl.training.policies.depends_on import waits_for
from kubedl.training.policies.legacy_annotations import unsupported
from kubedl.training.policies.safe_time import later
from kubedl.training.spot import finishing, observing, replacing, suspension
from kubedl.training.spot import planning as spot
from kubedl.training.spot import refusal as spot_refusal

FLAVOR_NOT_FOUND = "FlavorNotFound"
SCHEDULED = "JobScheduled"


def plan(observed: Observed) -> Plan:
    """Return what to do for this job now."""
    builder = PlanBuilder(observed)
    resource = observed.job.resource
    if resource.metadata.deletion_timestamp is not None:
        return builder.plan()  # its dependents are garbage-collected
    if is_finished(resource.status.conditions):
        ending.clean_up(builder)
        return builder.plan()
    deadline_seconds = observed.job.spec.active_deadline_seconds
    builder.set(observed_generation=resource.metadata.generation, active_deadline_seconds=deadline_seconds)
    builder.condition("Created", True, "JobCreated", "the job was accepted")
    if cron_policy(resource) is not None:
        builder.state("Created", SCHEDULED, f"Cron {resource.metadata.name} creates its runs")
        return builder.plan()
    builder.set(queue_name=observed.queue.name if observed.queue is not None else "")
    refusal = _refusal(observed)
    suspension.resume(builder)
    if refusal is not None:
        ending.fail(builder, replica_status.observe_replicas(observed), *refusal)
    elif resource.spec.suspend or is_true(resource.status.conditions, "Suspended") or suspending.obstacle(builder):
        suspending.suspend(builder)
    else:
        _run(builder)
    return builder.plan()


def _refusal(observed: Observed) -> completion_messages.Outcome | None:
    # An edit does not fail a running job: it is ignored (condition EditIgnored), or blocks pod creation (condition
    # Blocked).
    resource = observed.job.resource
    if resource.status.start_time is not None:
        return None
    message = unsupported(resource, observed.kind)
    if message is None and observed.queue is not None:
        message = admission.refusal(observed.job)
    if message is not None:
        return "Unsupported", message
    is_new = resource.status.spot is None  # pools that an administrator removes later only hold pods back
    return registry.refusal(resource) or (spot_refusal.refusal(observed.job, observed.settings) if is_new else None)


def _run(builder: PlanBuilder) -> None:
    observed, spec = builder.observed, builder.observed.job.spec
    addons = registry.requested(observed.job.resource)
    if builder.status.start_time is None:
        builder.set(start_time=observed.now)
    replicas = replica_status.observe_replicas(observed)
    replica_status.record_success(builder, replicas)
    ignored_edits.ignore(builder, replicas, addons)
    outcome = _observe_addons(builder, replicas, addons)
    if _is_done(observed, replica_status.succeeded(replicas)):
        if spec.model_version is not None and not _is_done(observed, replica_status.recorded_succeeded(observed)):
            replica_status.count(builder, replicas)  # a ModelVersion is never deleted: record the success first
            return
        ending.succeed(builder, replicas)
        return
    limit = deadline(builder.status.start_time, spec.active_deadline_seconds)
    if limit is not None and observed.now >= limit:
        ending.fail(builder, replicas, "DeadlineExceeded", completion_messages.deadline(builder, limit))
        return
    builder.wake(limit)
    if outcome is None:
        outcome, replicas = _repair(builder, finishing.excuse(builder, replicas))
    if outcome is not None:
        ending.fail(builder, replicas, *outcome)
        return
    replicas = gang_release.release(builder, replicas)
    _start(builder, replicas)
    gang_release.hold(builder, replicas)
    _gate(builder, addons)
    gang.assign(builder, replicas)
    _hold_for_flavors(builder)
    _unblock(builder)
    replica_status.count(builder, replicas)
    replica_status.forget(builder)
    _describe(builder, replicas)
    waiting.describe(builder, replicas)
    last_failure.record_in_place(builder, replicas)


def _is_done(observed: Observed, done: Done) -> bool:
    return success_policy.is_done(observed.kind, observed.job, finishing.done(observed, done))


def _repair(
    builder: PlanBuilder, replicas: list[ObservedReplica]
) -> tuple[completion_messages.Outcome | None, list[ObservedReplica]]:
    """Let replicas leave nodes, come and go, change pools, and start again; returns why the job fails, if it does."""
    replicas, starts_over = reclaim.advance(builder, replicas)
    anew = resizing.resize(builder, replicas) or (replicas if starts_over else None)
    outcome, replicas = spot.advance(builder, replicas if anew is None else anew)
    if outcome is None and anew is None:
        replicas, apart = replacing.replace_unstarted(builder, replicas)
        outcome, replicas = restarts.restart_failed(builder, replicas, apart)
    spot.record_losses(builder, saved=starts_over)
    return outcome, replicas


def _observe_addons(
    builder: PlanBuilder, replicas: list[ObservedReplica], addons: Sequence[Addon]
) -> completion_messages.Outcome | None:
    """Record what pods report to add-ons; returns why the job fails, if an add-on says so."""
    for addon in addons:
        outcome = addon.observe_status(builder, replicas)
        if outcome is not None:
            return outcome
    return None


def _start(builder: PlanBuilder, replicas: list[ObservedReplica]) -> None:
    observed = builder.observed
    builder.create_service = not observed.has_service
    # A replica whose pod was deleted gets a new one after restart_failed has increased its attempt.
    missing = [seen for seen in replicas if seen.pod is None and seen.gone is None and not seen.succeeded]
    if not missing or builder.moved or builder.deletions:
        return
    # With restartScope Job, attempts do not overlap: no pod is created before the last one of the old attempt is gone.
    current = sum(seen.current is not None for seen in replicas)
    if len(observed.pods) > current and restarts.scope(observed) == "Job":
        return
    progress = replica_status.progress(observed.job, replicas)
    waiting = {role.name: waits_for(role.depends_on, progress) for role in observed.job.roles.values()}
    for seen in missing:
        if waiting[seen.replica.role] is None:
            builder.creations.append(Creation(seen.replica, seen.attempt))


def _gate(builder: PlanBuilder, addons: Sequence[Addon]) -> None:
    """Hold back pods that add-ons do not allow yet; running pods are not affected."""
    if not builder.creations and not builder.observed.pods:
        return
    for addon in addons:
        gate = addon.gate(builder)
        if gate is not None:
            builder.hold(gate)
        if not addon.condition:
            continue
        if gate is None:
            builder.condition(addon.condition, False, addon.condition_passed)
        elif builder.condition(addon.condition, True, gate.reason, gate.message):
            builder.event("Normal", addon.condition, gate.message)


def _hold_for_flavors(builder: PlanBuilder) -> None:
    """Create no pod before the nodes are known that its quota is for."""
    queue = builder.observed.queue
    if queue is None or not builder.creations:
        return
    missing = queue.missing_flavors()
    if queue.is_lost:
        builder.creations.clear()  # its Workload is created again, and the job waits for its admission
    elif missing:
        builder.hold(Gate(FLAVOR_NOT_FOUND, f"the pods wait for ResourceFlavor {min(missing)}"))
        builder.wake(later(builder.observed.now, queuing.LOOK_AGAIN))


def _unblock(builder: PlanBuilder) -> None:
    """End the condition Blocked of a job that has all its pods: they may have been created in spite of an error."""
    condition = holding(builder.status.conditions, blocked.BLOCKED)
    if condition is None or condition.reason == blocked.HIDDEN:
        return
    if not (builder.creations or builder.create_service or builder.deletions or builder.moved or builder.gates):
        builder.condition(blocked.BLOCKED, False, "PodsCreated")


def _describe(builder: PlanBuilder, replicas: list[ObservedReplica]) -> None:
    """Set conditions, state and events from the replica counts."""
    running = replica_status.running(replicas)
    statuses = builder.status.replica_statuses.values()
    total = builder.observed.job.size
    given_up = len(builder.given_up)
    everybody = running + sum(status.succeeded for status in statuses) + given_up >= total
    message = f"{running} of {total} replicas are running"
    complete = f"{message}, {given_up} failed for good" if given_up else f"all {total} replicas are running"
    if builder.observed.job.spec.spot is not None and not everybody and replicas and not replicas[0].succeeded:
        everybody, complete = observing.trains(builder.observed, replicas), message
        if not everybody and not is_true(builder.status.conditions, "Restarting"):
            builder.condition("Running", False, waiting.WAITING_FOR_PODS, message)
    if everybody:
        builder.condition("Restarting", False, "JobRunning")
        if builder.condition("Running", True, "JobRunning", complete):
            builder.event("Normal", "JobRunning", complete)
        builder.state("Running", "JobRunning")
    elif (cause := holding(builder.status.conditions, "Restarting")) is not None:
        builder.condition("Running", False, "JobRestarting", message)
        builder.state("Restarting", cause.reason)
    elif not is_true(builder.status.conditions, "Running"):
        builder.state("Created", waiting.WAITING_FOR_PODS)
