"""How a job ended, in a sentence that names numbers, replicas, exit codes and what was created. Pure."""

from collections.abc import Sequence
from datetime import datetime

from kubedl.training import tally
from kubedl.training.job import Job
from kubedl.training.plan import Draft
from kubedl.training.policies.failure import Failure
from kubedl.training.snapshot import Sighting
from kubedl.training.wording import duration

Outcome = tuple[str, str]  # reason and message of a job that fails

LIMIT = "BackoffLimitExceeded"
VERSION = "; ModelVersion "


def success(draft: Draft, sightings: Sequence[Sighting]) -> str:
    """How many replicas succeeded, how long that took, and which model version the job created."""
    done, total = sum(sighting.succeeded for sighting in sightings), draft.snapshot.job.size
    began, name = draft.status.start_time, draft.status.model_version_name
    lasted = f" after {duration(draft.snapshot.now - began)}" if began is not None else ""
    return f"{done} of {total} replicas succeeded{lasted}" + (f"{VERSION}{name} created" if name else "")


def without_version(message: str) -> str:
    """The sentence about a success without what it says of a model version."""
    return message.partition(VERSION)[0]


def deadline(draft: Draft, limit: datetime) -> str:
    """By which field the job's time was up, and how it was then."""
    seconds, ready = draft.snapshot.job.spec.active_deadline_seconds, draft.snapshot.job.made.status.ready
    waited = f"; {ready} pods were ready" if ready else ""
    return f"activeDeadlineSeconds ({seconds}) exceeded at {limit:%Y-%m-%dT%H:%M:%SZ}{waited}"


def limit_reached(job: Job, failure: Failure) -> Outcome:
    """Whose failure was one too many."""
    return LIMIT, f"backoffLimit ({job.spec.backoff_limit}) reached: {job.pod_name(failure.replica)} {failure.text}"


def limit_reached_in_place(job: Job, sightings: Sequence[Sighting]) -> Outcome:
    """Whose restarts by its kubelet were too many, and how it ended last."""
    worst = max(sightings, key=lambda one: tally.restarts(job, one), default=None)
    times = tally.restarts(job, worst) if worst is not None else 0
    if worst is None or not times:  # replicas that are no longer asked for may have used the limit up
        return LIMIT, f"backoffLimit ({job.spec.backoff_limit}) reached: no more failures are allowed"
    text, pod = f"{job.pod_name(worst.replica)} was restarted {times} times by its kubelet", worst.current or worst.gone
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses) if pod is not None else ()
    for status in sorted(statuses, key=lambda one: -one.restart_count)[:1]:
        ended = status.state.terminated or status.last_state.terminated
        if ended is not None:
            why = f" ({ended.reason})" if ended.reason not in ("", "Error") else ""
            text += f", the last time after exit code {ended.exit_code}{why} of container {status.name}"
    return LIMIT, f"backoffLimit ({job.spec.backoff_limit}) reached: {text}"
