"""Lists and watches of jobs, by the server's own tables: no template of a pod is sent."""

import queue
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kubedl.client import tables, watching
from kubedl.client.errors import KubedlError
from kubedl.client.job import JobSummary
from kubedl.client.job_lookup import Cluster
from kubedl.client.kinds import JobKind
from kubedl.client.parallel import run_all
from kubedl.kube.errors import ApiError, NotFoundError

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
FOREVER = float("inf")


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

    def kinds(self, cluster: Cluster) -> Sequence[JobKind]:
        """Return their kinds."""
        return [cluster.kind(self.job_kind)] if self.job_kind else cluster.kinds()


def list_jobs(cluster: Cluster, wanted: JobSelection) -> list[JobSummary]:
    """Return jobs, newest first."""
    kinds = wanted.kinds(cluster)
    pages = run_all([lambda kind=kind: _listed(cluster, kind, wanted)[0] for kind in kinds])  # type: ignore[misc]
    return newest_first([job for page in pages for job in page if wanted.has(job)])


def newest_first(jobs: Sequence[JobSummary]) -> list[JobSummary]:
    """Return jobs in the order of a list."""
    return sorted(jobs, key=lambda job: (-job.created.timestamp(), job.namespace, job.name))


def watch_jobs(cluster: Cluster, wanted: JobSelection) -> Iterator[list[JobChange]]:
    """Yield the jobs that there are, newest first, and then each change that is seen in a row. It goes on for ever."""
    changes: queue.Queue[list[JobChange] | Exception] = queue.Queue()
    kinds = wanted.kinds(cluster)
    for kind in kinds:
        arguments = (cluster, kind, wanted, changes.put)
        threading.Thread(target=_watch_in_thread, args=arguments, daemon=True).start()
    first = [one for _ in kinds for one in _taken(changes)]
    there = newest_first([one.job for one in first])
    yield [JobChange("ADDED", job) for job in there]
    while True:
        if batch := _taken(changes):
            yield batch


def _taken(changes: "queue.Queue[list[JobChange] | Exception]") -> list[JobChange]:
    found = changes.get()
    if isinstance(found, Exception):
        raise found
    return found


def _watch_in_thread(
    cluster: Cluster, kind: JobKind, wanted: JobSelection, tell: Callable[[list[JobChange] | Exception], None]
) -> None:
    known: dict[str, JobSummary] = {}
    try:
        for batch in watching.kept(lambda silence: _watch_once(cluster, kind, wanted, known, silence), lambda: FOREVER):
            tell([one for one in batch if wanted.has(one.job)])
    except ApiError as error:
        tell(cluster.failed(error, f"watch {kind.plural}"))
    except KubedlError as error:
        tell(error)


def _watch_once(
    cluster: Cluster, kind: JobKind, wanted: JobSelection, known: dict[str, JobSummary], silence: float
) -> Iterator[list[JobChange]]:
    """Yield what differs from what is known, then each change, until the connection breaks."""
    jobs, table = _listed(cluster, kind, wanted)
    yield _differences(known, {job.uid: job for job in jobs})
    params = {"labelSelector": wanted.selector} if wanted.selector else {}
    params |= {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "290"}
    params["resourceVersion"] = table.metadata.resource_version
    places = tables.places(table)
    with cluster.client.stream(kind.path(wanted.namespace), params, silence, tables.ACCEPT) as lines:
        for line in lines:
            event = watching.read_event(line)
            if event.type == "BOOKMARK":
                continue
            sent = cluster.decode(bytes(event.object), tables.Table)
            places = tables.places(sent) or places
            for row in sent.rows or ():
                job = tables.summary(kind, row, places)
                after = {uid: one for uid, one in known.items() if uid != job.uid}
                yield _differences(known, after if event.type == "DELETED" else after | {job.uid: job})


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


def _listed(cluster: Cluster, kind: JobKind, wanted: JobSelection) -> tuple[list[JobSummary], tables.Table]:
    """Return all jobs of a kind, and the last page of them."""
    params = {"limit": str(tables.PAGE)} | ({"labelSelector": wanted.selector} if wanted.selector else {})
    found: list[JobSummary] = []
    while True:
        try:
            answer = cluster.client.call("GET", kind.path(wanted.namespace), params=params, accept=tables.ACCEPT)
        except NotFoundError:  # the kind was removed
            return found, tables.Table()
        except ApiError as error:
            raise cluster.failed(error, f"list {kind.plural}") from error
        table = cluster.decode(answer, tables.Table)
        found += tables.summaries(kind, table)
        if not table.metadata.next_page:
            return found, table
        params["continue"] = table.metadata.next_page
