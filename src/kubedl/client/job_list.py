"""Lists and watches of jobs, by the server's own tables: no template of a pod is sent."""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from kubedl.client import tables, watching
from kubedl.client.errors import KubedlError
from kubedl.client.job import JobSummary
from kubedl.client.job_lookup import Cluster
from kubedl.client.kinds import JobKind
from kubedl.kube.errors import ApiError, NotFoundError

if TYPE_CHECKING:
    from kubedl.client.calls import Channel

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
FOREVER = float("inf")
ROOM = 1000  # batches that wait for the caller
PAUSE = 1.0  # seconds after which a work that waits for room looks whether the caller takes more


class JobChange(NamedTuple):
    """What happened to a job, and its row after that."""

    type: ChangeType
    job: JobSummary


@dataclass(frozen=True)
class JobSelection:
    """Which jobs; an empty field does not filter."""

    namespace: str = ""  # empty: all
    job_kind: str | None = None
    states: Collection[str] = ()
    queue: str | None = None
    user: str | None = None
    selector: str | None = None

    def has(self, job: JobSummary) -> bool:
        """Return whether a job is one of them, apart from what the server selects."""
        wanted = {state.lower() for state in self.states}
        return (
            (not wanted or job.state.lower() in wanted)
            and (self.queue is None or job.queue == self.queue)
            and (self.user is None or job.user == self.user)
        )


async def list_jobs(cluster: Cluster, wanted: JobSelection) -> list[JobSummary]:
    """Return jobs, newest first."""
    kinds = await _kinds(cluster, wanted)
    pages = await cluster.client.together([_listed_or_failed(cluster, kind, wanted) for kind in kinds])
    return newest_first([job for page, _ in pages for job in page if wanted.has(job)])


async def _kinds(cluster: Cluster, wanted: JobSelection) -> Sequence[JobKind]:
    return [await cluster.kind(wanted.job_kind)] if wanted.job_kind else await cluster.kinds()


def newest_first(jobs: Sequence[JobSummary]) -> list[JobSummary]:
    """Return jobs in the order of a list."""
    return sorted(jobs, key=lambda job: (-job.created.timestamp(), job.namespace, job.name))


async def watch_jobs(cluster: Cluster, wanted: JobSelection) -> AsyncGenerator[list[JobChange], None]:
    """Yield the jobs that there are, newest first, and then each change that is seen in a row. It goes on for ever."""
    watch = _Watch(cluster, wanted)
    kinds = await _kinds(cluster, wanted)
    works = [cluster.client.start(watch.follow(kind)) for kind in kinds]
    try:
        first = [one for _ in kinds for one in await watch.taken()]
        yield [JobChange("ADDED", job) for job in newest_first([one.job for one in first])]
        while True:
            if batch := await watch.taken():
                yield batch
    finally:
        watch.is_over = True
        for work in works:
            work.stop()


@dataclass
class _Known:
    """What a watch has told about the jobs of a kind."""

    jobs: dict[str, JobSummary] = field(default_factory=dict)
    is_listed: bool = False


class _Watch:
    """What the works of one watch share: a work follows each kind, and what it sees goes through one channel."""

    def __init__(self, cluster: Cluster, wanted: JobSelection) -> None:
        self.is_over = False
        self._cluster, self._wanted = cluster, wanted
        self._changes: Channel[list[JobChange] | Exception] = cluster.client.channel(ROOM)

    async def taken(self) -> list[JobChange]:
        """Return the next batch; raises the error of a work."""
        found = await self._changes.get()
        if isinstance(found, Exception):
            raise found
        return found

    async def follow(self, kind: JobKind) -> None:
        """Tell each change of the jobs of a kind, until nobody takes more."""
        known = _Known()
        batches = watching.kept(
            self._cluster.client,
            lambda silence: _watch_once(self._cluster, kind, self._wanted, known, silence),
            lambda: 0.0 if self.is_over else FOREVER,
        )
        try:
            async with aclosing(batches):
                async for batch in batches:
                    await self._tell([one for one in batch if self._wanted.has(one.job)])
        except ApiError as error:
            await self._tell(self._cluster.failed(error, f"watch {kind.plural}"))
        except KubedlError as error:
            await self._tell(error)

    async def _tell(self, news: list[JobChange] | Exception) -> None:
        while not self.is_over and not await self._changes.put(news, PAUSE):
            continue


async def _watch_once(
    cluster: Cluster, kind: JobKind, wanted: JobSelection, known: _Known, silence: float
) -> AsyncGenerator[list[JobChange], None]:
    """Yield what differs from what is known, then each change, until the connection breaks."""
    # A server that is away may come back, but for the first list nobody waits.
    jobs, table = await (_listed if known.is_listed else _listed_or_failed)(cluster, kind, wanted)
    known.is_listed = True
    yield _differences(known.jobs, {job.uid: job for job in jobs})
    params = {"labelSelector": wanted.selector} if wanted.selector else {}
    params |= {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "290"}
    params["resourceVersion"] = table.metadata.resource_version
    places = tables.places(table)
    async with cluster.client.stream(kind.path(wanted.namespace), params, silence, tables.ACCEPT) as lines:
        async for line in lines:
            event = watching.read_event(line)
            if event.type == "BOOKMARK":
                continue
            sent = cluster.decode(bytes(event.object), tables.Table)
            places = tables.places(sent) or places
            for row in sent.rows or ():
                job = tables.summary(kind, row, places)
                after = {uid: one for uid, one in known.jobs.items() if uid != job.uid}
                yield _differences(known.jobs, after if event.type == "DELETED" else after | {job.uid: job})


def _differences(known: dict[str, JobSummary], after: dict[str, JobSummary]) -> list[JobChange]:
    """Return what changed, and remember it."""
    found = [JobChange("DELETED", job) for uid, job in known.items() if uid not in after]
    for uid, job in after.items():
        if uid not in known:
            found.append(JobChange("ADDED", job))
        elif known[uid] != job:
            found.append(JobChange("MODIFIED", job))
    known.clear()
    known.update(after)
    return found


async def _listed_or_failed(
    cluster: Cluster, kind: JobKind, wanted: JobSelection
) -> tuple[list[JobSummary], tables.Table]:
    """Return what `_listed` does; errors are the client's."""
    try:
        return await _listed(cluster, kind, wanted)
    except ApiError as error:
        raise cluster.failed(error, f"list {kind.plural}") from error


async def _listed(cluster: Cluster, kind: JobKind, wanted: JobSelection) -> tuple[list[JobSummary], tables.Table]:
    """Return all jobs of a kind, and the last page of them."""
    params = {"limit": str(tables.PAGE)} | ({"labelSelector": wanted.selector} if wanted.selector else {})
    found: list[JobSummary] = []
    while True:
        try:
            answer = await cluster.client.call("GET", kind.path(wanted.namespace), params=params, accept=tables.ACCEPT)
        except NotFoundError:  # the kind was removed
            return found, tables.Table()
        table = cluster.decode(answer, tables.Table)
        found += tables.summaries(kind, table)
        if not table.metadata.next_page:
            return found, table
        params["continue"] = table.metadata.next_page
