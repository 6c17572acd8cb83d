"""Objects of the cluster as rows of the console. Pure."""

from collections.abc import Iterable
from datetime import UTC, datetime

from kubedl.api.model import ModelVersionStatus
from kubedl.api.training import GROUP
from kubedl.console.kinds import ShownPod
from kubedl.console.usage import summed
from kubedl.console.wire import Condition, EventRow, JobRow, PodRow
from kubedl.history.creator import creator
from kubedl.history.observed import RecordedJob
from kubedl.history.observed_pods import RecordedEvent
from kubedl.history.resource_requests import of_pod
from kubedl.training.elastic.terms import ConditionType
from kubedl.training.pod_diagnostics import diagnose

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
REPLICA_TYPE, REPLICA_INDEX = f"{GROUP}/replica-type", f"{GROUP}/replica-index"
BUILD_STATES = {"ImageBuilding": "Building", "ImageBuildFailed": "Failed", "ImageBuildSucceeded": "Built"}
LONGEST_MESSAGE = 512  # characters in a list; the page has all of it
PROGRESS_UNKNOWN = ConditionType.PROGRESS_UNKNOWN.value
EARLIEST = datetime.min.replace(tzinfo=UTC)


def job_row(kind: str, job: RecordedJob, longest: int = LONGEST_MESSAGE) -> JobRow:
    """Return the row of a job."""
    status, policy = job.status, job.spec.scheduling_policy
    progress, ends = _progress(job)
    wanted = summed(of_pod(role.template.spec).times(role.replicas) for role in job.spec.roles.values())
    return JobRow(
        uid=job.metadata.uid,
        namespace=job.metadata.namespace,
        kind=kind,
        name=job.metadata.name,
        state=status.state,
        message=status.message[:longest],
        ready=status.ready,
        gpus=wanted.gpus,
        cpu_millis=wanted.cpu_millis,
        memory_bytes=wanted.memory_bytes,
        user=creator(job.metadata).user,
        queue=job.metadata.labels.get(QUEUE_LABEL, "") or (policy.queue if policy is not None else ""),
        restarts=status.restarts if status.restarts is not None else status.retries,
        progress=progress,
        progress_unknown=any(one.type == PROGRESS_UNKNOWN and one.status == "True" for one in status.conditions),
        ends=ends,
        created=job.metadata.creation_timestamp,
        started=status.start_time,
        finished=status.completion_time,
    )


def _progress(job: RecordedJob) -> tuple[float | None, datetime | None]:
    """Return which part of its work a job has done, and when it would be done; None if its program does not say."""
    work, said = job.spec.spot.work if job.spec.spot is not None else None, job.status.spot
    if work is None or work.seconds <= 0 or said is None:
        return None, None
    done = min(1.0, max(0.0, said.progress.seconds / work.seconds))
    return done, said.projected_end if job.status.state == "Running" else None


def build_state(status: ModelVersionStatus) -> str:
    """Return how far the image of a version is: Building, Built, Failed; empty if it was not begun."""
    return BUILD_STATES.get(status.image_build_phase or "", "")


def condition_rows(job: RecordedJob) -> list[Condition]:
    """Return the conditions of a job, newest first."""
    rows = [
        Condition(
            type=one.type,
            status=one.status,
            reason=one.reason,
            message=one.message,
            since=one.last_transition_time,
        )
        for one in job.status.conditions
    ]
    return sorted(rows, key=lambda row: row.since or EARLIEST, reverse=True)


def pod_rows(pods: Iterable[ShownPod], now: datetime) -> list[PodRow]:
    """Return the pods of a job, by role and index."""
    return [_pod_row(pod, now) for pod in sorted(pods, key=_order)]


def event_rows(events: Iterable[RecordedEvent], most: int = 500) -> list[EventRow]:
    """Return events, newest first."""
    rows = [
        EventRow(
            uid=event.metadata.uid,
            about=f"{event.involved_object.kind}/{event.involved_object.name}",
            type=event.type,
            reason=event.reason,
            message=event.message,
            count=(event.series.count if event.series is not None else event.count) or 1,
            time=_time(event),
        )
        for event in events
    ]
    return sorted(rows, key=lambda row: row.time or EARLIEST, reverse=True)[:most]


def _pod_row(pod: ShownPod, now: datetime) -> PodRow:
    labels, meta = pod.metadata.labels, pod.metadata
    names = pod.spec.names()
    statuses = {status.name: status for status in pod.status.container_statuses}
    first = statuses.get(names[0]) if names else None
    return PodRow(
        uid=meta.uid,
        name=meta.name,
        replica=f"{labels.get(REPLICA_TYPE, '')}-{labels.get(REPLICA_INDEX, '')}".strip("-"),
        phase="Terminating" if meta.deletion_timestamp is not None else pod.status.phase,
        message=_message(pod, now),
        node=pod.spec.node_name,
        restarts=sum(status.restart_count for status in pod.status.container_statuses),
        created=meta.creation_timestamp,
        started=first.started if first is not None else None,
        containers=names,
    )


def _message(pod: ShownPod, now: datetime) -> str:
    """Return how a pod ended, or why it does not run."""
    if pod.status.phase == "Failed":
        if pod.status.reason:
            return pod.status.message or pod.status.reason
        ended = [one.state.terminated for one in pod.status.container_statuses if one.state.terminated is not None]
        for terminated in ended:
            if terminated.exit_code:
                reason = f" ({terminated.reason})" if terminated.reason not in ("", "Error") else ""
                return f"exit code {terminated.exit_code}{reason}"
        return ""
    cause = diagnose(pod, now)
    return f"{cause.reason}: {cause.message}" if cause is not None and cause.reason else ""


def _order(pod: ShownPod) -> tuple[str, int, datetime]:
    index = pod.metadata.labels.get(REPLICA_INDEX, "")
    number = int(index) if index.isdecimal() and len(index) < 10 else 0
    return pod.metadata.labels.get(REPLICA_TYPE, ""), number, pod.metadata.creation_timestamp or EARLIEST


def _time(event: RecordedEvent) -> datetime | None:
    series = event.series.last_observed_time if event.series is not None else None
    return series or event.last_timestamp or event.event_time or event.metadata.creation_timestamp
