"""Lists of jobs, and one job with its pods and events."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Select, and_, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.history.queries.answers import Answer, EventRecord, JobDetail, JobPage, JobSummary, PodRecord
from kubedl.history.queries.cursor import Cursor
from kubedl.history.queries.scope import Scope
from kubedl.history.tables import events, job_bodies, jobs, pods

LARGEST_PAGE = 500
FEW_NAMESPACES = 20
SCANNED = 2_000  # rows that one page of a text search looks at
MOST_PODS, MOST_EVENTS = 1000, 500
LONGEST_TEXT = 253

AnswerT = TypeVar("AnswerT", bound=Answer)


@dataclass(frozen=True)
class JobFilter:
    """Which jobs; an empty field does not filter."""

    namespaces: tuple[str, ...] | None = None  # None: all; (): none
    kind: str = ""
    name: str = ""
    user: str = ""
    queue: str = ""
    state: str = ""
    created_from: datetime | None = None
    created_before: datetime | None = None
    text: str = ""  # part of the name or of the user
    deleted: bool = False  # only jobs that were deleted
    scope: Scope | None = None  # what the caller may see; None: everything

    @property
    def places(self) -> frozenset[str] | None:
        """Return the namespaces to look in; None: all."""
        if self.namespaces is not None:
            return frozenset(self.namespaces)
        return self.scope.namespaces if self.scope is not None else None

    def conditions(self) -> Iterable[ColumnElement[bool]]:
        """Yield the conditions, but for namespaces and text."""
        for column, value in (
            (jobs.c.kind, self.kind),
            (jobs.c.name, self.name),
            (jobs.c.user_name, self.user),
            (jobs.c.queue, self.queue),
            (jobs.c.state, self.state),
        ):
            if value:
                yield column == value
        if self.created_from is not None:
            yield jobs.c.created >= self.created_from
        if self.created_before is not None:
            yield jobs.c.created < self.created_before
        if self.deleted:
            yield jobs.c.deleted.is_not(None)
        if self.scope is not None:
            yield self.scope.condition(jobs.c.kind, jobs.c.namespace)


async def list_jobs(
    connection: AsyncConnection, cluster: str, wanted: JobFilter, cursor: str = "", limit: int = 50
) -> JobPage:
    """Return a page of jobs, newest first. A text search looks at SCANNED jobs for each page, which may be short."""
    limit = max(1, min(limit, LARGEST_PAGE))
    after = Cursor.decode(cursor) if cursor else None
    if wanted.places is not None and not wanted.places:
        return JobPage(jobs=())
    if wanted.text:
        return await _search(connection, _candidates(cluster, wanted, after, SCANNED), wanted.text, limit)
    rows = (await connection.execute(_candidates(cluster, wanted, after, limit))).all()
    found = answers(rows, JobSummary)
    return JobPage(jobs=found, next=Cursor(found[-1].created, found[-1].uid).encode() if len(found) == limit else "")


async def get_summary(connection: AsyncConnection, cluster: str, uid: str) -> JobSummary | None:
    """Return a job by uid, without what belongs to it."""
    query = select(jobs).where(jobs.c.cluster == cluster, jobs.c.uid == uid)
    row = (await connection.execute(query.limit(1))).first()
    return answers([row], JobSummary)[0] if row is not None else None


async def get_job(connection: AsyncConnection, cluster: str, uid: str) -> JobDetail | None:
    """Return a job by uid."""
    job = await get_summary(connection, cluster, uid)
    if job is None:
        return None
    same = (job_bodies.c.cluster == cluster, job_bodies.c.uid == uid, job_bodies.c.created == job.created)
    body = (await connection.execute(select(job_bodies.c.body).where(*same))).scalar()
    found = await _pods(connection, cluster, job)
    told = await _events(connection, cluster, job, [pod.uid for pod in found])
    return JobDetail(job=job, body=body or {}, pods=found, events=told)


async def find_job(
    connection: AsyncConnection, cluster: str, namespace: str, name: str, kind: str = ""
) -> JobDetail | None:
    """Return the newest job of a name."""
    wanted = JobFilter(namespaces=(namespace,), name=name, kind=kind)
    page = await list_jobs(connection, cluster, wanted, limit=1)
    return await get_job(connection, cluster, page.jobs[0].uid) if page.jobs else None


def answers(rows: Iterable[Any], kind: type[AnswerT]) -> tuple[AnswerT, ...]:
    """Return rows as answers, by the names of their fields."""
    names = [field.name for field in msgspec.structs.fields(kind)]
    return tuple(kind(**{name: getattr(row, name) for name in names}) for row in rows)


def _candidates(cluster: str, wanted: JobFilter, after: Cursor | None, limit: int) -> Select[Any]:
    """Return the newest jobs that pass all filters but the text."""
    query = select(jobs).where(jobs.c.cluster == cluster, *wanted.conditions())
    if after is not None:
        # Written out, because MariaDB uses no index for a comparison of tuples.
        query = query.where(
            jobs.c.created <= after.created, or_(jobs.c.created < after.created, jobs.c.uid < after.uid)
        )
    if wanted.places is None:
        return _newest(query, limit)
    chosen = sorted(wanted.places)
    if len(chosen) == 1:
        return _newest(query.where(jobs.c.namespace == chosen[0]), limit)
    if len(chosen) > FEW_NAMESPACES:  # the newest jobs of all are likely to be among them
        return _newest(query.where(jobs.c.namespace.in_(chosen)), limit)
    # The newest of each namespace, from its index alone; a condition with few namespaces might read all rows.
    keys = query.with_only_columns(jobs.c.created, jobs.c.uid)
    parts = [_newest(keys.where(jobs.c.namespace == name), limit).subquery() for name in chosen]
    together = union_all(*(select(part) for part in parts)).subquery()
    newest = select(together).order_by(together.c.created.desc(), together.c.uid.desc()).limit(limit).subquery()
    same = (jobs.c.cluster == cluster, jobs.c.uid == newest.c.uid, jobs.c.created == newest.c.created)
    return _newest(select(jobs).join(newest, and_(*same)), limit)


def _newest(query: Select[Any], limit: int) -> Select[Any]:
    return query.order_by(jobs.c.created.desc(), jobs.c.uid.desc()).limit(limit)


async def _search(connection: AsyncConnection, candidates: Select[Any], text: str, limit: int) -> JobPage:
    columns = (jobs.c.cluster, jobs.c.created, jobs.c.uid, jobs.c.name, jobs.c.user_name)
    part, scanned = text[:LONGEST_TEXT], candidates.with_only_columns(*columns).subquery()
    matches = or_(scanned.c.name.contains(part, autoescape=True), scanned.c.user_name.contains(part, autoescape=True))
    keys = (
        select(scanned).where(matches).order_by(scanned.c.created.desc(), scanned.c.uid.desc()).limit(limit).subquery()
    )
    same = (jobs.c.cluster == keys.c.cluster, jobs.c.uid == keys.c.uid, jobs.c.created == keys.c.created)
    rows = (await connection.execute(_newest(select(jobs).join(keys, and_(*same)), limit))).all()
    found = answers(rows, JobSummary)
    if len(found) == limit:
        return JobPage(jobs=found, next=Cursor(found[-1].created, found[-1].uid).encode())
    ends = select(scanned.c.created, scanned.c.uid).order_by(scanned.c.created.desc(), scanned.c.uid.desc())
    last = (await connection.execute(ends.offset(SCANNED - 1).limit(1))).first()
    return JobPage(jobs=found, next=Cursor(last.created, last.uid).encode() if last is not None else "")


def pods_of(cluster: str, job: JobSummary) -> Sequence[ColumnElement[bool]]:
    """Return what the pods of a job fulfil; not those of other namespaces, which may name any uid."""
    same = (pods.c.cluster == cluster, pods.c.job_uid == job.uid, pods.c.namespace == job.namespace)
    return (*same, pods.c.created >= job.created)  # they are younger, so older partitions are not read


async def _pods(connection: AsyncConnection, cluster: str, job: JobSummary) -> tuple[PodRecord, ...]:
    query = select(pods).where(*pods_of(cluster, job))
    ordered = query.order_by(pods.c.created, pods.c.uid).limit(MOST_PODS)
    return answers((await connection.execute(ordered)).all(), PodRecord)


async def _events(
    connection: AsyncConnection, cluster: str, job: JobSummary, of_pods: list[str]
) -> tuple[EventRecord, ...]:
    query = select(events).where(
        events.c.cluster == cluster,
        events.c.object_uid.in_([job.uid, *of_pods]),
        events.c.namespace == job.namespace,  # those of other namespaces may name any uid
        events.c.created >= job.created,
    )
    ordered = query.order_by(events.c.created.desc(), events.c.uid).limit(MOST_EVENTS)
    return answers((await connection.execute(ordered)).all(), EventRecord)
