"""The database of the history as the console asks it. Nothing is written, and its failures are words for people.

What a person may see is a part of each query: every method takes it, and none can be asked without.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from kubedl.console.history_source import Range, Wanted
from kubedl.console.problems import RefusalError
from kubedl.console.shared_answers import SharedAnswers
from kubedl.history.engine import failures
from kubedl.history.queries.answers import (
    JobDetail,
    JobPage,
    JobSummary,
    ReceiptLineRecord,
    ReceiptRecord,
    SpendRow,
    Trained,
    WasteRow,
)
from kubedl.history.queries.cursor import InvalidCursorError
from kubedl.history.queries.jobs import JobFilter, get_job, get_summary, list_jobs
from kubedl.history.queries.lineage import trained
from kubedl.history.queries.logs import LogRecord, list_logs
from kubedl.history.queries.places import kinds_of_jobs, namespaces_of_jobs, places_of_receipts
from kubedl.history.queries.scope import Scope
from kubedl.history.queries.spend import get_receipt, receipt_parts, spend, waste
from kubedl.history.queries.waits import Alike, waits

PAGE = 100
MOST_LOOKED_AT = 500  # jobs that succeeded, for the last one of a name
KNOWN_SECONDS = 60.0  # for which it is remembered where there are jobs; new places are seen later, never too early
TRAINED_SECONDS = 30.0  # for which jobs that were deleted are remembered, and which were not recorded
MOST_ASKED, MOST_TRAINED = 20, 500  # questions about such jobs: at a time, and remembered
Allowed = Mapping[str, frozenset[str] | None]  # namespaces by kind; None: all
Places = Mapping[str, frozenset[str]]  # namespaces by kind
Jobs = Mapping[str, Trained]  # by uid
_Asked = tuple[frozenset[tuple[str, frozenset[str] | None]], frozenset[str]]  # where the caller may see jobs, and which

log = structlog.get_logger()


@dataclass(frozen=True)
class PastJob:
    """All that is recorded about a job."""

    detail: JobDetail
    logs: Sequence[LogRecord]
    receipt: ReceiptRecord | None
    lines: Sequence[ReceiptLineRecord]


@dataclass(frozen=True)
class JobLogs:
    """Where the logs of a job's pods are."""

    name: str
    logs: Sequence[LogRecord]


@dataclass(frozen=True)
class Spent:
    """What was used in some days: by group, and which time was lost."""

    groups: Mapping[str, Sequence[SpendRow]]
    waste: Sequence[WasteRow]


