"""Messages about the end of a job, with numbers, replicas, exit codes and created objects. Pure."""

from collections.abc import Sequence
from datetime import datetime

from kubedl.training import replica_status
from kubedl.training.formatting import duration
from kubedl.training.job import Job
from kubedl.training.observed import ObservedReplica
from kubedl.training.plan import PlanBuilder
from kubedl.training.policies.failure_policy import Failure

Outcome = tuple[str, str]  # reason and message of a failed job

LIMIT = "BackoffLimitExceeded"
VERSION = "; ModelVersion "


def success(builder: PlanBuilder, replicas: Sequence[ObservedReplica]) -> str:
    """Return the message of success: replicas, duration, and the created ModelVersion."""
    done, total = sum(seen.succeeded for seen in replicas), builder.observed.job.size
    began, name = builder.status.start_time, builder.status.model_version_name
    lasted = f" after {duration(builder.observed.now - began)}" if began is not None else ""
    return f"{done} of {total} replicas succeeded{lasted}" + (f"{VERSION}{name} created" if name else "")


def without_version(message: str) -> str:
    """Return the message of success without the part about the ModelVersion."""
    return message.partition(VERSION)[0]


def deadline(builder: PlanBuilder, limit: datetime) -> str:
    """Return reason and message of an exceeded deadline, with the state at that time."""
    seconds, ready = builder.observed.job.spec.active_deadline_seconds, builder.observed.job.resource.status.ready
    waited = f"; {ready} pods were ready" if ready else ""
    return f"activeDeadlineSeconds ({seconds}) exceeded at {limit:%Y-%m-%dT%H:%M:%SZ}{waited}"


def limit_reached(job: Job, failure: Failure) -> Outcome:
    """Return reason and message for the failure that exceeded the limit."""
    return LIMIT, f"backoffLimit ({job.spec.backoff_limit}) reached: {job.pod_name(failure.replica)} {failure.text}"


def limit_reached_in_place(job: Job, replicas: Sequence[ObservedReplica]) -> Outcome:
    """Return reason and message for the kubelet restarts that exceeded the limit, with the last exit code."""
    worst = max(replicas, key=lambda seen: replica_status.restarts(job, seen), default=None)
    times = replica_status.restarts(job, worst) if worst is not None else 0
    if worst is None or not times:  # replicas that the spec no longer has may have used up the limit
        return LIMIT, f"backoffLimit ({job.spec.backoff_limit}) reached: no more failures are allowed"
    text, pod = f"{job.pod_name(worst.replica)} was restarted {times} times by its kubelet", worst.current or worst.gone
    statuses = replica_status.counted_containers(job, pod) if pod is not None else ()
    for status in sorted(statuses, key=lambda container: -container.restart_count)[:1]:
        ended = status.state.terminated or status.last_state.terminated
        if ended is not None:
            why = f" ({ended.reason})" if ended.reason not in ("", "Error") else ""
            text += f", the last time after exit code {ended.exit_code}{why} of container {status.name}"
    return LIMIT, f"backoffLimit ({job.spec.backoff_limit}) reached: {text}"
