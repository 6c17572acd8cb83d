"""From what is known of a CacheBackend to what is done for it. Pure.

What Fluid lacks is made, and made again when somebody deletes it; how far the cache is follows from Fluid's objects
alone. A backend that was ready and that no job uses goes when its idle time is over.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from kubedl.api.cache import CacheBackend, CacheBackendStatus, CacheStatus
from kubedl.api.conditions import Condition, is_finished, set_condition
from kubedl.api.training import TrainingJob
from kubedl.cache import fluid
from kubedl.cache.host_paths import NO_HOST_PATHS, HostPaths
from kubedl.runtime.writer import belongs
from kubedl.wire.meta import Object, Resource

MOST_NAMED = 1000  # jobs in a status, so that it stays small enough to be written
LONGEST_SLEEP = timedelta(days=1)
ENGINE = "fluid"
MOUNTABLE = ("Bound", "Updating")  # phases of a Dataset whose claim pods can mount, by Fluid's own account


@dataclass(frozen=True)
class Sight:
    """What is known of a backend."""

    backend: CacheBackend
    users: tuple[TrainingJob, ...]
    dataset: fluid.Dataset | None
    runtime: fluid.Runtime | None
    claim: fluid.Claim | None
    installed: bool  # whether the cluster knows the kinds of Fluid that this backend needs
    now: datetime
    host_paths: HostPaths = NO_HOST_PATHS


@dataclass(frozen=True)
class Progress:
    """How far a cache is, for programs and for people."""

    status: CacheStatus
    reason: str
    message: str


@dataclass(frozen=True)
class Decision:
    """What is to be done."""

    status: CacheBackendStatus
    creations: tuple[tuple[Resource[Any], fluid.Body], ...] = ()
    delete: bool = False
    again: timedelta | None = None  # when to look without being asked


def uses(made: TrainingJob) -> bool:
    """Whether a job needs its cache now. One that is suspended has no pods."""
    return (
        made.metadata.deletion_timestamp is None and not made.spec.suspend and not is_finished(made.status.conditions)
    )


def decide(sight: Sight) -> Decision:
    """What is to be done for a backend now."""
    backend = sight.backend
    if backend.metadata.deletion_timestamp is not None:
        return Decision(backend.status)  # the garbage collector takes what belongs to it
    status = _used(sight, stated(backend, backend.status, _progress(sight), sight.now))
    left = _time_left(sight, status)
    if left is not None and left <= timedelta():
        return Decision(status, delete=True)
    return Decision(status, tuple(_missing(sight)), again=min(left, LONGEST_SLEEP) if left is not None else None)


def stated(backend: CacheBackend, status: CacheBackendStatus, found: Progress, now: datetime) -> CacheBackendStatus:
    """The status with how far the cache is."""
    generation = backend.metadata.generation
    ready = Condition(
        type="Ready",
        status="True" if found.status == "PVCCreated" else "False",
        reason=found.reason,
        message=found.message,
        observed_generation=generation,
    )
    return msgspec.structs.replace(
        status,
        cache_engine=ENGINE,
        cache_status=found.status,
        conditions=set_condition(status.conditions, ready, now),
        observed_generation=generation,
    )


def not_installed(kinds: str) -> Progress:
    """Fluid is somebody else's to install; it is looked for again."""
    return Progress("CacheFailed", "FluidNotInstalled", f"the cluster does not know {kinds}; install Fluid")


def _progress(sight: Sight) -> Progress:
    return _hopeless(sight) or _underway(sight) or _claimed(sight)


def _hopeless(sight: Sight) -> Progress | None:
    """Why nothing can be made before somebody else has done something."""
    backend = sight.backend
    chosen = fluid.engine(backend)
    if chosen is None or backend.spec.dataset is None:
        needed = "spec.dataset, and one of alluxioRuntime and juiceFSRuntime in spec.cacheEngine.fluid, are needed"
        return Progress("CacheFailed", "SpecInvalid", needed)
    if not sight.installed:
        return not_installed(f"{fluid.DATASETS.name} or {chosen[0].name}")
    for resource, found in ((fluid.DATASETS, sight.dataset), (chosen[0], sight.runtime)):
        if found is not None and not belongs(found, backend):
            taken = f"{resource.kind} {found.metadata.name} exists and does not belong to this CacheBackend"
            return Progress("CacheFailed", "NameTaken", taken)
    complaint = sight.host_paths.complaint(backend) if sight.dataset is None or sight.runtime is None else None
    return Progress("CacheFailed", "HostPathNotAllowed", complaint) if complaint is not None else None


def _underway(sight: Sight) -> Progress | None:
    """How far Fluid is with the data; None when it is there."""
    dataset = sight.dataset
    if dataset is None or sight.runtime is None:
        return Progress("CacheCreating", "Creating", "Fluid's objects are being made")
    if dataset.status.phase == "Failed":
        return Progress("CacheFailed", "DatasetFailed", _said(dataset) or "Fluid says that the Dataset has failed")
    if dataset.status.phase not in MOUNTABLE or _is_leaving(dataset) or _is_leaving(sight.runtime):
        said = _said(dataset)
        words = f": {said}" if said else ""
        return Progress("CacheCreating", "DatasetNotBound", f"Fluid is preparing the Dataset{words}")
    return None


def _claimed(sight: Sight) -> Progress:
    """The data is there; whether pods can mount it."""
    name = sight.backend.metadata.name
    if sight.claim is None or _is_leaving(sight.claim):
        return Progress("PVCCreating", "ClaimMissing", f"Fluid has yet to make PersistentVolumeClaim {name}")
    if not sight.claim.is_fluids:
        taken = f"PersistentVolumeClaim {name} exists and is not Fluid's; delete it, or take another name"
        return Progress("CacheFailed", "NameTaken", taken)
    return Progress("PVCCreated", "ClaimCreated", f"pods can mount PersistentVolumeClaim {name}")


def _missing(sight: Sight) -> Iterable[tuple[Resource[Any], fluid.Body]]:
    chosen = fluid.engine(sight.backend)
    if chosen is None or _hopeless(sight) is not None:
        return
    if sight.dataset is None:
        yield fluid.DATASETS, fluid.render_dataset(sight.backend)
    if sight.runtime is None:
        yield chosen[0], fluid.render_runtime(*chosen, sight.backend)


def _used(sight: Sight, status: CacheBackendStatus) -> CacheBackendStatus:
    names = sorted(user.metadata.name for user in sight.users)
    since = status.last_used_time
    if names:
        since = None
    elif since is None and status.cache_status == "PVCCreated":
        since = sight.now
    return msgspec.structs.replace(status, used_by=tuple(names[:MOST_NAMED]), used_num=len(names), last_used_time=since)


def _time_left(sight: Sight, status: CacheBackendStatus) -> timedelta | None:
    """Until a backend that nobody uses goes; None if it stays."""
    options = sight.backend.spec.options
    if options is None or not options.idle_time or status.last_used_time is None:
        return None
    if status.cache_status != "PVCCreated":
        return None
    return timedelta(seconds=options.idle_time) - (sight.now - status.last_used_time)


def _is_leaving(found: Object) -> bool:
    return found.metadata.deletion_timestamp is not None


def _said(dataset: fluid.Dataset) -> str:
    """The last of Fluid's own words."""
    words = [condition.message or condition.reason for condition in dataset.status.conditions or ()]
    return next((text for text in reversed(words) if text), "")
