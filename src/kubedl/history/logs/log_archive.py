"""Archives the logs of ended containers, beside the recorder: read, compress, write to the bucket, record the place.

A log has one key, so an upload that is repeated replaces itself. It is repeated after a start if it was not recorded.
Neither a bucket nor a database that is down delays the recorder: what waits is bounded, and only names of pods wait.
"""

import asyncio
import gzip
import random
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from kubedl.history.logs.bucket_settings import BucketError, ObjectRefusedError
from kubedl.history.logs.container_run import ContainerRun
from kubedl.history.logs.log_metrics import LogMetrics
from kubedl.history.logs.log_reader import Log, LogGoneError, LogUnreadableError
from kubedl.history.sink import RejectedError, SinkUnavailableError

WORKERS = 2  # each holds one log in memory
MOST_WAITING = 20_000  # pods
MOST_DONE = 200_000  # pods whose logs are known to be stored; of others the database is asked
READ_TRIES = 6  # of one log: a node that is lost may never come back
RECORD_TRIES = 60  # for the row of a pod, which is written by the recorder at about the same time
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
RECORD_PAUSE = 2.0

log = structlog.get_logger()


@dataclass(frozen=True)
class StoredLog:
    """Where a log is."""

    location: str
    restart: int
    cut: bool


class Reader(Protocol):
    """Reads logs."""

    async def read(self, run: ContainerRun) -> Log:
        """Return the log of a run."""


class Storage(Protocol):
    """Keeps logs."""

    async def store(self, run: ContainerRun, body: bytes, *, cut: bool) -> str:
        """Write a log, and return its location."""


class Records(Protocol):
    """Knows which logs are stored."""

    async def newest(self, run: ContainerRun) -> int | None:
        """Return the restart of the newest stored log of a pod; None if there is none."""

    async def record(self, run: ContainerRun, stored: StoredLog) -> bool:
        """Record a log; returns whether the pod has a row."""


