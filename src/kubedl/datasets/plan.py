"""Plans the reconcile of a CacheBackend. Pure function of the observed state.

Missing Fluid objects are created, and created again if they are deleted; the progress of the cache is derived from
Fluid's objects alone. A ready CacheBackend that no job uses is deleted after its idle time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from kubedl.api.cachebackend import CACHE_BACKENDS, CacheBackend, CacheBackendStatus, CacheStatus
from kubedl.api.conditions import Condition, is_finished, set_condition
from kubedl.api.training import TrainingJob, cron_policy, is_managed_elsewhere
from kubedl.datasets import fluid_objects
from kubedl.datasets.host_paths import NO_HOST_PATHS, HostPaths
from kubedl.kube import codec
from kubedl.kube.types.meta import Object, ObjectKey, Resource
from kubedl.runtime.writer import is_controlled_by

MOST_NAMED = 1000  # limit of job names in a status, to bound its size
LONGEST_SLEEP = timedelta(days=1)
ENGINE = "fluid"
MOUNTABLE = ("Bound", "Updating")  # phases of a Dataset in which its claim can be mounted, per Fluid's documentation

User = tuple[Resource[TrainingJob], TrainingJob]


@dataclass(frozen=True)
class Observed:
    """The observed state of a CacheBackend."""

    backend: CacheBackend
    users: tuple[TrainingJob, ...]
    dataset: fluid_objects.Dataset | None
    runtime: fluid_objects.Runtime | None
    claim: fluid_objects.Claim | None
    installed: bool  # whether the cluster serves the Fluid kinds that this CacheBackend needs
    now: datetime
    host_paths: HostPaths = NO_HOST_PATHS


@dataclass(frozen=True)
class Progress:
    """The progress of a cache: state, reason and message."""

    status: CacheStatus
    reason: str
    message: str


@dataclass(frozen=True)
class Plan:
    """The actions to take."""

    status: CacheBackendStatus
    creations: tuple[tuple[Resource[Any], fluid_objects.Body], ...] = ()
    delete: bool = False
    again: timedelta | None = None  # time until the next reconcile


@dataclass(frozen=True)
class Creation:
    """A CacheBackend to create, and the job that describes it."""

    user: User
    body: fluid_objects.Body


def uses(resource: TrainingJob) -> bool:
    """Return whether a job needs its cache now. A suspended job has no pods, nor has the template of a Cron."""
    return (
        resource.metadata.deletion_timestamp is None
        and not resource.spec.suspend
        and cron_policy(resource) is None
        and not is_finished(resource.status.conditions)
        and not is_managed_elsewhere(resource)
    )


def plan_missing(key: ObjectKey, users: Iterable[User]) -> Creation | None:
    """Plan a missing CacheBackend, from the first job that describes it."""
    able = [(resource, job) for resource, job in users if job.spec.cache_backend.dataset is not None]
    if not able:
        return None
    resource, first = min(able, key=lambda one: (str(one[1].metadata.creation_timestamp), one[1].metadata.name))
    body = {
        "apiVersion": CACHE_BACKENDS.api_version,
        "kind": CACHE_BACKENDS.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": codec.plain(first.spec.cache_backend),
    }
    return Creation((resource, first), body)


def plan(observed: Observed) -> Plan:
    """Plan the actions for a CacheBackend."""
    backend = observed.backend
    if backend.metadata.deletion_timestamp is not None:
        return Plan(backend.status)  # its dependents are garbage-collected
    status = _used(observed, build_status(backend, backend.status, _progress(observed), observed.now))
    left = _time_left(observed, status)
    if left is not None and left <= timedelta():
        return Plan(status, delete=True)
    return Plan(status, tuple(_missing(observed)), again=min(left, LONGEST_SLEEP) if left is not None else None)


def build_status(
    backend: CacheBackend, status: CacheBackendStatus, progress: Progress, now: datetime
) -> CacheBackendStatus:
    """Return the status with the progress of the cache."""
    generation = backend.metadata.generation
    ready = Condition(
        type="Ready",
        status="True" if progress.status == "PVCCreated" else "False",
        reason=progress.reason,
        message=progress.message,
        observed_generation=generation,
    )
    return msgspec.structs.replace(
        status,
        cache_engine=ENGINE,
        cache_status=progress.status,
        conditions=set_condition(status.conditions, ready, now),
        observed_generation=generation,
    )


def not_installed(kinds: str) -> Progress:
    """Report missing Fluid kinds; they are checked for again later."""
    return Progress("CacheFailed", "FluidNotInstalled", f"the cluster does not serve {kinds}; install Fluid")


def _progress(observed: Observed) -> Progress:
    return _hopeless(observed) or _underway(observed) or _claimed(observed)


def _hopeless(observed: Observed) -> Progress | None:
    """Return why nothing can be created until a user acts."""
    backend = observed.backend
    chosen = fluid_objects.engine(backend)
    if chosen is None or backend.spec.dataset is None:
        needed = "set spec.dataset, and one of alluxioRuntime and juiceFSRuntime in spec.cacheEngine.fluid"
        return Progress("CacheFailed", "SpecInvalid", needed)
    if not observed.installed:
        return not_installed(f"{fluid_objects.DATASETS.name} or {chosen[0].name}")
    for resource, found in ((fluid_objects.DATASETS, observed.dataset), (chosen[0], observed.runtime)):
        if found is not None and not is_controlled_by(found, backend):
            taken = f"{resource.kind} {found.metadata.name} exists and does not belong to this CacheBackend"
            return Progress("CacheFailed", "NameTaken", taken)
    complaint = observed.host_paths.validate(backend) if observed.dataset is None or observed.runtime is None else None
    return Progress("CacheFailed", "HostPathNotAllowed", complaint) if complaint is not None else None


def _underway(observed: Observed) -> Progress | None:
    """Return Fluid's progress with the data; None when the data is ready."""
    dataset = observed.dataset
    if dataset is None or observed.runtime is None:
        return Progress("CacheCreating", "Creating", "Fluid's objects are being created")
    if dataset.status.phase == "Failed":
        return Progress(
            "CacheFailed", "DatasetFailed", _latest_message(dataset) or "Fluid reports that the Dataset has failed"
        )
    if dataset.status.phase not in MOUNTABLE or _is_leaving(dataset) or _is_leaving(observed.runtime):
        message = _latest_message(dataset)
        detail = f": {message}" if message else ""
        return Progress("CacheCreating", "DatasetNotBound", f"Fluid is preparing the Dataset{detail}")
    return None


