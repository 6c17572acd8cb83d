"""Ends jobs: with success or failure, what the status says then, and what is cleaned up. Pure."""

from dataclasses import replace

import msgspec

from kubedl.api.conditions import is_true
from kubedl.training import (
    blocked,
    completion_messages,
    last_failure,
    lost_nodes,
    model_version,
    replica_status,
    restarts,
    waiting,
)
from kubedl.training.addons import registry
from kubedl.training.elastic import reclaim, resizing
from kubedl.training.formatting import headline
from kubedl.training.observed import ObservedReplica
from kubedl.training.plan import Event, Plan, PlanBuilder
from kubedl.training.policies import clean_pod_policy, ttl_after_finished
from kubedl.training.spot import finishing
from kubedl.training.spot import planning as spot


def succeed(builder: PlanBuilder, replicas: list[ObservedReplica]) -> None:
    """End a job whose training is done."""
    job = builder.observed.job
    if job.spec.model_version is not None:
        builder.without_model = builder.status
        builder.set(model_version_name=model_version.model_version_name(job))
        builder.event("Normal", "ModelVersionCreated", f"created ModelVersion {model_version.model_version_name(job)}")
    message = completion_messages.success(builder, replicas)
    builder.condition("Succeeded", True, "JobSucceeded", message)
    builder.condition("Complete", True, "JobSucceeded", message)
    builder.event("Normal", "JobSucceeded", message)
    builder.state("Succeeded", "JobSucceeded", completion_messages.without_version(message))
    _end(builder, replicas, "JobSucceeded")


def without_version(decided: Plan) -> Plan:
    """Return the plan of a success without a model version, with a message that says so."""
    message = "no ModelVersion was created: the replica that writes the model never mounted its storage"
    whole = f"{decided.status.message}; {message}"
    conditions = (
        msgspec.structs.replace(condition, message=whole) if condition.type in ("Succeeded", "Complete") else condition
        for condition in decided.status.conditions
    )
    status = msgspec.structs.replace(decided.status, model_version_name="", conditions=tuple(conditions))
    others = (event for event in decided.events if event.reason != "ModelVersionCreated")
    return replace(decided, status=status, events=(Event("Warning", "ModelNotMounted", message), *others))


def fail(builder: PlanBuilder, replicas: list[ObservedReplica], reason: str, message: str) -> None:
    """End a job that cannot go on."""
    builder.condition("Failed", True, reason, message)
    builder.event("Warning", reason, message)
    builder.state("Failed", reason, headline(reason, message))
    _end(builder, replicas, reason)
    last_failure.record_in_place(builder, replicas)


def _end(builder: PlanBuilder, replicas: list[ObservedReplica], reason: str) -> None:
    end_conditions(builder, reason)
    spot.stop(builder, reason, ended=True)
    builder.condition(waiting.PODS_READY, False, reason)
    builder.set(completion_time=builder.observed.now, restarts=waiting.restarts(builder, replicas))
    builder.creations.clear()
    replica_status.count(builder, replicas, ended=True)
    clean_up(builder)


def end_conditions(builder: PlanBuilder, reason: str) -> None:
    """Set the conditions to False that only a job with pods can have."""
    of_addons = *registry.conditions(), *registry.remarks()
    for condition in ("Running", "Restarting", blocked.BLOCKED, *of_addons, lost_nodes.CONDITION):
        builder.condition(condition, False, reason)
    resizing.stop(builder, reason)
    reclaim.stop(builder, reason)


def clean_up(builder: PlanBuilder) -> None:
    """Delete the pods of a finished job, and the job itself when it is time."""
    observed, spec = builder.observed, builder.observed.job.spec
    builder.forget = [pod.metadata.uid for pod in observed.deleted]
    policy = spec.clean_pod_policy or observed.kind.clean_pod_policy
    failed = is_true(builder.status.conditions, "Failed")
    for pod in (*observed.pods, *registry.helpers(observed)):
        if clean_pod_policy.is_cleaned(pod, policy, failed=failed) or finishing.is_left_over(observed, pod):
            restarts.remove(builder, pod)
    expiry = ttl_after_finished.expiry(builder.status.completion_time, spec.ttl_seconds_after_finished)
    if expiry is not None and observed.now >= expiry:
        builder.delete_job = True
    builder.wake(expiry)