@dataclass
class HistoryReader:
    """The rows of one cluster; `only` limits them to one namespace."""

    engine: AsyncEngine
    cluster: str
    only: str = ""
    clock: Callable[[], float] = monotonic
    _known: dict[Range | None, tuple[Places, float]] = field(default_factory=dict)
    _trained: SharedAnswers[_Asked, Jobs] = field(init=False)

    def __post_init__(self) -> None:
        busy = "too much is asked of its database"
        self._trained = SharedAnswers(self.clock, TRAINED_SECONDS, MOST_ASKED, MOST_TRAINED, busy)

    async def places_of_jobs(self) -> Places:
        """Return where jobs may have been recorded: kinds with namespaces."""

        async def ask(connection: AsyncConnection) -> Places:
            kinds = await kinds_of_jobs(connection, self.cluster)
            names = self._within(await namespaces_of_jobs(connection, self.cluster))
            return dict.fromkeys(kinds, names)

        return await self._remembered(None, ask)

    async def places_of_receipts(self, days: Range) -> Places:
        """Return whose jobs used something in some days: kinds with namespaces."""

        async def ask(connection: AsyncConnection) -> Places:
            found: dict[str, set[str]] = {}
            for kind, namespace in await places_of_receipts(connection, self.cluster, *days):
                found.setdefault(kind, set()).add(namespace)
            return {kind: self._within(names) for kind, names in found.items()}

        return await self._remembered(days, ask)

    async def deleted_jobs(self, allowed: Allowed, wanted: Wanted, after: str) -> JobPage:
        """Return a page of jobs that were deleted, newest first."""
        chosen = JobFilter(
            namespaces=self._namespaces(wanted.namespace),
            kind=wanted.kind,
            user=wanted.user,
            queue=wanted.queue,
            state=wanted.state,
            text=wanted.text,
            deleted=True,
            scope=Scope(allowed),
        )
        async with self._connection() as connection:
            return await list_jobs(connection, self.cluster, chosen, after, PAGE)

    async def job(self, allowed: Allowed, uid: str) -> PastJob | None:
        """Return one job; None also for one that may not be seen."""
        async with self._connection() as connection:
            detail = await get_job(connection, self.cluster, uid)
            if detail is None or not self._is_allowed(allowed, detail.job):
                return None
            return PastJob(
                detail,
                await list_logs(connection, self.cluster, detail.job),
                await get_receipt(connection, self.cluster, uid),
                await receipt_parts(connection, self.cluster, uid),
            )

    async def logs(self, allowed: Allowed, uid: str) -> JobLogs | None:
        """Return where the logs of a job are; None also for one that may not be seen."""
        async with self._connection() as connection:
            found = await get_summary(connection, self.cluster, uid)
            if found is None or not self._is_allowed(allowed, found):
                return None
            return JobLogs(found.name, await list_logs(connection, self.cluster, found))

    async def waits(
        self, allowed: Allowed, namespace: str, queue: str, gpus: tuple[int, int], since: datetime
    ) -> Sequence[int]:
        """Return the seconds that jobs of a queue have waited, shortest first."""
        if self._namespaces(namespace) == ():
            return ()
        async with self._connection() as connection:
            return await waits(connection, self.cluster, Alike(allowed, namespace, queue, *gpus, since))

    async def last_good(
        self, allowed: Allowed, kind: str, namespace: str, before: datetime, alike: Callable[[str], bool]
    ) -> JobDetail | None:
        """Return the newest job that succeeded and whose name is alike, created before a time."""
        chosen = JobFilter(
            namespaces=self._namespaces(namespace),
            kind=kind,
            state="Succeeded",
            created_before=before,
            scope=Scope(allowed),
        )
        async with self._connection() as connection:
            page = await list_jobs(connection, self.cluster, chosen, limit=MOST_LOOKED_AT)
            found = next((one for one in page.jobs if alike(one.name)), None)
            return await get_job(connection, self.cluster, found.uid) if found is not None else None

    async def trained(self, allowed: Allowed, uids: Collection[str]) -> Jobs:
        """Return jobs by their uids, with the code and data that they used."""
        within = {kind: frozenset(names or ()) & {self.only} if self.only else names for kind, names in allowed.items()}

        async def ask() -> Jobs:
            async with self._connection() as connection:
                return {one.job.uid: one for one in await trained(connection, self.cluster, uids, Scope(within))}

        return await self._trained.get((frozenset(within.items()), frozenset(uids)), ask)

    async def spent(self, allowed: Allowed, days: Range, groups: Sequence[str], namespace: str = "") -> Spent:
        """Return what was used in some days, by each of the groups; what has no price is in rows of its own."""
        scope, names = Scope(allowed), self._namespaces(namespace)
        async with self._connection() as connection:
            found = {
                group: await spend(connection, self.cluster, (group, "priced"), *days, names, scope) for group in groups
            }
            return Spent(found, await waste(connection, self.cluster, *days, names, scope))

    def _is_allowed(self, allowed: Allowed, job: JobSummary) -> bool:
        names = allowed.get(job.kind, frozenset())
        within = not self.only or job.namespace == self.only
        return within and (names is None or job.namespace in names)

    def _within(self, names: Sequence[str] | set[str]) -> frozenset[str]:
        return frozenset(names) & {self.only} if self.only else frozenset(names)

    def _namespaces(self, asked: str) -> tuple[str, ...] | None:
        if self.only:
            return (self.only,) if asked in ("", self.only) else ()
        return (asked,) if asked else None

    async def _remembered(self, key: Range | None, ask: Callable[[AsyncConnection], Awaitable[Places]]) -> Places:
        now = self.clock()
        self._known = {one: value for one, value in self._known.items() if now < value[1]}
        if key in self._known:
            return self._known[key][0]
        async with self._connection() as connection:
            places = await ask(connection)
        self._known[key] = places, now + KNOWN_SECONDS
        return places

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection. What the database says goes to the log: it may name hosts and users."""
        try:
            async with self.engine.connect() as connection:
                yield connection
        except InvalidCursorError:
            raise RefusalError(400, "no such page", "the place in the list is not known", "Begin at its top.") from None
        except failures() as error:
            log.warning("the database of the history failed", error=str(error).partition("\n")[0])
            why = "its database does not answer, or has no tables"
            raise RefusalError(503, "the history cannot be read now", why, "Try again; the rest works.") from error