class LogArchive:
    """The logs of one cluster."""

    def __init__(
        self,
        reader: Reader,
        storage: Storage,
        records: Records,
        metrics: LogMetrics,
        *,
        may_write: Callable[[], None] = lambda: None,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """`may_write` is called before every upload, and ends the process if it is not the leader any more."""
        self._reader, self._storage, self._records, self._metrics = reader, storage, records, metrics
        self._may_write, self._most = may_write, most_waiting
        self._waiting: OrderedDict[str, tuple[Sequence[ContainerRun], float]] = OrderedDict()  # by uid, since when
        self._unrecorded: OrderedDict[tuple[str, int], tuple[ContainerRun, StoredLog]] = OrderedDict()
        self._active: dict[str, float] = {}  # since when, by uid
        self._done: OrderedDict[str, int] = OrderedDict()  # restart of the newest log, by uid
        self._filled, self._stored = asyncio.Event(), asyncio.Event()
        self._pause = FIRST_PAUSE
        metrics.watch(lambda: len(self._waiting) + len(self._active), self._age)

    def observed(self, uid: str, runs: Sequence[ContainerRun], *, deleted: bool) -> None:
        """Note the ended runs of a pod; of a deleted pod no log can be read any more."""
        if deleted:
            if self._waiting.pop(uid, None) is not None:
                self._metrics.ended("gone")
            self._done.pop(uid, None)
            return
        due = [run for run in runs if run.restart > self._done.get(uid, -1)]
        if not due:
            return
        _, since = self._waiting.get(uid, ((), asyncio.get_running_loop().time()))
        self._waiting[uid] = (due, since)
        while len(self._waiting) > self._most:
            self._waiting.popitem(last=False)
            self._metrics.ended("dropped")
        self._filled.set()

    async def run(self) -> None:
        """Archive until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())
            group.create_task(self._record())

    async def _work(self) -> None:
        while True:
            await self._filled.wait()
            uid = next((one for one in self._waiting if one not in self._active), None)
            if uid is None:
                self._filled.clear()
                continue
            runs, self._active[uid] = self._waiting.pop(uid)
            try:
                for run in runs:
                    await self._archive(run)
            finally:
                del self._active[uid]
                self._filled.set()  # the pod may have been observed again meanwhile

    async def _archive(self, run: ContainerRun) -> None:
        if run.restart <= self._done.get(run.uid, -1):
            return
        known = await self._newest(run)
        if known is None or known < run.restart:
            read = await self._read(run)
            if read is not None:
                body = await asyncio.to_thread(gzip.compress, read.marked(), mtime=0)
                location = await self._store(run, body, cut=read.cut)
                if location is not None:
                    self._remember(run, StoredLog(location, run.restart, read.cut))
                    self._metrics.ended("cut" if read.cut else "whole", len(body))
        self._done[run.uid] = run.restart
        if len(self._done) > MOST_DONE:  # those of pods that were deleted meanwhile would stay
            self._done.popitem(last=False)

    async def _newest(self, run: ContainerRun) -> int | None:
        try:
            return await self._records.newest(run)
        except (SinkUnavailableError, RejectedError):
            return None  # to upload it again does no harm; to wait may lose it

    async def _read(self, run: ContainerRun) -> Log | None:
        for attempt in range(READ_TRIES):
            try:
                return await self._reader.read(run)
            except LogGoneError as error:
                log.info("a log is gone", pod=str(run.pod), container=run.container, reason=str(error)[:300])
                self._metrics.ended("gone")
                return None
            except LogUnreadableError as error:
                log.warning("cannot read a log", pod=str(run.pod), container=run.container, error=str(error)[:300])
                await asyncio.sleep(_spread(FIRST_PAUSE * 4**attempt))
        self._metrics.ended("failed")
        return None

    async def _store(self, run: ContainerRun, body: bytes, *, cut: bool) -> str | None:
        """Write a log, however long the bucket is down: the next ones would fail as well. None: only this one does."""
        while True:
            self._may_write()
            try:
                location = await self._storage.store(run, body, cut=cut)
            except ObjectRefusedError as error:
                self._metrics.ended("failed")
                log.warning("the storage refuses a log", pod=str(run.pod), bytes=len(body), error=str(error))
                return None
            except BucketError as error:
                self._metrics.failed()
                log.warning("cannot store a log", pod=str(run.pod), error=str(error), waiting=len(self._waiting))
                await asyncio.sleep(_spread(self._pause))
                self._pause = min(self._pause * 2, LONGEST_PAUSE)
            else:
                self._pause = FIRST_PAUSE
                return location

    def _remember(self, run: ContainerRun, stored: StoredLog) -> None:
        self._unrecorded[run.uid, run.restart] = (run, stored)
        while len(self._unrecorded) > self._most:  # it is stored all the same, and its key follows from its pod
            self._unrecorded.popitem(last=False)
        self._stored.set()

    async def _record(self) -> None:
        """Record what was stored, in order; a pod without a row is tried again a limited number of times."""
        tries: dict[tuple[str, int], int] = {}
        while True:
            await self._stored.wait()
            for key, (run, stored) in list(self._unrecorded.items()):
                try:
                    recorded = await self._records.record(run, stored)
                except SinkUnavailableError as error:
                    log.warning("cannot record logs", error=str(error), waiting=len(self._unrecorded))
                    break
                except RejectedError as error:
                    log.warning("the database rejects the place of a log", pod=str(run.pod), error=str(error))
                    recorded = True
                tries[key] = tries.get(key, 0) + 1
                if recorded or tries[key] >= RECORD_TRIES:
                    if not recorded:
                        log.warning("a pod with a log has no row", pod=str(run.pod), location=stored.location)
                    self._unrecorded.pop(key, None)
                    tries.pop(key, None)
            if not self._unrecorded:
                self._stored.clear()
            else:
                await asyncio.sleep(RECORD_PAUSE)

    def _age(self) -> float:
        oldest = min((*(since for _, since in self._waiting.values()), *self._active.values()), default=None)
        return asyncio.get_running_loop().time() - oldest if oldest is not None else 0.0


def _spread(seconds: float) -> float:
    return min(seconds, LONGEST_PAUSE) * (1 + random.random())  # noqa: S311 - only spreads load
