"""What the API answers about logs of the archive: some lines, and lines with a text.

They are for those who may read the logs of pods in that namespace now, as the API server would let them.
"""

from dataclasses import dataclass

from kubedl.console.history_rights import kind_named, resource_names
from kubedl.console.history_source import History
from kubedl.console.log_text import LogText
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError, forbidden, no_such_job
from kubedl.console.rights import Question, Rights
from kubedl.console.wire_logs import LogHits, LogPage
from kubedl.kube.types.meta import ObjectKey

MOST_LINES = 1000
MOST_HITS = 200
LOGS = "pods/log"


@dataclass(frozen=True)
class ArchivedRun:
    """Whose log is asked for: a pod of a job, by their uids."""

    kind: str
    job: ObjectKey
    job_uid: str
    pod_uid: str


@dataclass(frozen=True)
class LogPages:
    """Answers for one caller at a time."""

    history: History
    rights: Rights

    async def lines(self, caller: Caller, run: ArchivedRun, first: int, count: int, at: str) -> LogPage:
        """Return lines from a number on. If that line is not of the time `at`, return those from that time on."""
        location, cut = await self._place(caller, run)

        def page(text: LogText) -> LogPage:
            return _page(text, cut, first, min(count, MOST_LINES), at)

        return await self.history.logs.use(location, page, cut=cut)

    async def search(self, caller: Caller, run: ArchivedRun, wanted: str) -> LogHits:
        """Return the first lines with a text."""
        location, cut = await self._place(caller, run)
        hits = await self.history.logs.use(location, lambda text: text.hits(wanted, MOST_HITS), cut=cut)
        return LogHits(hits=hits, more=len(hits) == MOST_HITS)

    async def can_read(self, caller: Caller, namespace: str) -> bool:
        """Return whether there is a storage, and somebody may read logs of a namespace."""
        return self.history.logs.readable and await self._may_read(caller, namespace)

    async def _may_read(self, caller: Caller, namespace: str) -> bool:
        return await self.rights.may(caller, Question("get", "", LOGS, namespace))

    async def _place(self, caller: Caller, run: ArchivedRun) -> tuple[str, bool]:
        """Return where a log is, and whether its beginning is missing.

        What may not be seen is refused alike, there or not.
        """
        kind, namespace = kind_named(run.kind), run.job.namespace
        resource = resource_names()[kind]
        if not await self.rights.list_in(caller, resource, namespace):
            raise forbidden(caller.person.name, "list", resource, namespace)
        if not await self._may_read(caller, namespace):
            raise forbidden(caller.person.name, "get", LOGS, namespace)
        found = await self.history.insist().logs({kind: frozenset({namespace})}, run.job_uid)
        if found is None or found.name != run.job.name:
            raise no_such_job(namespace, kind, run.job.name)
        record = next((one for one in found.logs if one.uid == run.pod_uid), None)
        if record is None or not record.log_location:
            why = "the job has no such pod, or its log was not archived"
            raise RefusalError(404, "no archived log", why, "Load the page again.")
        return record.log_location, bool(record.log_cut)


def _page(text: LogText, cut: bool, first: int, count: int, at: str) -> LogPage:
    if at and [row.time for row in text.rows(first, 1)] != [at]:
        first = text.number_at(at)
        if first == 0:
            why = "no line of that time was kept" if text.timed else "the archive does not say when lines were written"
            raise RefusalError(404, "no such line", why, "Look at the log from its beginning.")
    silent = 0 if cut else int(text.silence.total_seconds())
    return LogPage(total=text.total, first=first, lines=text.rows(first, count), cut=cut, silent_seconds=silent)
