"""Controller of ScaleIns and ScaleOuts: observe from informers, plan, apply.

It reconciles names of jobs, not scalers: those of one job take turns, and after a write nothing more is planned for the
job until the caches show it. The job is written by its scale subresource, so the right to edit jobs is not needed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kubedl.api.scaling import ScaleIn, ScaleOut
from kubedl.api.training import TrainingJob
from kubedl.kube import codec
from kubedl.kube.errors import (
    ApiError,
    ConflictError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
    UnknownOutcomeError,
)
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, Record, Resource
from kubedl.runtime.events import EventRecorder, EventType, ObjectReference
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.writer import Writer, merge_patch
from kubedl.training.kind import Kind
from kubedl.training.scaling import scaler as steps
from kubedl.training.scaling.plan import Observed, Plan, Resize, plan
from kubedl.training.scaling.scaler import Scaler, Status
from kubedl.training.scaling.sizing import Target, with_replicas

BY_JOB = "job"  # index of scalers
NOT_FILLED = 2.0  # seconds until caches that are being filled are checked again
TRANSIENT = (ConflictError, NotFoundError, TooManyRequestsError, UnauthorizedError, UnknownOutcomeError)

Jobs = Mapping[Kind, Reflector[TrainingJob]]


class Scale(Record, frozen=True):
    """The scale subresource of a job, as the API server answers it."""

    metadata: ObjectMeta = ObjectMeta()


@dataclass(frozen=True)
class _Turn:
    """For whom writes are recorded: the name of a job, whether there is one or not."""

    metadata: ObjectMeta


def job_key(scaler: ScaleIn | ScaleOut) -> ObjectKey:
    """Return the key of the job that a scaler names."""
    return ObjectKey(scaler.metadata.namespace, scaler.spec.selector.name)


def job_keys(scaler: ScaleIn | ScaleOut) -> Iterable[ObjectKey]:
    """Return the same as a list, for watches."""
    return (job_key(scaler),)


class ScalerController:
    """Reconciles the scalers of a job, by the job's name."""

    def __init__(
        self,
        scalers: tuple[Reflector[Any], ...],
        jobs: Jobs,
        pods: Reflector[Pod],
        writer: Writer,
        recorder: EventRecorder,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._scalers = scalers
        self._jobs = jobs
        self._pods = pods
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    def scaled_job(self, job: TrainingJob) -> Iterator[ObjectKey]:
        """Return the key of a job that has scalers."""
        key = job.metadata.key
        if any(source.store.by_index(BY_JOB, key) for source in self._scalers):
            yield key

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Do the next step for the scalers of a job; returns after how many seconds to reconcile again."""
        scalers = tuple(
            Scaler(source.resource, body) for source in self._scalers for body in source.store.by_index(BY_JOB, key)
        )
        if not scalers:
            return None
        sources: tuple[Reflector[Any], ...] = (self._pods, *self._jobs.values())
        if not all(source.synced.is_set() or source.absent for source in sources):
            return NOT_FILLED
        now = self._clock().replace(microsecond=0)
        observed = Observed(key.name, scalers, tuple(self._targets(key)), now)
        decided = plan(observed)
        if decided.inquire:
            await self._inquire(key)
            decided = plan(replace(observed, inquired=True))
        await self._apply(key, decided, now)
        if decided.wake_at is None:
            return None
        return max(0.0, (decided.wake_at - self._clock()).total_seconds())

    def _targets(self, key: ObjectKey) -> Iterator[Target]:
        for kind, source in self._jobs.items():
            job = source.store.get(key)
            if job is not None:
                yield Target(kind, kind.job(job), tuple(self._pods.store.owned_by(job)))

    async def _inquire(self, key: ObjectKey) -> None:
        """Raise ConflictError if the API server has a job of the name that the cache has not, or another version."""
        for kind, source in self._jobs.items():
            known = source.store.get(key)
            try:
                found = await self._writer.client.get(kind.resource, key)
            except NotFoundError:
                if known is None:
                    continue
                raise ConflictError(409, "CacheBehind", f"{kind.kind} {key} was deleted") from None
            version = found.metadata.resource_version
            if known is None or known.metadata.resource_version != version:
                self._writer.expect(_turn(key), kind.resource, version)
                raise ConflictError(409, "CacheBehind", f"{kind.kind} {key} is not in the cache yet")

    async def _apply(self, key: ObjectKey, decided: Plan, now: datetime) -> None:
        scaler, status = decided.scaler, decided.status
        if scaler is None:
            return
        if decided.resize is not None:
            try:
                await self._resize(key, decided.resize)
            except TRANSIENT:
                raise
            except ApiError as error:  # by a policy of the cluster
                refused = steps.failed(scaler, "ResizeRefused", error.message, now)
                status = with_replicas(refused, decided.resize.target)
        if status is not None:
            await self._write(key, scaler, status)

    async def _resize(self, key: ObjectKey, resize: Resize) -> None:
        target, of = resize.target, resize.target.kind.resource
        scale = Resource(Scale, of.kind, of.plural, of.version, of.group)
        found = Scale(metadata=target.job.resource.metadata)
        changes = {"spec": {"replicas": resize.replicas}}
        written = await self._writer.patch(_turn(key), scale, found, changes, subresource="scale")
        self._writer.expect(_turn(key), of, written.metadata.resource_version)

    async def _write(self, key: ObjectKey, scaler: Scaler, status: Status) -> None:
        """Write the status over the version that it was computed from."""
        changes = {"status": merge_patch(codec.plain(scaler.status), codec.plain(status))}
        await self._writer.patch(_turn(key), scaler.resource, scaler.body, changes, subresource="status")
        last = status.conditions[-1]
        if last.type in (steps.SUCCEEDED, steps.FAILED):
            about = ObjectReference.of(scaler.resource, scaler.body)
            kind: EventType = "Normal" if last.type == steps.SUCCEEDED else "Warning"
            self._recorder.event(about, kind, last.reason, last.message)


def _turn(key: ObjectKey) -> _Turn:
    return _Turn(ObjectMeta(namespace=key.namespace, name=key.name))
