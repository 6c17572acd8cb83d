"""What a caller may see goes into the query, on every database."""

from datetime import date, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from kubedl.history import rows
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.price_book import PriceBook, PriceEntry
from kubedl.history.queries.jobs import JobFilter, list_jobs
from kubedl.history.queries.places import kinds_of_jobs, namespaces_of_jobs, places_of_receipts
from kubedl.history.queries.scope import Scope
from kubedl.history.queries.spend import spend, waste
from kubedl.history.receipts import Receipts
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.tables import jobs, price_books
from tests.history.builders import NOW, decoded_job, job, moment, pod, pod_row

KINDS, NAMESPACES = ("PyTorchJob", "TFJob"), ("team-a", "team-b", "team-c")
DAY = NOW.date()


def _book(namespace: str) -> PriceBook:
    return PriceBook("EUR", (PriceEntry(cpu_hour=1.0),)) if namespace == "team-a" else PriceBook()


@pytest.fixture
async def recorded(engine: AsyncEngine, cluster: str) -> list[dict[str, Any]]:
    """Two jobs of each kind in each namespace: one that was deleted, one that is there. Only team-a has a price."""
    made = []
    for number, (kind, namespace, gone) in enumerate(
        (kind, namespace, gone) for kind in KINDS for namespace in NAMESPACES for gone in (True, False)
    ):
        began = NOW - timedelta(minutes=number)
        name = f"{kind}-{namespace}-{'gone' if gone else 'there'}".lower()
        ended = moment(began + timedelta(hours=1))
        obj = job(name, namespace=namespace, created=began, state="Succeeded", completionTime=ended)
        obj["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpus"}
        worker = pod(obj, phase="Succeeded")
        worker["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
        receipts = Receipts(engine, cluster, partial(_book, namespace), lambda: NOW)
        sink = DatabaseSink(engine, cluster, written=receipts.written)
        await sink.claim(Epoch("lease", 0, "me"))
        await sink.write([rows.job_row(kind, decoded_job(obj), deleted=gone, now=NOW), pod_row(worker)])
        await receipts.compute(obj["metadata"]["uid"])
        made.append({**obj, "kind": kind})
    return made


@pytest.mark.parametrize(
    ("allowed", "seen"),
    [
        ({}, set()),
        ({"PyTorchJob": frozenset[str]()}, set()),
        ({"PyTorchJob": frozenset({"team-a"})}, {("PyTorchJob", "team-a")}),
        ({"TFJob": None}, {("TFJob", namespace) for namespace in NAMESPACES}),
        (
            {"PyTorchJob": frozenset({"team-a", "team-b"}), "TFJob": frozenset({"team-c"})},
            {("PyTorchJob", "team-a"), ("PyTorchJob", "team-b"), ("TFJob", "team-c")},
        ),
        (
            {"PyTorchJob": None, "TFJob": frozenset({"team-b"})},
            {("TFJob", "team-b")} | {("PyTorchJob", one) for one in NAMESPACES},
        ),
    ],
)
@pytest.mark.usefixtures("recorded")
async def test_only_what_is_in_scope_is_answered(
    engine: AsyncEngine, cluster: str, allowed: dict[str, frozenset[str] | None], seen: set[tuple[str, str]]
) -> None:
    """Pages stay full: what may not be seen is left out by the query, not after it."""
    scope, cursor, found = Scope(allowed), "", list[tuple[str, str]]()
    async with engine.connect() as connection:
        while True:
            page = await list_jobs(connection, cluster, JobFilter(scope=scope), cursor, 2)
            found += [(one.kind, one.namespace) for one in page.jobs]
            if not page.next:
                break
            assert len(page.jobs) == 2
            cursor = page.next
        deleted = (await list_jobs(connection, cluster, JobFilter(scope=scope, deleted=True))).jobs
        spent = await spend(connection, cluster, ["team", "queue"], DAY, DAY, scope=scope)
        wasted = await waste(connection, cluster, DAY, DAY, scope=scope)
    assert (set(found), len(found)) == (seen, 2 * len(seen))
    assert {(one.kind, one.namespace) for one in deleted} == seen
    assert all(one.name.endswith("-gone") for one in deleted)
    teams = sorted({namespace for _, namespace in seen})
    assert [row.group for row in spent] == [(team, "gpus") for team in teams]
    kinds = {team: sum(namespace == team for _, namespace in seen) for team in teams}
    assert {row.group[0]: row.cpu_seconds for row in spent} == {team: kinds[team] * 2 * 2 * 540 for team in teams}
    assert {row.team: row.jobs for row in wasted} == {team: 2 * kinds[team] for team in teams}


@pytest.mark.usefixtures("recorded")
async def test_a_namespace_and_a_scope_must_both_hold(engine: AsyncEngine, cluster: str) -> None:
    """Asking for a namespace does not widen what may be seen."""
    scope = Scope({"PyTorchJob": frozenset({"team-a"})})
    async with engine.connect() as connection:
        for namespace, number in (("team-a", 2), ("team-b", 0)):
            wanted = JobFilter(namespaces=(namespace,), scope=scope)
            assert len((await list_jobs(connection, cluster, wanted)).jobs) == number
            rows = await spend(connection, cluster, ["team"], DAY, DAY, namespaces=[namespace], scope=scope)
            assert len(rows) == bool(number)


@pytest.mark.usefixtures("recorded")
async def test_what_has_no_price_is_told_apart(engine: AsyncEngine, cluster: str) -> None:
    """It is not the same as costing nothing."""
    async with engine.connect() as connection:
        found = await spend(connection, cluster, ["team", "priced"], DAY, DAY)
    assert [(row.group, row.currency, row.cost_micros > 0) for row in found] == [
        (("team-a", "priced"), "EUR", True),
        (("team-b", "unpriced"), "", False),
        (("team-c", "unpriced"), "", False),
    ]


@pytest.mark.usefixtures("recorded")
async def test_places_are_found(engine: AsyncEngine, cluster: str) -> None:
    async with engine.connect() as connection:
        assert await namespaces_of_jobs(connection, cluster) == NAMESPACES
        assert await kinds_of_jobs(connection, cluster) == KINDS
        assert await namespaces_of_jobs(connection, "another") == ()
        pairs = await places_of_receipts(connection, cluster, DAY, DAY)
        assert sorted(pairs) == [(kind, namespace) for kind in KINDS for namespace in NAMESPACES]
        assert await places_of_receipts(connection, cluster, date(2020, 1, 1), date(2020, 1, 2)) == ()


async def test_places_are_found_without_reading_all_jobs(engine: AsyncEngine, cluster: str) -> None:
    """MariaDB counts what it reads: it read the whole index of jobs for each namespace."""
    row = rows.job_row("TFJob", decoded_job(job("one", namespace="team-a")), deleted=False, now=NOW)
    common = {**row.values, "cluster": cluster, "created": NOW, "resource_version": 1, "recorded": NOW}
    values = [{**common, "uid": str(number)} for number in range(500)]
    async with engine.begin() as connection:
        await connection.execute(insert(jobs), [*values, {**values[0], "uid": "last", "namespace": "team-b"}])
    async with engine.connect() as connection:
        before = await _reads(connection)
        assert await namespaces_of_jobs(connection, cluster) == ("team-a", "team-b")
        assert await _reads(connection) - before < 100


async def _reads(connection: AsyncConnection) -> int:
    if connection.dialect.name != "mysql":
        return 0
    found = await connection.execute(text("SHOW SESSION STATUS LIKE 'Handler_read_%'"))
    return sum(int(row.Value) for row in found)


async def test_an_engine_that_only_reads_cannot_write(database_url: str, cluster: str) -> None:
    """Whatever its user may do."""
    engine = create_engine(parse_url(database_url), read_only=True)
    try:
        async with engine.connect() as connection:
            assert await namespaces_of_jobs(connection, cluster) == ()
        with pytest.raises(DBAPIError):
            async with engine.begin() as connection:
                await connection.execute(
                    insert(price_books).values(cluster=cluster, version="1", first_used=NOW, body={})
                )
    finally:
        await engine.dispose()
