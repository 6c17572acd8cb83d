"""What the API answers about a job beside others like it: when those started, and what the last good one had.

The good one is looked for in the cache and in the history. Both have the same fields of a job, which are those that
may be stored: no commands, arguments and environment variables.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kubedl.console.cache import BY_NAMESPACE, Stores
from kubedl.console.history_rights import HistoryRights
from kubedl.console.history_source import History
from kubedl.console.kinds import job_resources
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.rights import Rights
from kubedl.console.rows import EARLIEST, job_row
from kubedl.console.wire_runs import ChangeRow, ChangesPage, StartPage
from kubedl.history.observed import RecordedJob
from kubedl.history.rows import body_of

if TYPE_CHECKING:
    from kubedl.history.queries.answers import JobDetail

ENOUGH = 20  # waits, for a guess
DAYS = 30
MOST_ROWS = 200
LONGEST_VALUE = 300
# Parts of a path that say nothing to a person, and what differs between two runs although nobody changed it.
SILENT = frozenset({"template", "spec", "containers"})
LEFT_OUT = frozenset({"suspend"})


@dataclass(frozen=True)
class Run:
    """A job that succeeded."""

    name: str
    uid: str
    there: bool
    created: datetime
    finished: datetime | None
    body: Mapping[str, Any]


@dataclass(frozen=True)
class RunPages:
    """Answers about jobs that a caller may see."""

    stores: Stores
    history: History
    rights: Rights
    now: Callable[[], datetime]

    async def start(self, caller: Caller, kind: str, job: RecordedJob) -> StartPage:
        """Return how long jobs of the same queue and about the same size have waited."""
        row = job_row(job_resources()[kind].kind, job)
        least, most = (row.gpus + 1) // 2, row.gpus * 2
        found: Sequence[int] = ()
        if self.history.installed:
            sight = await HistoryRights(self.rights).within(caller, row.namespace)
            found = await self.history.insist().waits(
                sight.allowed, row.namespace, row.queue, (least, most), self.now() - timedelta(days=DAYS)
            )
        return StartPage(
            installed=self.history.installed,
            waits=len(found),
            enough=ENOUGH,
            half_seconds=part_of(found, 0.5) if len(found) >= ENOUGH else None,
            most_seconds=part_of(found, 0.9) if len(found) >= ENOUGH else None,
            queue=row.queue,
            least_gpus=least,
            most_gpus=most,
            days=DAYS,
        )

    async def changes(self, caller: Caller, kind: str, job: RecordedJob) -> ChangesPage:
        """Return what differs from the last job of the same series that succeeded."""
        live, said = self._live(kind, job), "absent"
        past: Run | None = None
        if self.history.installed:
            try:
                past, said = await self._past(caller, kind, job), "asked"
            except RefusalError:
                said = "failed"
        good = max((one for one in (live, past) if one is not None), key=lambda one: one.created, default=None)
        if good is None:
            return ChangesPage(name="", uid="", there=False, finished=None, rows=(), more=0, history=said)
        rows = list(differences(good.body, body_of(job)))
        return ChangesPage(
            name=good.name,
            uid=good.uid,
            there=good.there,
            finished=good.finished,
            rows=rows[:MOST_ROWS],
            more=max(0, len(rows) - MOST_ROWS),
            history=said,
        )

    def _live(self, kind: str, job: RecordedJob) -> Run | None:
        meta = job.metadata
        born = meta.creation_timestamp or EARLIEST
        found = [
            (one.metadata.creation_timestamp, one)
            for one in self.stores.jobs[kind].by_index(BY_NAMESPACE, meta.namespace)
            if one.status.state == "Succeeded"
            and one.metadata.creation_timestamp is not None
            and one.metadata.creation_timestamp < born
            and series(one.metadata.name) == series(meta.name)
        ]
        if not found:
            return None
        created, last = max(found, key=itemgetter(0))
        name, uid, finished = last.metadata.name, last.metadata.uid, last.status.completion_time
        return Run(name, uid, True, created, finished, body_of(last))

    async def _past(self, caller: Caller, kind: str, job: RecordedJob) -> Run | None:
        meta, kind = job.metadata, job_resources()[kind].kind
        sight = await HistoryRights(self.rights).within(caller, meta.namespace, kind)
        reader = self.history.insist()
        before = meta.creation_timestamp or self.now()
        detail = await reader.last_good(
            sight.allowed, kind, meta.namespace, before, lambda name: series(name) == series(meta.name)
        )
        return _run(detail) if detail is not None else None


def series(name: str) -> str:
    """Return what the names of runs have in common: bert, for bert, bert-r2, bert-v7 and bert-v7-r2."""
    return _without_number(_without_number(name, "-r"), "-v", "-")


def _without_number(name: str, *marks: str) -> str:
    bare = name.rstrip("0123456789")
    if bare == name:
        return name
    return next((bare.removesuffix(mark) for mark in marks if bare.endswith(mark) and bare != mark), name)


def part_of(waits: Sequence[int], share: float) -> int:
    """Return what a share of sorted figures does not exceed."""
    return waits[max(1, ceil(share * len(waits))) - 1]


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[ChangeRow]:
    """Yield the fields of two bodies that differ."""
    old, new = dict(_fields(before)), dict(_fields(now))
    for field in sorted(old.keys() | new.keys()):
        if old.get(field) != new.get(field):
            yield ChangeRow(field=field, before=old.get(field, ""), now=new.get(field, ""))


def _fields(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    spec = {key: value for key, value in body.get("spec", {}).items() if key not in LEFT_OUT}
    roles = {key for key in spec if key.endswith("ReplicaSpecs")}
    for key, value in spec.items():
        yield from _flat("" if key in roles else key, value)
    if revision := body.get("status", {}).get("codeRevision"):
        yield "codeRevision", str(revision)


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = {
            str(item["name"] if isinstance(item, dict) and item.get("name") else number): item
            for number, item in enumerate(value)
        }.items()
    else:
        if value not in (None, ""):
            yield path, str(value)[:LONGEST_VALUE]
        return
    for key, item in parts:
        yield from _flat(path if key in SILENT else f"{path}.{key}".lstrip("."), item)


def _run(detail: "JobDetail") -> Run:
    job = detail.job
    return Run(job.name, job.uid, job.deleted is None, job.created, job.finished, detail.body)
