"""Writes the receipts of jobs that have ended, and again when a pod of one changes afterwards.

A receipt is computed from the rows of the job and its pods, so it can be computed again at any time; the price book
that it began with is kept with it. After a start, jobs that ended without a receipt are looked for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from kubedl.history.observation import Change, Observation
from kubedl.history.price_book import NodeLabels, PriceBook, stored_price_book
from kubedl.history.receipt import PodUsage, Receipt, receipt
from kubedl.history.sink import RejectedError, SinkUnavailableError
from kubedl.history.sinks.database import transaction
from kubedl.history.tables import USED, jobs, nodes, pods, price_books, receipt_lines, receipts
from kubedl.kube import codec

PAUSE = 2.0  # seconds in which changes of one job are collected
TRY_AGAIN = 10.0
PAGE = 200
LOOK_BACK = timedelta(days=30)  # at a start

log = structlog.get_logger()


class Receipts:
    """The receipts of one cluster."""

    def __init__(
        self,
        engine: AsyncEngine,
        cluster: str,
        book: Callable[[], PriceBook] = PriceBook,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`book` returns the current prices, and is asked once for each receipt."""
        self._engine, self._cluster, self._book, self._clock = engine, cluster, book, clock
        self._due: dict[str, None] = {}
        self._filled = asyncio.Event()

    def written(self, batch: Sequence[Change]) -> None:
        """Remember the jobs of rows that were written."""
        for change in batch:
            if change.table == "jobs":
                self._due[change.uid] = None
            elif change.table == "pods" and isinstance(change, Observation) and change.values["job_uid"]:
                self._due[change.values["job_uid"]] = None
        if self._due:
            self._filled.set()

    async def run(self) -> None:
        """Write receipts until cancelled."""
        await self._repeatedly(self._find_missing)
        while True:
            await self._filled.wait()
            await asyncio.sleep(PAUSE)
            self._filled.clear()
            due, self._due = self._due, {}
            for uid in due:
                await self._repeatedly(partial(self.compute, uid))

    async def compute(self, uid: str) -> None:
        """Write the receipt of a job, if it has ended."""
        async with transaction(self._engine) as connection:
            query = select(jobs).where(jobs.c.cluster == self._cluster, jobs.c.uid == uid)
            job = (await connection.execute(query.limit(1))).first()
            if job is None or (job.finished is None and job.deleted is None):
                return
            book = await self._book_of(connection, uid)
            used = await self._usage(connection, job)
            await self._store(
                connection, job, receipt(job.created, job.finished or job.deleted, used, book, self._clock())
            )

    async def _repeatedly(self, attempt: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await attempt()
            except SinkUnavailableError as error:
                log.warning("cannot write receipts", error=str(error))
                await asyncio.sleep(TRY_AGAIN)
            except RejectedError:
                log.exception("a receipt cannot be written")
                return
            else:
                return

    async def _find_missing(self) -> None:
        """Remember jobs that ended while no recorder wrote receipts."""
        since = self._clock() - LOOK_BACK
        has = select(receipts.c.uid).where(receipts.c.cluster == jobs.c.cluster, receipts.c.uid == jobs.c.uid)
        query = select(jobs.c.uid).where(
            jobs.c.cluster == self._cluster,
            jobs.c.created >= since,
            or_(jobs.c.finished.is_not(None), jobs.c.deleted.is_not(None)),
            ~has.exists(),
        )
        async with transaction(self._engine) as connection:
            found = (await connection.execute(query.order_by(jobs.c.created.desc()).limit(100_000))).scalars().all()
        self._due.update(dict.fromkeys(found))
        if found:
            self._filled.set()

    async def _book_of(self, connection: AsyncConnection, uid: str) -> PriceBook:
        """Return the book that the receipt began with, or the current one, which is stored then."""
        began = select(receipts.c.price_book).where(receipts.c.cluster == self._cluster, receipts.c.uid == uid)
        version = (await connection.execute(began)).scalar()
        current = self._book()
        version = version or current.version
        ours = (price_books.c.cluster == self._cluster, price_books.c.version == version)
        body = (await connection.execute(select(price_books.c.body).where(*ours))).scalar()
        if body is not None:
            return stored_price_book(body)
        await connection.execute(
            insert(price_books).values(
                cluster=self._cluster, version=current.version, first_used=self._clock(), body=codec.plain(current)
            )
        )
        return current

    async def _usage(self, connection: AsyncConnection, job: Any) -> list[PodUsage]:  # noqa: ANN401 - a row
        query = select(pods).where(
            pods.c.cluster == self._cluster,
            pods.c.job_uid == job.uid,
            pods.c.namespace == job.namespace,  # pods of other namespaces may name any uid
            pods.c.created >= job.created,
        )
        rows = (await connection.execute(query)).all()
        names = sorted({row.node for row in rows if row.node})
        labels: dict[str, NodeLabels] = {}
        for start in range(0, len(names), PAGE):
            chosen = nodes.c.name.in_(names[start : start + PAGE])
            found = select(nodes).where(nodes.c.cluster == self._cluster, chosen).order_by(nodes.c.created)
            for node in await connection.execute(found):
                labels[node.name] = NodeLabels(node.pool, node.spot, node.instance_type, node.zone)
        return [
            PodUsage(
                row.role,
                row.replica_index,
                row.created,
                row.scheduled or row.started,
                row.finished or row.deleted or job.finished or job.deleted,
                row.phase,
                row.disrupted,
                row.cpu_millis,
                row.memory_bytes,
                row.gpus,
                labels.get(row.node, NodeLabels()),
            )
            for row in rows
        ]

    async def _store(self, connection: AsyncConnection, job: Any, made: Receipt) -> None:  # noqa: ANN401 - a row
        head = {"cluster": self._cluster, "uid": job.uid}
        shared = {name: getattr(job, name) for name in ("namespace", "kind", "user_name", "queue")}
        shared["currency"] = made.currency
        values = {
            **shared,
            "created": job.created,
            "name": job.name,
            "state": job.state,
            "finished": job.finished or job.deleted,
            "waiting_seconds": made.waiting_seconds,
            "running_seconds": made.running_seconds,
            "restarted_seconds": made.restarted_seconds,
            "lost_seconds": made.lost_seconds,
            "price_book": made.price_book,
            "computed": self._clock(),
            **{name: sum(getattr(line, name) for line in made.lines) for name in USED},
        }
        ours = (receipts.c.cluster == self._cluster, receipts.c.uid == job.uid)
        if (await connection.execute(update(receipts).where(*ours).values(values))).rowcount == 0:
            await connection.execute(insert(receipts).values(**head, **values))
        lines = receipt_lines.c
        await connection.execute(delete(receipt_lines).where(lines.cluster == self._cluster, lines.uid == job.uid))
        if made.lines:
            await connection.execute(insert(receipt_lines), [{**head, **shared, **asdict(line)} for line in made.lines])
