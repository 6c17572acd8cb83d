"""What the console and the command line ask beside lists and statistics: one job, spending, how long jobs wait."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import partial

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.history import tables
from kubedl.history.queries.jobs import JobFilter, find_job, get_job, list_jobs
from kubedl.history.queries.lineage import trained
from kubedl.history.queries.places import kinds_of_jobs, namespaces_of_jobs, places_of_receipts
from kubedl.history.queries.scope import Scope
from kubedl.history.queries.spend import get_receipt, receipt_parts, spend, waste
from kubedl.history.queries.statistics import running
from kubedl.history.queries.waits import Alike, waits
from kubedl.training.kinds import all_kinds
from proofs.history import generated_jobs as generated

Ask = Callable[[AsyncConnection], Awaitable[object]]

ALL = {kind.kind: None for kind in all_kinds()}
SOME = {kind.kind: frozenset({"team-0", "team-31", "team-197"}) for kind in all_kinds()}


async def other_queries(connection: AsyncConnection, year: generated.Year) -> list[tuple[str, str, Ask]]:
    """Return a group, a name and the query for each."""
    table = tables.jobs.c
    oldest = (await connection.execute(select(table.uid).order_by(table.created).limit(50))).scalars().all()
    return [*_one_job(oldest), *_combined(year), *_spending(year), *_waiting(year), *_places()]


def _one_job(oldest: Sequence[str]) -> Iterator[tuple[str, str, Ask]]:
    cluster, uid = generated.CLUSTER, oldest[0]
    yield "job", "the oldest job by its uid", partial(get_job, cluster=cluster, uid=uid)
    yield "job", "a job by a uid that is not there", partial(get_job, cluster=cluster, uid="none")
    found = partial(find_job, cluster=cluster, namespace="team-0", name="finetune-bert-0")
    yield "job", "the newest job of a name", found
    yield "job", "a receipt", partial(get_receipt, cluster=cluster, uid=uid)
    yield "job", "the lines of a receipt", partial(receipt_parts, cluster=cluster, uid=uid)
    yield "job", "50 jobs with code and data", partial(trained, cluster=cluster, uids=oldest, scope=Scope(ALL))


def _combined(year: generated.Year) -> Iterator[tuple[str, str, Ask]]:
    before = year.months[6]
    filters = {
        "the last good run": JobFilter(
            namespaces=("team-0",), kind="PyTorchJob", state="Succeeded", created_before=before, scope=Scope(ALL)
        ),
        "the last good run of a rare kind": JobFilter(
            namespaces=("team-197",), kind=generated.RARE_KIND, state="Succeeded", created_before=before
        ),
        "deleted jobs of three namespaces": JobFilter(deleted=True, scope=Scope(SOME)),
        "deleted jobs of a user in them": JobFilter(deleted=True, user="user-1990", scope=Scope(SOME)),
        "lost jobs of a queue": JobFilter(state="Lost", queue="queue-0", scope=Scope(ALL)),
    }
    for name, wanted in filters.items():
        yield "combined", name, partial(list_jobs, cluster=generated.CLUSTER, wanted=wanted)


def _spending(year: generated.Year) -> Iterator[tuple[str, str, Ask]]:
    first, last = year.months[5].date(), (year.months[6] - timedelta(days=1)).date()
    for by in (["team"], ["day", "team"], ["user"], ["queue"]):
        yield "spend", f"spend of a month by {' and '.join(by)}", _spend(by, first, last)
    for about, scope in (("all", Scope(ALL)), ("three namespaces", Scope(SOME))):
        yield "spend", f"spend of a month by day, of jobs of {about}", _spend(["day"], first, last, scope)
    yield "spend", "waste of a month", partial(waste, cluster=generated.CLUSTER, first=first, last=last)
    yield "spend", "places of a month", partial(places_of_receipts, cluster=generated.CLUSTER, first=first, last=last)


def _spend(by: list[str], first: date, last: date, scope: Scope | None = None) -> Ask:
    namespaces = sorted(scope.namespaces) if scope is not None and scope.namespaces is not None else None
    cluster = generated.CLUSTER
    return partial(spend, cluster=cluster, by=by, first=first, last=last, namespaces=namespaces, scope=scope)


def _waiting(year: generated.Year) -> Iterator[tuple[str, str, Ask]]:
    for name in ("team-0", "team-197"):
        for queue in ("queue-0", generated.FORMER_QUEUE):
            alike = Alike(ALL, name, queue, 4, 16, year.months[-2])
            yield "waits", f"waits of jobs in {queue} of {name}", partial(waits, cluster=generated.CLUSTER, alike=alike)


def _places() -> Iterator[tuple[str, str, Ask]]:
    yield "places", "namespaces of all jobs", partial(namespaces_of_jobs, cluster=generated.CLUSTER)
    yield "places", "kinds of all jobs", partial(kinds_of_jobs, cluster=generated.CLUSTER)
    yield "places", "jobs that run", partial(running, cluster=generated.CLUSTER)
