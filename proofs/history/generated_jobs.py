"""Millions of rows of jobs, generated inside the database from their number, alike on PostgreSQL and MariaDB.

A year of jobs, evenly spread, oldest first, all of one cluster. Namespaces and users are skewed: some have thousands of
times as many jobs as others. One user and one queue have only jobs of the first days, so a list of theirs finds nothing
among newer rows. The newest jobs still run.

The year begins with the current month, so that the product's own code can create the partitions of all its months: it
creates them in advance, and MariaDB cannot add one before those that exist.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import URL, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from kubedl.history import partitions, tables
from kubedl.history.migrate import migrate
from kubedl.training.kinds import all_kinds

CLUSTER = "prod"
MONTHS = 12
PORTION = 50_000  # rows of one statement
NAMESPACES, USERS, QUEUES = 200, 2000, 20
RUNNING, EXISTING = 500, 5000  # the newest jobs run, and somewhat more still exist
FORMER = 2000  # of the oldest jobs: those of a user who left, and of a queue that was removed
FORMER_USER, FORMER_QUEUE = "user-who-left", "queue-of-old"

# The same expressions in both databases, but for these.
_DIALECTS = {
    "postgresql": {
        "numbers": "generate_series(CAST({first} AS bigint), {last}) AS numbers(i)",
        "text": "CAST({0} AS text)",
        "uid": "CAST(CAST(md5(CAST(i AS text)) AS uuid) AS text)",
        "moment": "timestamptz '{start}+00' + make_interval(secs => {seconds})",
        "divided": "/",
    },
    "mysql": {
        "numbers": "(SELECT seq AS i FROM seq_{first}_to_{last}) AS numbers",
        "text": "CAST({0} AS char)",
        "uid": "INSERT(INSERT(INSERT(INSERT(md5(i), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')",
        "moment": "TIMESTAMP '{start}' + INTERVAL ({seconds}) SECOND",
        "divided": " DIV ",
    },
}
*_FREQUENT, RARE_KIND = sorted(kind.kind for kind in all_kinds())
_KINDS = dict(zip(_FREQUENT, (600, 850, 950, 990, 999), strict=False))  # of 1000, cumulated


@dataclass(frozen=True)
class Year:
    """Which rows there are."""

    number: int
    start: datetime

    @property
    def months(self) -> list[datetime]:
        """The starts of its months, and of the month after it."""
        return list(partitions.months(self.start, MONTHS + 1))

    @property
    def spacing(self) -> timedelta:
        """The time between two jobs, at least a second, as Kubernetes keeps no fractions."""
        return (self.months[-1] - self.start) / self.number


async def generate(url: URL, number: int) -> Year:
    """Create the tables with the product's migrations, and fill `jobs`. Its indexes are left out meanwhile."""
    engine = create_async_engine(url)  # not the product's: its statements may take 30 s only
    try:
        await migrate(engine)
        year = Year(number, next(iter(partitions.months(datetime.now(UTC), 1))))
        async with engine.connect() as connection:
            for month in year.months:
                await connection.run_sync(partitions.create_missing, month)
        await _fill(engine, year)
    finally:
        await engine.dispose()
    return year


async def _fill(engine: AsyncEngine, year: Year) -> None:
    async with engine.begin() as connection:
        for index in tables.jobs.indexes:
            await connection.run_sync(index.drop)
    for statement in _statements(engine.dialect.name, year):
        async with engine.begin() as connection:
            await connection.execute(text(statement))
    for index in tables.jobs.indexes:
        async with engine.begin() as connection:
            await connection.run_sync(index.create)
    # What both databases do by themselves after some minutes.
    maintenance = "VACUUM (ANALYZE) jobs" if engine.dialect.name == "postgresql" else "ANALYZE TABLE jobs"
    async with engine.connect() as connection:
        plain = await connection.execution_options(isolation_level="AUTOCOMMIT")
        await plain.exec_driver_sql(maintenance)


def _statements(family: str, year: Year) -> Iterator[str]:
    columns = _columns(_DIALECTS[family], year)
    for first in range(0, year.number, PORTION):
        numbers = _DIALECTS[family]["numbers"].format(first=first, last=min(first + PORTION, year.number) - 1)
        yield f"INSERT INTO jobs ({', '.join(columns)}) SELECT {', '.join(columns.values())} FROM {numbers}"  # noqa: S608


def _columns(dialect: dict[str, str], year: Year) -> dict[str, str]:
    """Name to expression. `i` is the number of the row; the products of primes stand for a random number."""
    micros = year.spacing // timedelta(microseconds=1)
    divided = dialect["divided"]

    def moment(later: int) -> str:
        seconds = f"(i * {micros}{divided}1000000) + {later}"
        return dialect["moment"].format(start=f"{year.start:%Y-%m-%d %H:%M:%S}", seconds=seconds)

    def skewed(prefix: str, number: int, prime: int) -> str:
        chosen = f"((i * {prime}) % {number}) * ((i * {prime}{divided}{number}) % {number}){divided}{number}"
        return f"concat('{prefix}', {dialect['text'].format(chosen)})"

    running, existing = f"i >= {year.number - RUNNING}", f"i >= {year.number - EXISTING}"
    share = "(i * 104729) % 1000"
    kinds = " ".join(f"WHEN {share} < {most} THEN '{kind}'" for kind, most in _KINDS.items())
    states = f"WHEN {running} THEN 'Running' WHEN (i * 7919) % 1000 < 880 THEN 'Succeeded' "
    states += "WHEN (i * 7919) % 1000 < 980 THEN 'Failed' WHEN (i * 7919) % 1000 < 999 THEN 'Deleted'"
    former = f"i < {FORMER} AND i % 10 = 0"
    return {
        "cluster": f"'{CLUSTER}'",
        "uid": dialect["uid"],
        "created": moment(0),
        "namespace": skewed("team-", NAMESPACES, 15_485_863),
        "kind": f"CASE {kinds} ELSE '{RARE_KIND}' END",
        "name": f"concat('finetune-bert-', {dialect['text'].format('i')})",
        "user_name": f"CASE WHEN {former} THEN '{FORMER_USER}' ELSE {skewed('user-', USERS, 32_452_843)} END",
        "user_source": "'User'",
        "client": "'kubectl-create'",
        "queue": f"CASE WHEN {former} THEN '{FORMER_QUEUE}' ELSE {skewed('queue-', QUEUES, 49_979_687)} END",
        "state": f"CASE {states} ELSE 'Lost' END",
        "reason": "'JobSucceeded'",
        "started": moment(60),
        "finished": f"CASE WHEN {running} THEN NULL ELSE {moment(3600)} END",
        "gpus": "i % 17",
        "restarts": "i % 3",
        "model_version": "''",
        "parent_uid": "''",
        "deleted": f"CASE WHEN {existing} THEN NULL ELSE {moment(90_000)} END",
        "deletion": f"CASE WHEN {existing} THEN '' ELSE 'Observed' END",
        "resource_version": "i + 1",
        "recorded": moment(90_001),
    }
