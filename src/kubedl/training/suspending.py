"""Suspends jobs, for their user, their queue or the end of their patience, and resumes them. Pure."""

from kubedl.training import queuing, replica_status, restarts, waiting
from kubedl.training.addons import registry
from kubedl.training.addons.base import EDIT_IGNORED
from kubedl.training.completion_messages import Outcome
from kubedl.training.ending import end_conditions
from kubedl.training.plan import PlanBuilder
from kubedl.training.policies import clean_pod_policy
from kubedl.training.policies.safe_time import later
from kubedl.training.spot import planning as spot
from kubedl.training.spot import suspension


def obstacle(builder: PlanBuilder) -> Outcome | None:
    """Why a job must not run although its user has not suspended it: its queue, or the end of its patience."""
    observed = builder.observed
    if (waited := suspension.obstacle(builder)) is not None:
        return waited
    queue, started = observed.queue, observed.job.resource.status.start_time is not None
    return None if queue is None or (started and queue.is_silent) else queue.obstacle()


def suspend(builder: PlanBuilder) -> None:
    """Delete the pods; successes are kept. The job resumes only when the last pod is gone."""
    observed, held_by = builder.observed, obstacle(builder)
    replicas = replica_status.observe_replicas(observed)
    leaving = [
        pod
        for pod in (*observed.pods, *registry.helpers(observed))
        if pod.status.phase not in clean_pod_policy.ENDED or pod.metadata.deletion_timestamp
    ]
    builder.forget = [pod.metadata.uid for pod in observed.deleted]
    if observed.job.spec.suspend:
        if builder.condition("Suspended", True, "JobSuspended", "the job is suspended"):
            builder.event("Normal", "JobSuspended", "the job is suspended: its pods are deleted")
        _describe_suspended(builder, "JobSuspended", "the job is suspended")
        builder.state("Suspended", "JobSuspended")
    elif held_by is not None:
        reason, message = held_by
        if builder.condition("Suspended", True, reason, message):
            builder.event("Normal", reason, message)
        _describe_suspended(builder, reason, message)
        if reason == suspension.REASON:
            builder.state("Suspended", reason, message)
        else:
            queuing.describe(builder, held_by)
        if observed.queue is not None and observed.queue.conflict is not None:
            builder.wake(later(observed.now, queuing.LOOK_AGAIN))
    elif not leaving:
        builder.condition("Suspended", False, "JobResumed", "the job was resumed")
        builder.event("Normal", "JobResumed", "the job was resumed")
        replicas = restarts.restart_after_resume(builder, replicas)
    for pod in leaving:
        restarts.remove(builder, pod)
    replica_status.count(builder, replicas)
    if builder.status.state == "Queuing" and not builder.deletions:
        queuing.limit_writes(builder)


def _describe_suspended(builder: PlanBuilder, reason: str, message: str) -> None:
    end_conditions(builder, reason)
    spot.stop(builder, reason, ended=False)
    builder.condition(EDIT_IGNORED, False, reason)  # edits take effect when the job is resumed
    builder.condition(waiting.PODS_READY, False, reason, message)
    builder.set(start_time=None)
