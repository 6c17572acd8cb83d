"""The loop around the decision about a CacheBackend, and the making of those that only a job describes.

A backend that a job describes belongs to nobody: the next job uses it by its name, and its idle time ends it. Jobs are
read and never written here; the engine of jobs reads backends and never writes them.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from kubedl.api.cache import CACHE_BACKENDS, GROUP, CacheBackend, CacheBackendStatus
from kubedl.api.training import BY_CACHE, TrainingJob, cache_key
from kubedl.cache import fluid
from kubedl.cache.host_paths import NO_HOST_PATHS, HostPaths
from kubedl.cache.plan import Decision, Progress, Sight, decide, not_installed, stated, uses
from kubedl.kube.errors import AlreadyExistsError, ApiError, ForbiddenError, InvalidError, NotFoundError
from kubedl.runtime.events import Recorder, Reference
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import OccupiedError, Writer, merge_changes
from kubedl.schema.rbac import FOLLOW, READ, Grant
from kubedl.wire import codec
from kubedl.wire.meta import Key, Object, Resource

NOT_FILLED = 2.0  # seconds until a cache that is being filled is looked at again
NOT_THERE = 30.0  # seconds until Fluid is looked for again

GRANTS = (
    Grant(
        GROUP, ("cachebackends",), (*FOLLOW, "create", "delete"), "Follow caches, make those of jobs, end idle ones."
    ),
    Grant(GROUP, ("cachebackends/status",), ("patch",), "Say how caches are."),
    Grant(GROUP, ("cachebackends/finalizers",), ("update",), "Own what belongs to a cache."),
    Grant(
        fluid.GROUP,
        tuple(resource.plural for resource in (fluid.DATASETS, *fluid.RUNTIMES)),
        (*READ, "create"),
        "Have Fluid cache.",
    ),
    Grant("", ("persistentvolumeclaims",), FOLLOW, "See when pods can mount a cache."),
)


@dataclass(frozen=True)
class Caches:
    """What the controller reads. Some kinds may be missing in a cluster, so their reflectors are asked too."""

    backends: Store[CacheBackend]
    claims: Store[fluid.Claim]
    datasets: Reflector[fluid.Dataset]
    runtimes: Mapping[Resource[fluid.Runtime], Reflector[fluid.Runtime]]
    jobs: Mapping[Resource[TrainingJob], Reflector[TrainingJob]]  # each with the index BY_CACHE


class CacheController:
    """Reconciles CacheBackends."""

    def __init__(
        self,
        caches: Caches,
        writer: Writer,
        recorder: Recorder,
        *,
        host_paths: HostPaths = NO_HOST_PATHS,
        clock: Callable[[], datetime],
    ) -> None:
        self._caches = caches
        self._writer = writer
        self._recorder = recorder
        self._host_paths = host_paths
        self._clock = clock

    def backend_of(self, found: Object) -> Iterable[Key]:
        """The backend that an object of Fluid's stands for, if there is one: all of them have one name."""
        if self._caches.backends.get(found.metadata.key) is not None:
            yield found.metadata.key

    def backend_for(self, made: TrainingJob) -> Iterable[Key]:
        """The backend that a job asks for, whether it is there or not."""
        key = cache_key(made)
        if key is not None:
            yield key

    async def reconcile(self, key: Key) -> float | None:
        """Look at one backend; returns in how many seconds to look again without being asked."""
        users = [
            (resource, job)
            for resource, source in self._caches.jobs.items()
            for job in source.store.by(BY_CACHE, key)
            if uses(job)
        ]
        backend = self._caches.backends.get(key)
        if backend is None:
            await self._make(key, users)
            return None
        needed = self._needed(backend)
        # A job that is not seen yet would be missed among the users, and a Dataset would be made that is there.
        if not all(source.synced.is_set() or source.absent for source in (*self._caches.jobs.values(), *needed)):
            return NOT_FILLED
        installed = all(source.synced.is_set() for source in needed)
        sight = self._observe(backend, tuple(job for _, job in users), installed=installed)
        decided = decide(sight)
        await self._apply(sight, decided)
        if not installed:
            return NOT_THERE
        return decided.again.total_seconds() if decided.again is not None else None

    def _needed(self, backend: CacheBackend) -> list[Reflector[fluid.Dataset] | Reflector[fluid.Runtime]]:
        chosen = fluid.engine(backend)
        return [self._caches.datasets, *([self._caches.runtimes[chosen[0]]] if chosen is not None else [])]

    def _observe(self, backend: CacheBackend, users: tuple[TrainingJob, ...], *, installed: bool) -> Sight:
        key, chosen = backend.metadata.key, fluid.engine(backend)
        return Sight(
            backend=backend,
            users=users,
            dataset=self._caches.datasets.store.get(key),
            runtime=self._caches.runtimes[chosen[0]].store.get(key) if chosen is not None else None,
            claim=self._caches.claims.get(key),
            installed=installed,
            now=self._clock().replace(microsecond=0),
            host_paths=self._host_paths,
        )

    async def _make(self, key: Key, users: list[tuple[Resource[TrainingJob], TrainingJob]]) -> None:
        """A backend as the first of its users that can describes it."""
        able = [(resource, job) for resource, job in users if job.spec.cache_backend.dataset is not None]
        if not able:
            return
        resource, first = min(able, key=lambda one: (str(one[1].metadata.creation_timestamp), one[1].metadata.name))
        body = {
            "apiVersion": CACHE_BACKENDS.api_version,
            "kind": CACHE_BACKENDS.kind,
            "metadata": {"name": key.name, "namespace": key.namespace},
            "spec": codec.plain(first.spec.cache_backend),
        }
        try:
            with suppress(AlreadyExistsError):  # whoever made it: the name is what was asked for
                await self._writer.client.create(CACHE_BACKENDS, key.namespace, body)
        except (ForbiddenError, InvalidError) as refusal:
            message = f"CacheBackend {key.name} cannot be made: {refusal.message}"
            self._tell(resource, first, "CacheBlocked", message)
            raise

    async def _apply(self, sight: Sight, decided: Decision) -> None:
        backend, status = sight.backend, decided.status
        refusal: ApiError | None = None
        try:
            for resource, body in decided.creations:
                await self._writer.create(backend, resource, body)
        except (ForbiddenError, InvalidError, NotFoundError, OccupiedError) as error:
            refusal = error
            status = stated(backend, status, _refused(error), sight.now)
        await self._write_status(backend, status)
        if decided.delete:
            self._tell(
                CACHE_BACKENDS, backend, "CacheIdle", "no job used it for its idle time: it is deleted", "Normal"
            )
            await self._writer.delete(backend, CACHE_BACKENDS, backend)
        if refusal is not None:
            raise refusal

    async def _write_status(self, backend: CacheBackend, status: CacheBackendStatus) -> None:
        changes = merge_changes(codec.plain(backend.status), codec.plain(status))
        if not changes:
            return
        await self._writer.patch_status(CACHE_BACKENDS, backend, changes)
        if status.cache_status == backend.status.cache_status:
            return
        said = next(condition for condition in status.conditions if condition.type == "Ready")
        if status.cache_status == "PVCCreated":
            self._tell(CACHE_BACKENDS, backend, "CacheReady", said.message, "Normal")
        elif status.cache_status == "CacheFailed":
            self._tell(CACHE_BACKENDS, backend, said.reason, said.message)

    def _tell(
        self,
        resource: Resource[CacheBackend] | Resource[TrainingJob],
        about: Object,
        reason: str,
        message: str,
        kind: Literal["Normal", "Warning"] = "Warning",
    ) -> None:
        meta = about.metadata
        reference = Reference(resource.api_version, resource.kind, meta.namespace, meta.name, meta.uid)
        self._recorder.event(reference, kind, reason, message)


def _refused(error: ApiError) -> Progress:
    """A kind that was there a moment ago and is not any more is a Fluid that is not installed."""
    if isinstance(error, NotFoundError):
        return not_installed(f"what it knew before ({error.message})")
    return Progress("CacheFailed", error.reason or "Refused", error.message)
