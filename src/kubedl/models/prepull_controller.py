"""Pre-pulls images to nodes: one OpenKruise ImagePullJob per built version that asks for it.

The job is created once and owned by its version. It is polled, not watched: few versions are being pulled at a time,
and clusters without such versions never query OpenKruise. If it is missing, one request per minute serves all versions,
and none is sent for versions built long ago: installing OpenKruise later does not pull old images. The result stays in
the version's condition, even if the job is deleted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from kubedl.api.conditions import Condition, find, set_condition
from kubedl.api.model import MODEL_VERSIONS, ModelVersion, ModelVersionStatus, PreWarm
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError, NotFoundError
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, Record, Resource
from kubedl.models.build_pod import owner_of
from kubedl.runtime.store import Store
from kubedl.runtime.writer import NameConflictError, Writer, is_controlled_by

GROUP = "apps.kruise.io"
CONDITION = "PreWarmed"
PREFIX, LONGEST_NAME = "pre-warm-", 63  # OpenKruise copies the name into labels
LOOK = 10.0  # seconds
LOOK_FOR_KRUISE = timedelta(minutes=1)
PATIENCE = timedelta(hours=1)  # after the build, in a cluster that rejects the job
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
MOST_NAMED = 10  # nodes in a message
FINAL = (
    "Pulled",
    "PullFailed",
    "NoNodes",
    "JobGone",
    "NameTaken",
    "RetriesExhausted",
)  # final reasons

Body = dict[str, Any]
State = Literal["True", "False", "Unknown"]


class PullStatus(Record, frozen=True):
    """Status of an ImagePullJob."""

    completion_time: datetime | None = None
    desired: int = 0
    succeeded: int = 0
    failed: int = 0
    message: str = ""
    failed_nodes: tuple[str, ...] | None = ()


class ImagePullJob(Record, frozen=True):
    """An ImagePullJob."""

    metadata: ObjectMeta = ObjectMeta()
    status: PullStatus = PullStatus()


# OpenKruise has served this version since its first release with ImagePullJobs.
IMAGE_PULL_JOBS = Resource(ImagePullJob, "ImagePullJob", "imagepulljobs", "v1alpha1", GROUP)


@dataclass(frozen=True)
class Observed:
    """The observed state of a version whose image is to be pre-pulled."""

    version: ModelVersion
    prewarm: PreWarm
    job: ImagePullJob | ApiError | None  # or why it is not available; None if it does not exist
    now: datetime


@dataclass(frozen=True)
class Plan:
    """The actions to take: create the job and plan again, or write the condition."""

    create: Body | None = None
    status: ModelVersionStatus | None = None
    again: float | None = None  # seconds
    refusal: ApiError | None = None  # may be resolved by the next attempt
    is_missing: bool = False  # OpenKruise; the next request, for any version, checks again


class PrePullController:
    """Reconciles built ModelVersions."""

    def __init__(self, versions: Store[ModelVersion], writer: Writer, *, clock: Callable[[], datetime]) -> None:
        self._versions = versions
        self._writer = writer
        self._clock = clock
        self._ask_again = LONG_AGO  # until then OpenKruise counts as missing, for all versions

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one version; returns after how many seconds to reconcile again."""
        version = self._versions.get(key)
        prewarm = wished(version)
        if version is None or prewarm is None:
            return None
        observed = Observed(version, prewarm, await self._find(version), self._clock())
        decided = plan(observed)
        if decided.create is not None:
            decided = plan(replace(observed, job=await self._create(version, decided.create)))
        return await self._apply(version, decided)

    def _is_missing(self, now: datetime) -> bool:
        """Return whether OpenKruise was missing a moment ago; a moment far ahead means that the clock was set back."""
        return now < self._ask_again <= now + LOOK_FOR_KRUISE

    async def _find(self, version: ModelVersion) -> ImagePullJob | ApiError | None:
        if self._is_missing(self._clock()):
            return NotFoundError(404, "", "detected for another version")
        name = ObjectKey(version.metadata.namespace, pull_job_name(version))
        try:
            return await self._writer.client.get(IMAGE_PULL_JOBS, name)
        except NotFoundError:
            return None
        except (ForbiddenError, InvalidError) as refusal:
            return refusal

    async def _create(self, version: ModelVersion, body: Body) -> ImagePullJob | ApiError:
        try:
            return await self._writer.create(version, IMAGE_PULL_JOBS, body)
        except (NameConflictError, NotFoundError, ForbiddenError, InvalidError) as refusal:
            return refusal

    async def _apply(self, version: ModelVersion, decided: Plan) -> float | None:
        if decided.status is not None:
            await self._writer.write_status(MODEL_VERSIONS, version, decided.status)
        if decided.refusal is not None:
            raise decided.refusal  # the queue's backoff increases
        if not decided.is_missing:
            return decided.again
        now = self._clock()
        if not self._is_missing(now):
            self._ask_again = now + LOOK_FOR_KRUISE
        return (self._ask_again - now).total_seconds()