def _claimed(observed: Observed) -> Progress:
    """Return whether pods can mount the prepared data."""
    name = observed.backend.metadata.name
    if observed.claim is None or _is_leaving(observed.claim):
        return Progress("PVCCreating", "ClaimMissing", f"waiting for Fluid to create PersistentVolumeClaim {name}")
    if not observed.claim.is_fluids:
        taken = f"PersistentVolumeClaim {name} exists and was not created by Fluid; delete it, or use another name"
        return Progress("CacheFailed", "NameTaken", taken)
    return Progress("PVCCreated", "ClaimCreated", f"pods can mount PersistentVolumeClaim {name}")


def _missing(observed: Observed) -> Iterable[tuple[Resource[Any], fluid_objects.Body]]:
    chosen = fluid_objects.engine(observed.backend)
    if chosen is None or _hopeless(observed) is not None:
        return
    if observed.dataset is None:
        yield fluid_objects.DATASETS, fluid_objects.render_dataset(observed.backend)
    if observed.runtime is None:
        yield chosen[0], fluid_objects.render_runtime(*chosen, observed.backend)


def _used(observed: Observed, status: CacheBackendStatus) -> CacheBackendStatus:
    names = sorted(user.metadata.name for user in observed.users)
    since = status.last_used_time
    if names:
        since = None
    elif since is None and status.cache_status == "PVCCreated":
        since = observed.now
    return msgspec.structs.replace(status, used_by=tuple(names[:MOST_NAMED]), used_num=len(names), last_used_time=since)


def _time_left(observed: Observed, status: CacheBackendStatus) -> timedelta | None:
    """Return the seconds until an unused CacheBackend is deleted; None if it is kept."""
    options = observed.backend.spec.options
    if options is None or not options.idle_time or status.last_used_time is None:
        return None
    if status.cache_status != "PVCCreated":
        return None
    return timedelta(seconds=options.idle_time) - (observed.now - status.last_used_time)


def _is_leaving(obj: Object) -> bool:
    return obj.metadata.deletion_timestamp is not None


def _latest_message(dataset: fluid_objects.Dataset) -> str:
    """Return the message of Fluid's latest condition."""
    messages = [condition.message or condition.reason for condition in dataset.status.conditions or ()]
    return next((text for text in reversed(messages) if text), "")
