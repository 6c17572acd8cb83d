"""The loop around the planner: observe from caches, plan, apply. The only awaits are writes."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import msgspec

from kubedl.api.cache import CacheBackend
from kubedl.api.conditions import find, is_true
from kubedl.api.model import MODEL_VERSIONS
from kubedl.api.training import BY_CACHE, JobStatus, TrainingJob, cache_key
from kubedl.kube.errors import ApiError
from kubedl.runtime.events import Recorder, Reference
from kubedl.runtime.store import OwnerKey, Store
from kubedl.runtime.together import each
from kubedl.runtime.writer import Writer, merge_changes
from kubedl.training import blocked, creation, labels, model_version, tally, waiting
from kubedl.training.addons import tensorboard
from kubedl.training.blocked import Refusal
from kubedl.training.hold import Holds
from kubedl.training.kind import Kind
from kubedl.training.listening import Listening
from kubedl.training.nodes import NodeView
from kubedl.training.plan import Plan
from kubedl.training.planner import plan, without_version
from kubedl.training.snapshot import Settings, Snapshot
from kubedl.wire import codec
from kubedl.wire.core import PODS, Node, Pod, Service
from kubedl.wire.meta import Key

Written = Callable[[str, TrainingJob, JobStatus, datetime], None]

ASKED_AT_ONCE = 32
LOOK_AT_HIDDEN = timedelta(seconds=30)
MOST_TOLD = 50_000


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
        self._told: OrderedDict[str, None] = OrderedDict()  # pods that were told to go while they ran, by uid
        self._holds = Holds()
        self._hidden: dict[Key, tuple[datetime, tuple[Pod, ...]]] = {}  # when they were looked at last

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
            self._holds.release(key)
            self._hidden.pop(key, None)
            return None
        snapshot, decided = await self._confirm(snapshot, plan(snapshot))
        if decided.inquire is not None:
            job, pod, now = snapshot.job.uid, decided.inquire, snapshot.now
            snapshot = replace(snapshot, heard=await self._listening.ask(self._writer.client, job, pod, now))
            decided = plan(snapshot)
        await self._apply(snapshot, decided)
        moments = [decided.wake_at, self._holds.until(snapshot.job.made.metadata, self._clock())]
        moments += [self._hidden[key][0] + LOOK_AT_HIDDEN] if key in self._hidden else []
        soonest = min((moment for moment in moments if moment is not None), default=None)
        return max(0.0, (soonest - self._clock()).total_seconds()) if soonest is not None else None

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
                self._told[new.metadata.uid] = None
                if len(self._told) > MOST_TOLD:  # a standby forgets none by itself
                    self._told.popitem(last=False)
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
        for uid in gone:
            self._told.pop(uid, None)
        self._caches.pods.forget(job, gone)

    async def _confirm(self, snapshot: Snapshot, decided: Plan) -> tuple[Snapshot, Plan]:
        """Ask the server about pods that no cache has. One that only lost its label is the job's as before."""
        made, key, now = snapshot.job.made, snapshot.job.made.metadata.key, snapshot.now
        at, seen = self._hidden.get(key, (now, ()))
        known = {pod.metadata.name: pod for pod in seen} if now - at < LOOK_AT_HIDDEN else {}
        unknown = [name for name in decided.confirm if name not in known]
        found = await each(
            lambda name: self._writer.expect_absent(made, PODS, name, labels.JOB_NAME), unknown, ASKED_AT_ONCE
        )
        hidden = [known[name] for name in decided.confirm if name in known] + [pod for pod in found if pod is not None]
        if not hidden:
            self._hidden.pop(key, None)
            return snapshot, decided
        self._hidden[key] = at if known else now, tuple(hidden)
        uids = {pod.metadata.uid for pod in hidden}
        deleted = tuple(pod for pod in snapshot.deleted if pod.metadata.uid not in uids)
        snapshot = replace(snapshot, pods=(*snapshot.pods, *hidden), deleted=deleted)
        return snapshot, plan(snapshot)

    async def _apply(self, snapshot: Snapshot, decided: Plan) -> None:
        made, held = snapshot.job.made, self._holds.until(snapshot.job.made.metadata, self._clock()) is not None
        if decided.without_model is not None:
            if held:
                status = self._explained(made, blocked.waiting(decided.without_model), snapshot.now)
                await self._write_status(made, status)
                return
            decided = await self._leave_model(snapshot, decided, decided.without_model)
        status = decided.status
        refusal: Refusal | None = None
        if held and (decided.create_service or decided.creations):
            status = blocked.waiting(tally.uncount(status, decided.creations))
        elif decided.create_service or decided.creations:
            refusal = await creation.create(self._writer, snapshot, decided)
            status = self._judged(snapshot, decided, refusal)
        status = self._explained(made, status, snapshot.now)
        await self._write_status(made, status)
        for event in decided.events:
            self._recorder.event(self._reference(made), event.type, event.reason, event.message)
        self._tell_blocked(made, status)
        await each(lambda one: self._writer.delete(made, PODS, one.pod, 0 if one.force else None), decided.deletions)
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
        except ApiError as refusal:
            status = self._refused(snapshot, otherwise, refusal, MODEL_VERSIONS.kind)
            status = waiting.refused(status, made.metadata.generation, snapshot.now)
            await self._write_status(made, status)
            self._tell_blocked(made, status)
            raise
        return decided if left else without_version(decided)

    def _judged(self, snapshot: Snapshot, decided: Plan, refusal: Refusal | None) -> JobStatus:
        """The status after creations: what was not made is not counted, and people read why."""
        if refusal is not None:
            return self._refused(snapshot, tally.uncount(decided.status, decided.creations), refusal, PODS.kind)
        made = snapshot.job.made
        self._holds.release(made.metadata.key)
        return blocked.cleared(decided.status, made.metadata.generation, snapshot.now)

    def _refused(self, snapshot: Snapshot, status: JobStatus, refusal: Refusal, kind: str) -> JobStatus:
        if blocked.is_silence(refusal):
            return blocked.waiting(status)
        meta, before = snapshot.job.made.metadata, find(status.conditions, blocked.BLOCKED)
        reason, message = blocked.outcome(refusal, kind)
        if before is not None and (before.status, before.reason) == ("True", reason):
            message = self._holds.words(meta, message, self._clock())
        if isinstance(refusal, ApiError):
            self._holds.refuse(meta, message, self._clock())
        return blocked.stated(status, meta.generation, (reason, message), snapshot.now)

    def _explained(self, made: TrainingJob, status: JobStatus, now: datetime) -> JobStatus:
        """The status with what a job waits for, and with the pods that no watch shows."""
        if not blocked.by_hidden(status):
            status = waiting.refused(status, made.metadata.generation, now)
        _, hidden = self._hidden.get(made.metadata.key, (None, ()))
        return blocked.with_hidden(status, made.metadata.generation, hidden, now)

    def _tell_blocked(self, made: TrainingJob, status: JobStatus) -> None:
        """An event when something new stands in the way."""
        before, now = (find(one.conditions, blocked.BLOCKED) for one in (made.status, status))
        if now is None or now.status != "True":
            return
        if before is None or (before.status, before.reason) != (now.status, now.reason):
            self._recorder.event(self._reference(made), "Warning", now.reason, now.message)

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