def plan(observed: Observed) -> Plan:
    """Plan the actions for a version."""
    version, job = observed.version, observed.job
    if job is None:
        condition = find(version.status.conditions, CONDITION)
        if condition is None or condition.reason != "Pulling":
            return Plan(create=render(version, observed.prewarm))
        gone = "the ImagePullJob was deleted before it finished"
        return Plan(status=_with_condition(observed, "Unknown", "JobGone", gone))
    if isinstance(job, ImagePullJob) and not is_controlled_by(job, version):
        job = NameConflictError(IMAGE_PULL_JOBS.kind, job.metadata.name)
    if isinstance(job, NameConflictError):
        return Plan(status=_with_condition(observed, "False", job.reason, job.message))
    if isinstance(job, ApiError):
        return _refused(observed, job)
    again = None if job.status.completion_time is not None else LOOK
    return Plan(status=_with_condition(observed, *build_status(job)), again=again)


def _refused(observed: Observed, error: ApiError) -> Plan:
    """Report the failure and retry for some time."""
    reason, message, is_missing = f"Job{error.reason or 'Refused'}", error.message, isinstance(error, NotFoundError)
    if is_missing:
        reason = "KruiseNotInstalled"
        message = f"the cluster does not serve {IMAGE_PULL_JOBS.name}; install OpenKruise"
    if observed.now - (observed.version.status.finish_time or LONG_AGO) >= PATIENCE:
        exhausted = f"{reason} for too long after the build: {message}"
        return Plan(status=_with_condition(observed, "False", "RetriesExhausted", exhausted))
    status = _with_condition(observed, "False", reason, message)
    return Plan(status=status, refusal=None if is_missing else error, is_missing=is_missing)


def _with_condition(observed: Observed, state: State, reason: str, message: str) -> ModelVersionStatus:
    version = observed.version
    condition = Condition(
        type=CONDITION,
        status=state,
        reason=reason,
        message=message,
        observed_generation=version.metadata.generation,
    )
    conditions = set_condition(version.status.conditions, condition, observed.now.replace(microsecond=0))
    return msgspec.structs.replace(version.status, conditions=conditions)


def wished(version: ModelVersion | None) -> PreWarm | None:
    """Return the pending pre-pull of a version, if any."""
    if version is None or version.metadata.deletion_timestamp is not None or not version.status.image:
        return None
    condition = find(version.status.conditions, CONDITION)
    return version.spec.pre_warm if condition is None or condition.reason not in FINAL else None


def versions_to_pull(version: ModelVersion) -> Iterable[ObjectKey]:
    """Return the key of the version if its pre-pull is pending."""
    if wished(version) is not None:
        yield version.metadata.key


def pull_job_name(version: ModelVersion) -> str:
    """Return the name of the job."""
    meta, name = version.metadata, PREFIX + version.metadata.name
    return name if len(name) <= LONGEST_NAME else f"{PREFIX}{meta.uid}"


def render(version: ModelVersion, prewarm: PreWarm) -> Body:
    """Render the job."""
    owner = owner_of(version)
    return {
        "apiVersion": IMAGE_PULL_JOBS.api_version,
        "kind": IMAGE_PULL_JOBS.kind,
        "metadata": {
            "name": pull_job_name(version),
            "namespace": owner.namespace,
            "ownerReferences": [owner.reference],
        },
        "spec": {
            "image": version.status.image,
            "parallelism": prewarm.parallelism,
            "completionPolicy": {"type": "Always"},
            "pullPolicy": {"timeoutSeconds": prewarm.timeout_seconds},
            **({"selector": {"matchLabels": dict(prewarm.node_selector)}} if prewarm.node_selector else {}),
            **({"pullSecrets": [prewarm.secret_name]} if prewarm.secret_name else {}),
        },
    }


def build_status(pull_job: ImagePullJob) -> tuple[State, str, str]:
    """Return status, reason and message of the condition."""
    status = pull_job.status
    done = f"on {status.succeeded} of {status.desired} nodes"
    if status.completion_time is None:
        return "False", "Pulling", done
    if status.failed or status.succeeded < status.desired:
        nodes = ", ".join((status.failed_nodes or ())[:MOST_NAMED])
        return "False", "PullFailed", f"{done}; failed: {nodes or status.failed}" + _more(status)
    if not status.desired:
        return "False", "NoNodes", "no node selected: check nodeSelector, and whether OpenKruise runs on the nodes"
    return "True", "Pulled", done


def _more(status: PullStatus) -> str:
    return f"; {status.message}" if status.message else ""
