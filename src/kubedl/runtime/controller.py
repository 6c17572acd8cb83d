"""Works off a queue of keys: one reconcile at a time per key, several keys at once.

One object's failure never stops the loop: it is logged, counted and tried again later, while all others go on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import structlog

from kubedl.kube.errors import ApiError, ConflictError
from kubedl.runtime.gate import Gate
from kubedl.runtime.queue import Queue
from kubedl.runtime.store import Store
from kubedl.wire.meta import Key, ObjectT

LOOK_AGAIN = 1.0  # seconds, while a cache is behind; normally its event wakes the key before

log = structlog.get_logger()

Reconcile = Callable[[Key], Awaitable[float | None]]


class Observer(Protocol):
    """Told of each reconcile; the runtime counts them in its metrics."""

    def reconciled(self, controller: str, seconds: float, error: bool) -> None:
        """One reconcile ended."""


class Controller:
    """Calls `reconcile(key)` for every key that may need it; it returns when to look again, in seconds, or None.

    As many keys of one namespace as there are `workers` are worked on at once, and of all together twice as many.
    """

    def __init__(
        self, name: str, reconcile: Reconcile, *, gate: Gate, workers: int = 32, observer: Observer | None = None
    ) -> None:
        self.name = name
        self.queue = Queue(workers=2 * workers)
        self._reconcile = reconcile
        self._gate = gate
        self._workers = workers
        self._observer = observer

    def watch(self, store: Store[ObjectT], keys: Callable[[ObjectT], Iterable[Key]]) -> None:
        """Look at the keys that an object stands for whenever it changes, before and after."""

        def changed(old: ObjectT | None, new: ObjectT | None) -> None:
            for version in (old, new):
                if version is not None:
                    for key in keys(version):
                        self.queue.add(key)

        store.subscribe(changed)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(2 * self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self.queue.take()
            try:
                await self._attend(key)
            finally:
                self.queue.done(key)

    async def _attend(self, key: Key) -> None:
        if self._gate.closed(key):
            self.queue.add_after(key, LOOK_AGAIN)
            return
        loop = asyncio.get_running_loop()
        began, failed = loop.time(), True
        try:
            again = await self._reconcile(key)
            failed = False
            self.queue.succeeded(key)
            if again is not None:
                self.queue.add_after(key, again)
        except ConflictError as error:
            # Somebody wrote in between; the cache is about to show it.
            log.debug("changed in between", controller=self.name, key=str(key), error=str(error))
            self.queue.add_failed(key)
        except ApiError as error:
            pause = self.queue.add_failed(key)
            log.warning("refused", controller=self.name, key=str(key), error=str(error), again_in=round(pause, 2))
        except Exception:
            pause = self.queue.add_failed(key)
            log.exception("reconcile failed", controller=self.name, key=str(key), again_in=round(pause, 2))
        finally:
            if self._observer is not None:
                self._observer.reconciled(self.name, loop.time() - began, failed)
