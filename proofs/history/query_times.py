"""Lists and statistics among five million jobs, on real PostgreSQL and MariaDB: `python -m proofs.history.query_times`.

Calls the product's own queries and measures from the call to the decoded answer. Every filter is tried with values that
match many jobs, few, only old ones, and none. At full size the plans of all queries are written to
docs/proofs/history-explain.md. The last line is JSON.
"""

import asyncio
import json
import os
import statistics as numbers
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from harness.drivers.databases import Database, MariaDB, Postgres
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.queries.jobs import JobFilter, list_jobs
from kubedl.history.queries.statistics import statistics
from proofs.history import generated_jobs as generated
from proofs.history.generated_receipts import generate_receipts
from proofs.history.other_queries import Ask, other_queries
from proofs.history.query_plans import Plan, explained, page_of_plans

FULL = os.environ.get("PROOF_SIZE", "full") == "full"
ROWS = 5_000_000 if FULL else 20_000
REPEATED = 15  # of which the median counts
PAGE, FAR = 50, 1000 if FULL else 100
MEMORY = "1G"  # of the database; its rows and indexes are several times as large
SERVERS: dict[str, Callable[[], Database]] = {
    "postgresql": lambda: Postgres("fsync=off", f"shared_buffers={MEMORY}B", "max_wal_size=8GB"),
    "mariadb": lambda: MariaDB(
        f"innodb-buffer-pool-size={MEMORY}", "innodb-log-file-size=1G", "innodb-flush-log-at-trx-commit=2"
    ),
}
EXPLAINED = Path(__file__).parents[2] / "docs" / "proofs" / "history-explain.md"


@dataclass(frozen=True)
class Question:
    """A query of the product, and what its time counts as."""

    group: str
    name: str
    ask: Ask


def main() -> int:
    """Measure both databases."""
    figures: dict[str, float] = {"rows": ROWS}
    plans: list[Plan] = []
    for family, server in SERVERS.items():
        with server() as database:
            measured, found = asyncio.run(_measure(family, database))
        figures |= {f"{family} {name}": value for name, value in measured.items()}
        plans += found
    if FULL:
        EXPLAINED.write_text(page_of_plans(ROWS, MEMORY, plans))
    print(json.dumps(figures))
    return 0


async def _measure(family: str, database: Database) -> tuple[dict[str, float], list[Plan]]:
    began = time.monotonic()
    year = await generated.generate(parse_url(database.url()), ROWS)
    await generate_receipts(parse_url(database.url()))
    print(f"{family}: {ROWS} jobs and their receipts in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    engine = create_engine(parse_url(database.url()))
    try:
        async with engine.connect() as connection:
            far = await _cursor(connection, FAR)
            questions = [*_filters(year), *_pages(far), *_months(year)]
            questions += [Question(*one) for one in await other_queries(connection, year)]
            times = {one.name: (await _seconds(connection, one.ask))[0] for one in questions}
            pages = list(_pages(far))
            in_turn = await _seconds(connection, *(one.ask for one in pages))
            times |= dict(zip((one.name for one in pages), in_turn, strict=True))
        plans = [await _plan(engine, family, one, times[one.name]) for one in questions]
    finally:
        await engine.dispose()
    for plan in plans:
        print(f"{family}: {plan.question}: {plan.milliseconds:.1f} ms", file=sys.stderr, flush=True)
    by_group: dict[str, list[float]] = {}
    for one in questions:
        by_group.setdefault(one.group, []).append(times[one.name])
    figures = {f"{group} ms": round(max(seconds) * 1000, 1) for group, seconds in by_group.items()}
    figures["far page to first"] = round(times[f"page {FAR}"] / times["page 1"], 2)
    return figures, plans


def _filters(year: generated.Year) -> Iterator[Question]:
    first, last = year.months[0], year.months[-2]
    chosen: dict[str, list[JobFilter]] = {
        "namespace": [JobFilter(namespaces=(name,)) for name in ("team-0", "team-197", "none")]
        + [JobFilter(namespaces=("team-0", "team-31", "team-197"))],
        "kind": [JobFilter(kind=kind) for kind in ("PyTorchJob", generated.RARE_KIND, "none")],
        "user": [JobFilter(user=user) for user in ("user-0", "user-1990", generated.FORMER_USER, "none")],
        "queue": [JobFilter(queue=queue) for queue in ("queue-0", generated.FORMER_QUEUE, "none")],
        "state": [JobFilter(state=state) for state in ("Succeeded", "Running", "Lost", "none")],
        "name": [JobFilter(name=name) for name in ("finetune-bert-17", "none")],
        "time": [
            JobFilter(created_from=last),
            JobFilter(created_before=first + timedelta(days=2)),
            JobFilter(created_from=first + timedelta(days=100), created_before=first + timedelta(days=101)),
            JobFilter(created_before=first),
        ],
        "text": [JobFilter(text=text) for text in ("bert", "user-1990", "bert-17", "no such text")],
    }
    for group, filters in chosen.items():
        for wanted in filters:
            yield Question(group, _described(wanted), partial(_list, wanted=wanted))


def _described(wanted: JobFilter) -> str:
    fields = {name: value for name, value in vars(wanted).items() if value}
    return "first page, " + ", ".join(f"{name}={_short(value)}" for name, value in fields.items())


def _short(value: object) -> str:
    return "+".join(value) if isinstance(value, tuple) else str(value).removesuffix(" 00:00:00+00:00")


def _pages(far: str) -> Iterator[Question]:
    yield Question("page", "page 1", partial(_list, wanted=JobFilter()))
    yield Question("page", f"page {FAR}", partial(_list, wanted=JobFilter(), cursor=far))


def _months(year: generated.Year) -> Iterator[Question]:
    first, end = year.months[5], year.months[6]
    for by in (["user"], ["state"], ["namespace"], ["day", "user"], ["kind", "queue", "state"]):
        yield Question(
            "month",
            f"statistics of a month by {' and '.join(by)}",
            partial(_statistics, by=by, first=first, end=end),
        )


async def _list(connection: AsyncConnection, wanted: JobFilter, cursor: str = "") -> object:
    return await list_jobs(connection, generated.CLUSTER, wanted, cursor, PAGE)


async def _statistics(connection: AsyncConnection, by: Sequence[str], first: datetime, end: datetime) -> object:
    return await statistics(connection, generated.CLUSTER, by, first, end)


async def _cursor(connection: AsyncConnection, number: int) -> str:
    """Turn pages, as a user does, up to the one before this."""
    cursor = ""
    for _ in range(number - 1):
        page = await list_jobs(connection, generated.CLUSTER, JobFilter(), cursor, PAGE)
        cursor = page.next
    return cursor


async def _seconds(connection: AsyncConnection, *asks: Ask) -> list[float]:
    """Ask in turn, so that what are compared have the same machine."""
    taken: list[list[float]] = [[] for _ in asks]
    for _ in range(REPEATED):
        for ask, seconds in zip(asks, taken, strict=True):
            began = time.perf_counter()
            await ask(connection)
            seconds.append(time.perf_counter() - began)
    return [numbers.median(seconds) for seconds in taken]


async def _plan(engine: AsyncEngine, family: str, question: Question, seconds: float) -> Plan:
    async with engine.connect() as connection:
        return Plan(family, question.name, seconds * 1000, await explained(engine, connection, question.ask))


if __name__ == "__main__":
    sys.exit(main())
