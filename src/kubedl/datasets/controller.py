"""Controller of CacheBackends. It also creates CacheBackends that only a job describes.

A CacheBackend created for a job has no owner reference: the next job uses it by name, and it is deleted after its idle
time. This controller reads jobs and never writes them; the job controller reads CacheBackends and never writes them.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from kubedl.api.cachebackend import CACHE_BACKENDS, CacheBackend, CacheBackendStatus
from kubedl.api.training import BY_CACHE, TrainingJob, cache_key
from kubedl.datasets import fluid_objects
from kubedl.datasets.host_paths import NO_HOST_PATHS, HostPaths
from kubedl.datasets.plan import (
    Creation,
    Observed,
    Plan,
    Progress,
    build_status,
    not_installed,
    plan,
    plan_missing,
    uses,
)
from kubedl.kube.errors import AlreadyExistsError, ApiError, ForbiddenError, InvalidError, NotFoundError
from kubedl.kube.types.meta import Object, ObjectKey, Resource
from kubedl.runtime.events import EventRecorder, ObjectReference
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import NameConflictError, Writer

NOT_FILLED = 2.0  # seconds until a cache that is being prepared is checked again
NOT_THERE = 30.0  # seconds until Fluid is checked for again


@dataclass(frozen=True)
class Informers:
    """The informers of the controller. Some kinds may be missing in a cluster, so their reflectors are needed too."""

    backends: Store[CacheBackend]
    claims: Store[fluid_objects.Claim]
    datasets: Reflector[fluid_objects.Dataset]
    runtimes: Mapping[Resource[fluid_objects.Runtime], Reflector[fluid_objects.Runtime]]
    jobs: Mapping[Resource[TrainingJob], Reflector[TrainingJob]]  # each with the index BY_CACHE


class CacheBackendController:
    """Reconciles CacheBackends."""

    def __init__(
        self,
        informers: Informers,
        writer: Writer,
        recorder: EventRecorder,
        *,
        host_paths: HostPaths = NO_HOST_PATHS,
        clock: Callable[[], datetime],
    ) -> None:
        self._informers = informers
        self._writer = writer
        self._recorder = recorder
        self._host_paths = host_paths
        self._clock = clock

    def backend_of(self, obj: Object) -> Iterable[ObjectKey]:
        """Return the key of the CacheBackend of a Fluid object, if it exists: all have the same name."""
        if self._informers.backends.get(obj.metadata.key) is not None:
            yield obj.metadata.key

    def backend_for(self, resource: TrainingJob) -> Iterable[ObjectKey]:
        """Return the key of the CacheBackend that a job uses, whether it exists or not."""
        key = cache_key(resource)
        if key is not None:
            yield key

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one CacheBackend; returns after how many seconds to reconcile again."""
        users = [
            (resource, job)
            for resource, source in self._informers.jobs.items()
            for job in source.store.by_index(BY_CACHE, key)
            if uses(job)
        ]
        backend = self._informers.backends.get(key)
        if backend is None:
            missing = plan_missing(key, users)
            if missing is not None:
                await self._create(key, missing)
            return None
        needed = self._needed(backend)
        # A job missing from the cache would be missing from the users, and an existing Dataset would be created again.
        if not all(source.synced.is_set() or source.absent for source in (*self._informers.jobs.values(), *needed)):
            return NOT_FILLED
        installed = all(source.synced.is_set() for source in needed)
        observed = self._observe(backend, tuple(job for _, job in users), installed=installed)
        decided = plan(observed)
        await self._apply(observed, decided)
        if not installed:
            return NOT_THERE
        return decided.again.total_seconds() if decided.again is not None else None

    def _needed(
        self, backend: CacheBackend
    ) -> list[Reflector[fluid_objects.Dataset] | Reflector[fluid_objects.Runtime]]:
        chosen = fluid_objects.engine(backend)
        return [self._informers.datasets, *([self._informers.runtimes[chosen[0]]] if chosen is not None else [])]

    def _observe(self, backend: CacheBackend, users: tuple[TrainingJob, ...], *, installed: bool) -> Observed:
        key, chosen = backend.metadata.key, fluid_objects.engine(backend)
        return Observed(
            backend=backend,
            users=users,
            dataset=self._informers.datasets.store.get(key),
            runtime=self._informers.runtimes[chosen[0]].store.get(key) if chosen is not None else None,
            claim=self._informers.claims.get(key),
            installed=installed,
            now=self._clock().replace(microsecond=0),
            host_paths=self._host_paths,
        )

    async def _create(self, key: ObjectKey, decided: Creation) -> None:
        try:
            with suppress(AlreadyExistsError):  # by any creator: only the name matters
                await self._writer.client.create(CACHE_BACKENDS, key.namespace, decided.body)
        except (ForbiddenError, InvalidError) as refusal:
            message = f"cannot create CacheBackend {key.name}: {refusal.message}"
            self._recorder.event(ObjectReference.of(*decided.user), "Warning", "CacheBlocked", message)
            raise

    async def _apply(self, observed: Observed, decided: Plan) -> None:
        backend, status = observed.backend, decided.status
        refusal: ApiError | None = None
        try:
            for resource, body in decided.creations:
                await self._writer.create(backend, resource, body)
        except (ForbiddenError, InvalidError, NotFoundError, NameConflictError) as error:
            refusal = error
            status = build_status(backend, status, _refused(error), observed.now)
        await self._write_status(backend, status)
        if decided.delete:
            about = ObjectReference.of(CACHE_BACKENDS, backend)
            message = "deleted: no job used it for its idle time"
            self._recorder.event(about, "Normal", "CacheIdle", message)
            await self._writer.delete(backend, CACHE_BACKENDS, backend)
        if refusal is not None:
            raise refusal

    async def _write_status(self, backend: CacheBackend, status: CacheBackendStatus) -> None:
        written = await self._writer.write_status(CACHE_BACKENDS, backend, status)
        if not written or status.cache_status == backend.status.cache_status:
            return
        about = ObjectReference.of(CACHE_BACKENDS, backend)
        said = next(condition for condition in status.conditions if condition.type == "Ready")
        if status.cache_status == "PVCCreated":
            self._recorder.event(about, "Normal", "CacheReady", said.message)
        elif status.cache_status == "CacheFailed":
            self._recorder.event(about, "Warning", said.reason, said.message)


def _refused(error: ApiError) -> Progress:
    """Treat a kind that has just disappeared as Fluid not being installed."""
    if isinstance(error, NotFoundError):
        return not_installed(f"keeping the previous state ({error.message})")
    return Progress("CacheFailed", error.reason or "Refused", error.message)
