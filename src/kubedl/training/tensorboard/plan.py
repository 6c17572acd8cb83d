"""Plans the lifecycle of a job's TensorBoard. Pure.

It exists from the start of the job until its TTL after the end of the job, except while the job is suspended. A pod
that ended, or was created for another spec, is replaced, with a delay against hot loops.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kubedl.api.conditions import is_finished, is_true
from kubedl.api.training import TrainingJob
from kubedl.kube import codec
from kubedl.kube.types.core import Pod, Service
from kubedl.training.addons.base import AddonError
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.safe_time import LONG_AGO, later
from kubedl.training.tensorboard.spec import TensorBoardSpec, requested_tensorboard

DIGEST = "training.kubedl.io/tensorboard-digest"  # annotation of the pod: digest of the spec that it was created for
PAUSE = timedelta(seconds=30)
PATIENCE = timedelta(seconds=60)  # for a pod that should be gone; it only reads, so a second one does no harm


@dataclass(frozen=True)
class Observed:
    """The observed state of a job's TensorBoard."""

    resource: TrainingJob
    pod: Pod | None
    service: Service | None
    now: datetime


@dataclass(frozen=True)
class Plan:
    """The actions to take."""

    tensorboard: TensorBoardSpec | None = None  # as it should be
    create_pod: bool = False
    create_service: bool = False
    delete_pod: bool = False
    force: bool = False
    delete_service: bool = False
    wake_at: datetime | None = None
    complaint: str = ""


def plan(observed: Observed) -> Plan:
    """Plan the actions for a job's TensorBoard."""
    resource = observed.resource
    if resource.metadata.deletion_timestamp is not None:
        return Plan()  # it is garbage-collected
    try:
        tensorboard = requested_tensorboard(resource)
    except AddonError as error:
        return replace(_without(observed), complaint=str(error))
    end = expiry(resource, tensorboard) if tensorboard is not None else None
    suspended = resource.spec.suspend or is_true(resource.status.conditions, "Suspended")
    if tensorboard is None or suspended or (end is not None and end <= observed.now):
        return _without(observed)
    decided = _with(observed, tensorboard)
    moments = [moment for moment in (decided.wake_at, end) if moment is not None and moment > observed.now]
    return replace(decided, wake_at=min(moments, default=None))


def expiry(resource: TrainingJob, tensorboard: TensorBoardSpec) -> datetime | None:
    """Return when its TTL is over; None while the job is active."""
    if not is_finished(resource.status.conditions):
        return None
    moments = [moment for moment in (resource.status.completion_time, tensorboard.asked_at) if moment is not None]
    return later(max(moments, default=LONG_AGO), timedelta(seconds=tensorboard.lifetime))


def digest(tensorboard: TensorBoardSpec) -> str:
    """Return the digest of the pod's inputs. The TTL is not among them."""
    parts = [
        tensorboard.log_dir,
        tensorboard.image,
        tensorboard.resources.json.decode() if tensorboard.resources is not None else "",
    ]
    return hashlib.sha256(codec.encode(parts)).hexdigest()[:16]


def _with(observed: Observed, tensorboard: TensorBoardSpec) -> Plan:
    decided = Plan(tensorboard, create_service=observed.service is None)
    pod = observed.pod
    if pod is None:
        return replace(decided, create_pod=True)
    if pod.metadata.deletion_timestamp is not None:
        return _hurried(decided, pod, observed.now)
    if pod.metadata.annotations.get(DIGEST) != digest(tensorboard):
        return replace(decided, delete_pod=True)
    if pod.status.phase in ENDED:
        again = later(pod.metadata.creation_timestamp or LONG_AGO, PAUSE)
        return replace(decided, delete_pod=again <= observed.now, wake_at=again)
    return decided


def _without(observed: Observed) -> Plan:
    service = observed.service
    decided = Plan(delete_service=service is not None and service.metadata.deletion_timestamp is None)
    if observed.pod is None:
        return decided
    if observed.pod.metadata.deletion_timestamp is not None:
        return _hurried(decided, observed.pod, observed.now)
    return replace(decided, delete_pod=True)


def _hurried(decided: Plan, pod: Pod, now: datetime) -> Plan:
    """Force deletion: a pod on an unreachable node would block its name forever."""
    limit = later(pod.metadata.deletion_timestamp or LONG_AGO, PATIENCE)
    if limit <= now:
        return replace(decided, delete_pod=True, force=True)
    return replace(decided, wake_at=limit)
