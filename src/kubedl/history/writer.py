"""Writes the observations of a queue to a sink, in batches, until cancelled.

A batch is tried until it is written. A row that the sink rejects is dropped, logged and counted, and costs the others
nothing. FencedError and SchemaError end the writer: this process must not write any more.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import structlog

from kubedl.history.observation import Change
from kubedl.history.pending import Pending
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.history.sink import Epoch, RejectedError, Sink, SinkUnavailableError

BATCH = 1000
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 15.0

log = structlog.get_logger()


class Writer:
    """The writer of one sink."""

    def __init__(
        self,
        sink: Sink,
        pending: Pending,
        metrics: RecorderMetrics,
        *,
        batch: int = BATCH,
        may_write: Callable[[], None] = lambda: None,
    ) -> None:
        self.pending = pending
        self.claimed = asyncio.Event()
        self._sink, self._metrics, self._batch, self._may_write = sink, metrics, batch, may_write
        self._pause = FIRST_PAUSE

    async def run(self, epoch: Epoch) -> None:
        """Claim the sink, then write until cancelled."""
        while not await self._tried(self._claim(epoch)):
            pass
        self.claimed.set()
        while True:
            await self.pending.wait()
            await self._write(self.pending.take(self._batch))

    async def _claim(self, epoch: Epoch) -> None:
        await self._sink.claim(epoch)
        log.info("claimed the sink", sink=self._sink.name, lease=epoch.lease_uid, transitions=epoch.transitions)

    async def _write(self, batch: Sequence[Change]) -> None:
        try:
            while not await self._tried(self._sink.write(batch)):
                pass
        except RejectedError as error:
            if len(batch) == 1:
                log.error(  # noqa: TRY400 - the message says it all
                    "the sink rejects a row, which is dropped",
                    sink=self._sink.name,
                    row=str(batch[0].key),
                    error=str(error),
                )
                self._metrics.rejected(self._sink.name)
                return
            middle = len(batch) // 2
            await self._write(batch[:middle])
            await self._write(batch[middle:])
            return
        self._metrics.written(self._sink.name, batch, asyncio.get_running_loop().time())

    async def _tried(self, attempt: Coroutine[Any, Any, None]) -> bool:
        """Return whether an attempt succeeded; after a failure, wait."""
        self._may_write()
        try:
            await attempt
        except SinkUnavailableError as error:
            self._metrics.failed(self._sink.name)
            pause = self._pause * (1 + random.random())  # noqa: S311 - only spreads load
            log.warning(
                "cannot write",
                sink=self._sink.name,
                error=str(error),
                again_in=round(pause, 1),
                waiting=len(self.pending),
            )
            await asyncio.sleep(pause)
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
            return False
        self._pause = FIRST_PAUSE
        return True
