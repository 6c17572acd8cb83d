"""Controller of Crons: observe from informers, plan, apply."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec

from kubedl.api.conditions import find, turned
from kubedl.api.cron import CRONS, Cron, CronStatus
from kubedl.api.training import TrainingJob
from kubedl.cron.plan import READY, Observed, Plan, Reason, plan, with_reason
from kubedl.cron.runs import Run, run_body
from kubedl.kube import codec
from kubedl.kube.errors import (
    ApiError,
    ConflictError,
    NamespaceTerminatingError,
    TooManyRequestsError,
    UnknownOutcomeError,
)
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.events import EventRecorder, EventType, ObjectReference
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer, merge_patch

NOT_FILLED = 2.0  # seconds until caches that are being filled are checked again
QUIET = ("Scheduled",)  # reasons that need no event
EXPECTED = ("CronSuspended", "DeadlineReached")  # reasons that the user asked for
REFUSED = "RunRefused"
SELDOM = timedelta(minutes=1)  # between messages about a refused run
TRANSIENT = (ConflictError, NamespaceTerminatingError, TooManyRequestsError)

Jobs = Mapping[Resource[TrainingJob], Reflector[TrainingJob]]


class CronController:
    """Reconciles Crons."""

    def __init__(
        self,
        crons: Store[Cron],
        jobs: Jobs,
        writer: Writer,
        recorder: EventRecorder,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._crons = crons
        self._jobs = jobs
        self._kinds = {resource.kind: resource for resource in jobs}
        self._writer = writer
        self._recorder = recorder
        self._clock = clock
        self.told: dict[ObjectKey, datetime] = {}  # when the message about a refused run was last written

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one Cron; returns after how many seconds to reconcile again."""
        cron = self._crons.get(key)
        if cron is None:
            self.told.pop(key, None)
            return None
        if not all(source.synced.is_set() or source.absent for source in self._jobs.values()):
            return NOT_FILLED
        observed = self._observe(cron)
        decided = plan(observed)
        if decided.inquire:
            for entry in decided.inquire:  # raises if one exists, and waits for the cache
                await self._writer.confirm_deleted(cron, self._kinds[entry.kind], entry.name)
            decided = plan(replace(observed, absent=frozenset(decided.inquire)))
        await self._apply(observed, decided)
        if decided.wake_at is None:
            return None
        return max(0.0, (decided.wake_at - self._clock()).total_seconds())

    def _observe(self, cron: Cron) -> Observed:
        runs = (Run(resource, job) for resource, source in self._jobs.items() for job in source.store.owned_by(cron))
        return Observed(cron, tuple(runs), self._kinds, self._clock().replace(microsecond=0))

    async def _apply(self, observed: Observed, decided: Plan) -> None:
        cron, status = observed.cron, decided.status
        # Written first, even if nothing changes: a conflict tells that the cache is behind, and the run not due.
        if decided.create is not None or decided.replace:
            claim = msgspec.structs.replace(status, conditions=cron.status.conditions)
            cron = await self._write(cron, claim, always=True)
        refusal: ApiError | None = None
        if decided.create is not None:
            try:
                await self._create(observed.cron, decided.create)
            except ApiError as error:
                if isinstance(error, TRANSIENT) or (isinstance(error, UnknownOutcomeError) and not error.reason):
                    raise  # nothing that a user could fix
                refusal = error
                claimed = msgspec.structs.replace(status, conditions=observed.cron.status.conditions)
                said = Reason("False", REFUSED, self._message(cron, error.message, observed.now))
                status = with_reason(cron, claimed, said, observed.now)
        cron = await self._write(cron, status)
        self._report(observed.cron, status)
        for run in decided.replace:
            await self._writer.delete(cron, run.resource, run.job, propagation="Foreground")
            self._event(cron, "Normal", "RunReplaced", f"deleted {run.name}, since the next run is due")
        for run in decided.expire:
            await self._writer.delete(cron, run.resource, run.job)
        if refusal is not None:
            raise refusal

    def _message(self, cron: Cron, message: str, now: datetime) -> str:
        """Return what is said about a refused run.

        Each write of the status has the run tried again at once. So a message that differs at each try, such as by the
        port of a connection, is written seldom.
        """
        key, old = cron.metadata.key, find(cron.status.conditions, READY)
        known = old is not None and (old.reason, old.observed_generation) == (REFUSED, cron.metadata.generation)
        if old is not None and known and key in self.told and abs(now - self.told[key]) < SELDOM:
            return old.message
        self.told[key] = now
        return message

    async def _create(self, cron: Cron, scheduled: datetime) -> None:
        body = run_body(cron, scheduled)
        made = await self._writer.create(cron, self._kinds[body["kind"]], body)
        self._event(cron, "Normal", "RunCreated", f"created {body['kind']} {made.metadata.name}")

    async def _write(self, cron: Cron, status: CronStatus, *, always: bool = False) -> Cron:
        """Write the status over the version that it was computed from; returns the Cron with it."""
        changes = merge_patch(codec.plain(cron.status), codec.plain(status))
        return await self._writer.patch_status(CRONS, cron, changes) if changes or always else cron

    def _report(self, cron: Cron, status: CronStatus) -> None:
        """Record an Event when the reason changes."""
        now = turned(cron.status.conditions, status.conditions, READY)
        if now is not None and now.reason not in QUIET:
            wanted = now.status == "True" or now.reason in EXPECTED
            self._event(cron, "Normal" if wanted else "Warning", now.reason, now.message)

    def _event(self, cron: Cron, type_: EventType, reason: str, message: str) -> None:
        self._recorder.event(ObjectReference.of(CRONS, cron), type_, reason, message)
