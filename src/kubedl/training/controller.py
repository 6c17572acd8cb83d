"""The loop around the planner: observe from caches, plan, apply. The only awaits are writes."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from kubedl.api import model_volumes
from kubedl.api.cache import CacheBackend
from kubedl.api.conditions import Condition, find, is_true, set_condition
from kubedl.api.model import MODEL_VERSIONS, ModelOutput
from kubedl.api.model_volumes import Owner
from kubedl.api.pod_template import TemplateError
from kubedl.api.training import BY_CACHE, JobStatus, TrainingJob, cache_key
from kubedl.kube.errors import AlreadyExistsError, ApiError, ForbiddenError, InvalidError
from kubedl.runtime.events import Recorder, Reference
from kubedl.runtime.store import OwnerKey, Store
from kubedl.runtime.writer import OccupiedError, Writer, merge_changes
from kubedl.training import companions, model_version, pods, services, tally, waiting
from kubedl.training.addons import tensorboard
from kubedl.training.kind import Kind
from kubedl.training.listening import Listening
from kubedl.training.nodes import NodeView
from kubedl.training.plan import Creation, Plan
from kubedl.training.planner import plan, without_version
from kubedl.training.repair import scope
from kubedl.training.snapshot import Settings, Snapshot
from kubedl.wire import codec
from kubedl.wire.core import PODS, SERVICES, Node, Pod, Service
from kubedl.wire.meta import Key

Refusal = ApiError | TemplateError
Written = Callable[[str, TrainingJob, JobStatus, datetime], None]

FIRST_BATCH = 16  # of pods; doubled while all goes well, so that a quota is not run into a thousand times


@dataclass(frozen=True)
class Caches:
    """What the controller reads. Pods and Services are found by the job that owns them."""

    jobs: Store[TrainingJob]
    pods: Store[Pod]
    services: Store[Service]
    nodes: Store[Node]
    backends: Store[CacheBackend] = field(default_factory=Store)


class JobController:
    """Reconciles the jobs of one kind."""

    def __init__(
        self,
        kind: Kind,
        caches: Caches,
        writer: Writer,
        recorder: Recorder,
        *,
        settings: Settings,
        clock: Callable[[], datetime],
        written: Written = lambda *_: None,
    ) -> None:
        """`written` is told of each status that was written, and what the job was before."""
        self.kind = kind
        self._caches = caches
        self._writer = writer
        self._recorder = recorder
        self._settings = settings
        self._clock = clock
        self._written = written
        self._nodes = NodeView(caches.nodes, settings)
        self._listening = Listening()
        self._told: set[str] = set()  # pods that were told to go while they ran, by uid

    def job_of(self, found: Pod | Service) -> Iterable[Key]:
        """The job that a pod or Service belongs to, if it is of this kind."""
        reference = found.metadata.controller
        if reference is not None and reference.kind == self.kind.kind:
            yield Key(found.metadata.namespace, reference.name)

    def jobs_on(self, node: Node) -> Iterable[Key]:
        """The jobs that have a pod on a node."""
        for pod in self._caches.pods.by("node", node.metadata.name):
            yield from self.job_of(pod)

    def jobs_using(self, backend: CacheBackend) -> Iterable[Key]:
        """The jobs of this kind that use a cache, or wait for it."""
        for job in self._caches.jobs.by(BY_CACHE, backend.metadata.key):
            yield job.metadata.key

    async def reconcile(self, key: Key) -> float | None:
        """Look at one job; returns in how many seconds to look again without being asked."""
        snapshot = self.observe(key)
        if snapshot is None:
            return None
        decided = plan(snapshot)
        if decided.inquire is not None:
            job, pod, now = snapshot.job.uid, decided.inquire, snapshot.now
            snapshot = replace(snapshot, heard=await self._listening.ask(self._writer.client, job, pod, now))
            decided = plan(snapshot)
        await self._apply(snapshot, decided)
        if decided.wake_at is None:
            return None
        return max(0.0, (decided.wake_at - self._clock()).total_seconds())

    def observe(self, key: Key) -> Snapshot | None:
        """All that is known about a job, from the caches alone."""
        made = self._caches.jobs.get(key)
        if made is None:
            return None
        name, board = made.metadata.name, tensorboard.name_of(made)
        found = tuple(pod for pod in self._caches.pods.owned_by(made) if pod.metadata.name != board)
        cache, lost, now = cache_key(made), self._nodes.lost(found), self._clock().replace(microsecond=0)
        return Snapshot(
            kind=self.kind,
            job=self.kind.job(made),
            pods=found,
            deleted=tuple(self._as_told(pod) for pod in self._caches.pods.deleted(OwnerKey.itself(made))),
            has_service=any(service.metadata.name == name for service in self._caches.services.owned_by(made)),
            lost_nodes=lost,
            now=now,
            settings=self._settings,
            cache=self._caches.backends.get(cache) if cache is not None else None,
            outage=self._nodes.outage(now) if lost else None,
            heard=self._listening.heard(made.metadata.uid),
            told_at=self._listening.told_at(made.metadata.uid),
        )

    def job_changed(self, old: TrainingJob | None, new: TrainingJob | None) -> None:
        """A job that is gone needs no memory of its pods; nor one that was resumed, of those it was suspended with.

        The status says so as soon as it is written, even where the answer to the write was lost.
        """
        if old is not None and (new is None or _is_suspended(old) > _is_suspended(new)):
            self._forget(OwnerKey.itself(old))
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._listening.forget(old.metadata.uid)

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Remember who was told to go: a quick one ends in the same second, and its last word does not say why.

        Pods mostly go after their job; then nobody will ask what became of them.
        """
        if new is not None:
            if new.metadata.deletion_grace_period_seconds and any(self.job_of(new)):
                self._told.add(new.metadata.uid)
        elif old is not None:
            for key in self.job_of(old):
                made, controller = self._caches.jobs.get(key), OwnerKey.of(old)
                if controller is not None and (made is None or made.metadata.uid != controller.uid):
                    self._forget(controller)

    def _as_told(self, pod: Pod) -> Pod:
        """The last state of a pod, with the time that it was given to go."""
        if pod.metadata.uid not in self._told:
            return pod
        meta = msgspec.structs.replace(pod.metadata, deletion_grace_period_seconds=1)
        return msgspec.structs.replace(pod, metadata=meta)

    def _forget(self, job: OwnerKey, pods: Iterable[str] | None = None) -> None:
        """Forget these deleted pods of a job, or all."""
        gone = [pod.metadata.uid for pod in self._caches.pods.deleted(job)] if pods is None else list(pods)
        self._told.difference_update(gone)
        self._caches.pods.forget(job, gone)

    async def _apply(self, snapshot: Snapshot, decided: Plan) -> None:
        made = snapshot.job.made
        for name in decided.confirm:
            await self._writer.expect_absent(made, PODS, name)
        if decided.without_model is not None:
            decided = await self._leave_model(snapshot, decided, decided.without_model)
        status = decided.status
        refusal: Refusal | None = None
        if decided.create_service or decided.creations:
            refusal = await self._create(snapshot, decided)
            if refusal is not None:
                status = tally.uncount(status, decided.creations)
            status = _blocked(status, made.metadata.generation, refusal, snapshot.now, PODS.kind)
        await self._write_status(made, waiting.refused(status, made.metadata.generation, snapshot.now))
        for event in decided.events:
            self._recorder.event(self._reference(made), event.type, event.reason, event.message)
        await _all(
            self._writer.delete(made, PODS, deletion.pod, 0 if deletion.force else None)
            for deletion in decided.deletions
        )
        if decided.delete_job:
            await self._writer.delete(made, self.kind.resource, made)
        self._forget(OwnerKey.itself(made), decided.forget)
        if isinstance(refusal, ApiError):  # a template is as bad as it is until somebody edits it
            raise refusal

    async def _leave_model(self, snapshot: Snapshot, decided: Plan, otherwise: JobStatus) -> Plan:
        """Before the job is over, so that a crash between the two is made good. Returns what is left to do."""
        made, commit = snapshot.job.made, decided.status.code_revision
        try:
            left = await model_version.leave(self._writer.client, snapshot.kind, snapshot.job, commit)
        except (ForbiddenError, InvalidError, OccupiedError) as refusal:
            status = _blocked(otherwise, made.metadata.generation, refusal, snapshot.now, MODEL_VERSIONS.kind)
            await self._write_status(made, waiting.refused(status, made.metadata.generation, snapshot.now))
            raise
        return decided if left else without_version(decided)

    async def _create(self, snapshot: Snapshot, decided: Plan) -> Refusal | None:
        made, kind, job = snapshot.job.made, snapshot.kind, snapshot.job
        work: list[Coroutine[Any, Any, object]] = []
        if decided.create_service:
            work.append(self._writer.create(made, SERVICES, services.render(kind, job)))
        work += [self._create_pod(snapshot, creation) for creation in decided.creations]
        size = FIRST_BATCH
        try:
            await self._accompany(snapshot, first=decided.create_service)
            while work:
                batch, work = work[:size], work[size:]
                await _all(batch)
                size *= 2
        except (ForbiddenError, InvalidError, OccupiedError, TemplateError) as refusal:
            return refusal
        finally:
            for unsent in work:
                unsent.close()
        return None

    async def _accompany(self, snapshot: Snapshot, *, first: bool) -> None:
        """A Service is the sign that all before it was made; not storage, which an operator of old left out."""
        kind, job = snapshot.kind, snapshot.job
        wish: ModelOutput | None = job.spec.model_version
        owner = Owner(job.namespace, job.uid, pods.owner_reference(kind, job))
        storage = wish.storage if wish is not None else None
        await model_volumes.provide(self._writer.client, storage, owner, self._settings.file_systems)
        for companion in kind.companions(job) if first else ():
            # One that is there is this very job's, by its name; so the right to read is not needed.
            with suppress(AlreadyExistsError):
                body = companions.render(kind, job, companion)
                await self._writer.client.create(companion.resource, job.namespace, body)

    async def _create_pod(self, snapshot: Snapshot, creation: Creation) -> None:
        replica, attempt, settings = creation.replica, creation.attempt, snapshot.settings
        body = pods.render(snapshot.kind, snapshot.job, replica, attempt, scope=scope(snapshot), settings=settings)
        await self._writer.create(snapshot.job.made, PODS, body)

    async def _write_status(self, made: TrainingJob, status: JobStatus) -> None:
        if status == made.status:
            return
        changes = merge_changes(codec.plain(made.status), codec.plain(status))
        if changes:
            await self._writer.patch_status(self.kind.resource, made, changes)
            self._listening.written(made.metadata.uid, made.status, status, self._clock().replace(microsecond=0))
            self._written(self.kind.kind, made, status, self._clock())

    def _reference(self, made: TrainingJob) -> Reference:
        meta, resource = made.metadata, self.kind.resource
        return Reference(resource.api_version, resource.kind, meta.namespace, meta.name, meta.uid)


def _is_suspended(made: TrainingJob) -> bool:
    return is_true(made.status.conditions, "Suspended")


def _blocked(status: JobStatus, generation: int, refusal: Refusal | None, now: datetime, kind: str) -> JobStatus:
    """Say in the status what stands in the way of creating objects of a kind, or that nothing does any more."""
    if refusal is None:
        if find(status.conditions, "Blocked") is None:
            return status
        condition = Condition(type="Blocked", status="False", reason="PodsCreated", observed_generation=generation)
        return msgspec.structs.replace(status, conditions=set_condition(status.conditions, condition, now))
    reason, message = "TemplateInvalid", str(refusal)
    if isinstance(refusal, ApiError):
        reason, message = f"{kind}{refusal.reason or 'Refused'}", refusal.message
    condition = Condition(type="Blocked", status="True", reason=reason, message=message, observed_generation=generation)
    conditions = set_condition(status.conditions, condition, now)
    return msgspec.structs.replace(status, reason=reason, conditions=conditions)


async def _all(work: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Do all of it, then raise the first error: a refusal of one must not leave the outcome of others unknown."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
