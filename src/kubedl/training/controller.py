"""Controller of training jobs: observe from informers, plan, apply."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from kubedl.api.conditions import find, turned
from kubedl.api.model import MODEL_VERSIONS
from kubedl.api.training import JobStatus, TrainingJob, is_managed_elsewhere
from kubedl.kube.errors import ApiError, NamespaceTerminatingError
from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.concurrency import for_each
from kubedl.runtime.events import EventRecorder, ObjectReference
from kubedl.runtime.store import OwnerKey
from kubedl.runtime.writer import Writer
from kubedl.training import blocked, creation, labels, model_version, replica_status, waiting
from kubedl.training.blocked import Refusal
from kubedl.training.creation_backoff import CreationBackoff
from kubedl.training.ending import without_version
from kubedl.training.gang.retries import GangRetries
from kubedl.training.informers import Informers
from kubedl.training.kind import Kind
from kubedl.training.kueue.observation import is_undecided
from kubedl.training.observed import Observed, Settings
from kubedl.training.observer import Observer
from kubedl.training.plan import Plan
from kubedl.training.planner import plan

Written = Callable[[str, TrainingJob, JobStatus, datetime], None]

ASKED_AT_ONCE = 32
LOADING = 0.5  # seconds until the caches of Kueue are looked at again, at the start
LOOK_AT_HIDDEN = timedelta(seconds=30)


class JobController:
    """Reconciles the jobs of one kind."""

    def __init__(
        self,
        kind: Kind,
        informers: Informers,
        writer: Writer,
        recorder: EventRecorder,
        *,
        settings: Settings,
        clock: Callable[[], datetime],
        written: Written = lambda *_: None,
    ) -> None:
        """`written` is called with each status that was written, and the job before it."""
        self.kind = kind
        self.observer = Observer(kind, informers, settings, clock)
        self._waiting_memory = self.observer.waiting_memory
        self._informers = informers
        self._writer = writer
        self._recorder = recorder
        self._clock = clock
        self._written = written
        self._backoff = CreationBackoff()
        self._gang_retries = GangRetries()
        self._hidden: dict[ObjectKey, tuple[datetime, tuple[Pod, ...]]] = {}  # with the time of the last lookup

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one job; returns after how many seconds to reconcile again."""
        resource = self._informers.jobs.get(key)
        if resource is not None and is_managed_elsewhere(resource):
            return None
        if resource is not None and is_undecided(resource, self._informers):
            return LOADING
        observed = self.observer.observe(key)
        if observed is None:
            self._backoff.release(key)
            self._hidden.pop(key, None)
            return None
        terminating = self._backoff.terminating_until(observed.job.resource.metadata, self._clock())
        if terminating is not None:
            return (terminating - self._clock()).total_seconds()
        observed, decided = await self._confirm(observed, plan(observed))
        if decided.inquire is not None:
            job, pod, now = observed.job.uid, decided.inquire, observed.now
            observed = replace(observed, heard=await self._waiting_memory.ask(self._writer.client, job, pod, now))
            decided = plan(observed)
        await self._apply(observed, decided)
        self._ask(observed.job.uid, decided)
        if decided.retry is not None:
            await self._gang_retries.retry(self._writer.client, observed.job.namespace, decided.retry, observed.now)
        moments = [decided.wake_at, self._backoff.until(observed.job.resource.metadata, self._clock())]
        moments += [self._hidden[key][0] + LOOK_AT_HIDDEN] if key in self._hidden else []
        soonest = min((moment for moment in moments if moment is not None), default=None)
        return max(0.0, (soonest - self._clock()).total_seconds()) if soonest is not None else None

    def _ask(self, uid: str, decided: Plan) -> None:
        """Ask the program of a job what its plan wants to know; answers that nobody waits for are forgotten."""
        if decided.ask is not None:
            self._informers.asker.ask(uid, decided.ask)
        else:
            self._informers.asker.forget(uid)
        if decided.report is not None:
            self._informers.reports.ask(uid, decided.report)
        else:
            self._informers.reports.stop(uid)

    async def _confirm(self, observed: Observed, decided: Plan) -> tuple[Observed, Plan]:
        """Look up pods missing from the cache. A pod that only lost its label still belongs to the job."""
        resource, key, now = observed.job.resource, observed.job.resource.metadata.key, observed.now
        at, known_pods = self._hidden.get(key, (now, ()))
        known = {pod.metadata.name: pod for pod in known_pods} if now - at < LOOK_AT_HIDDEN else {}
        unknown = [name for name in decided.confirm if name not in known]
        found = await for_each(
            lambda name: self._writer.confirm_deleted(resource, PODS, name, labels.JOB_NAME), unknown, ASKED_AT_ONCE
        )
        hidden = [known[name] for name in decided.confirm if name in known] + [pod for pod in found if pod is not None]
        if not hidden:
            self._hidden.pop(key, None)
            return observed, decided
        self._hidden[key] = at if known else now, tuple(hidden)
        uids = {pod.metadata.uid for pod in hidden}
        deleted = tuple(pod for pod in observed.deleted if pod.metadata.uid not in uids)
        observed = replace(observed, pods=(*observed.pods, *hidden), deleted=deleted)
        return observed, plan(observed)

    async def _apply(self, observed: Observed, decided: Plan) -> None:
        resource = observed.job.resource
        held = self._backoff.until(observed.job.resource.metadata, self._clock()) is not None
        if decided.without_model is not None:
            if held:
                status = self._explained(resource, blocked.waiting(decided.without_model), observed.now)
                await self._write_status(resource, status)
                return
            decided = await self._create_model_version(observed, decided, decided.without_model)
        status = decided.status
        refusal: Refusal | None = None
        if held and decided.creates:
            status = blocked.waiting(replica_status.uncount(status, decided.creations))
        elif decided.creates:
            created, refusal = await creation.create(self._writer, observed, decided)
            status = waiting.begun(observed, self._status_after_creation(observed, decided, refusal), created)
        status = self._explained(resource, status, observed.now)
        await self._write_status(resource, status)
        for event in decided.events:
            self._recorder.event(self._reference(resource), event.type, event.reason, event.message)
        self._record_blocked(resource, status)
        await for_each(
            lambda deletion: self._writer.delete(resource, PODS, deletion.pod, 0 if deletion.force else None),
            decided.deletions,
        )
        if decided.delete_job:
            await self._writer.delete(resource, self.kind.resource, resource)
        self.observer.forget(OwnerKey.of_owner(resource), decided.forget)
        if isinstance(refusal, ApiError):  # an invalid template needs an edit, not a retry
            raise refusal

    async def _create_model_version(self, observed: Observed, decided: Plan, otherwise: JobStatus) -> Plan:
        """Create the ModelVersion before the job is finished, so that a crash in between is safe. Returns the rest."""
        resource, commit = observed.job.resource, decided.status.code_revision
        try:
            left = await model_version.create_model_version(self._writer.client, observed.kind, observed.job, commit)
        except ApiError as refusal:
            status = self._refused(observed, otherwise, refusal, MODEL_VERSIONS.kind)
            status = waiting.refused(status, resource.metadata.generation, observed.now)
            await self._write_status(resource, status)
            self._record_blocked(resource, status)
            raise
        return decided if left else without_version(decided)

    def _status_after_creation(self, observed: Observed, decided: Plan, refusal: Refusal | None) -> JobStatus:
        """Return the status after creations: without pods that were not created, and with the reason."""
        if refusal is not None:
            return self._refused(
                observed, replica_status.uncount(decided.status, decided.creations), refusal, PODS.kind
            )
        resource = observed.job.resource
        self._backoff.release(resource.metadata.key)
        return blocked.without_blocked(decided.status, resource.metadata.generation, observed.now)

    def _refused(self, observed: Observed, status: JobStatus, refusal: Refusal, kind: str) -> JobStatus:
        meta, before = observed.job.resource.metadata, find(status.conditions, blocked.BLOCKED)
        if isinstance(refusal, NamespaceTerminatingError):
            self._backoff.record_terminating(meta.namespace, self._clock())
        if isinstance(refusal, NamespaceTerminatingError) or blocked.is_no_answer(refusal):
            return blocked.waiting(status)
        reason, message = blocked.refusal_reason(refusal, kind)
        if before is not None and (before.status, before.reason) == ("True", reason):
            message = self._backoff.throttled_message(meta, message, self._clock())
        if isinstance(refusal, ApiError):
            self._backoff.record_refusal(meta, message, self._clock())
        return blocked.with_blocked(status, meta.generation, (reason, message), observed.now)

    def _explained(self, resource: TrainingJob, status: JobStatus, now: datetime) -> JobStatus:
        """Return the status with what the job waits for, and with pods that no watch shows."""
        if not blocked.by_hidden(status):
            status = waiting.refused(status, resource.metadata.generation, now)
        _, hidden = self._hidden.get(resource.metadata.key, (None, ()))
        return blocked.with_hidden(status, resource.metadata.generation, hidden, now)

    def _record_blocked(self, resource: TrainingJob, status: JobStatus) -> None:
        """Record an Event when the reason of Blocked changes."""
        now = turned(resource.status.conditions, status.conditions, blocked.BLOCKED)
        if now is not None and now.status == "True":
            self._recorder.event(self._reference(resource), "Warning", now.reason, now.message)

    async def _write_status(self, resource: TrainingJob, status: JobStatus) -> None:
        if status == resource.status:
            return
        if await self._writer.write_status(self.kind.resource, resource, status):
            self._waiting_memory.written(
                resource.metadata.uid, resource.status, status, self._clock().replace(microsecond=0)
            )
            self._written(self.kind.kind, resource, status, self._clock())

    def _reference(self, resource: TrainingJob) -> ObjectReference:
        return ObjectReference.of(self.kind.resource, resource)
