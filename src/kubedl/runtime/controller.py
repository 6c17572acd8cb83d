"""Processes a work queue: one reconcile at a time per key, several keys at once.

A failing object never stops the loop: the error is logged and counted, and the key is retried later.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import structlog

from kubedl.kube.errors import ApiError, ConflictError, NamespaceTerminatingError
from kubedl.kube.types.meta import ObjectKey, ObjectT
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.store import Store
from kubedl.runtime.workqueue import WorkQueue

LOOK_AGAIN = 1.0  # seconds, while a cache is behind; usually its event wakes the key earlier

log = structlog.get_logger()

Reconcile = Callable[[ObjectKey], Awaitable[float | None]]


class Observer(Protocol):
    """Receives the result of each reconcile; used for metrics."""

    def reconciled(self, controller: str, seconds: float, error: bool) -> None:
        """Record the end of a reconcile."""


class Controller:
    """Calls `reconcile(key)` for every queued key; it returns after how many seconds to reconcile again, or None.

    Up to `workers` keys of one namespace are processed at once, and twice as many over all namespaces.
    """

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        expectations: Expectations,
        workers: int = 32,
        observer: Observer | None = None,
    ) -> None:
        self.name = name
        self.queue = WorkQueue(workers=2 * workers)
        self._reconcile = reconcile
        self._expectations = expectations
        self._workers = workers
        self._observer = observer

    def watch(self, store: Store[ObjectT], keys: Callable[[ObjectT], Iterable[ObjectKey]], owner: str = "") -> None:
        """Enqueue the keys derived from an object whenever it changes, from its old and its new state.

        With `owner`, only of objects whose controller is of this kind.
        """

        def changed(old: ObjectT | None, new: ObjectT | None) -> None:
            for version in (old, new):
                if version is not None:
                    for key in keys(version):
                        self.queue.add(key)

        store.subscribe(changed, owner)

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(2 * self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self._process(key)
            finally:
                self.queue.done(key)

    async def _process(self, key: ObjectKey) -> None:
        if self._expectations.pending(key):
            self.queue.add_after(key, LOOK_AGAIN)
            return
        loop = asyncio.get_running_loop()
        began, failed = loop.time(), True
        try:
            again = await self._reconcile(key)
            failed = False
            self.queue.forget(key)
            if again is not None:
                self.queue.add_after(key, again)
        except ConflictError as error:
            # Another client wrote in between; the cache will show it soon.
            log.debug("conflict, will retry", controller=self.name, key=str(key), error=str(error))
            self.queue.add_rate_limited(key)
        except NamespaceTerminatingError as error:
            # Nothing can be created in a terminating namespace, and the owner will be deleted with it.
            log.debug("namespace is being deleted", controller=self.name, key=str(key), error=str(error))
            self.queue.add_rate_limited(key)
        except ApiError as error:
            pause = self.queue.add_rate_limited(key)
            log.warning("refused", controller=self.name, key=str(key), error=str(error), again_in=round(pause, 2))
        except Exception:
            pause = self.queue.add_rate_limited(key)
            log.exception("reconcile failed", controller=self.name, key=str(key), again_in=round(pause, 2))
        finally:
            if self._observer is not None:
                self._observer.reconciled(self.name, loop.time() - began, failed)
