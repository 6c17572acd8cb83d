"""A work queue of keys: no duplicates, no concurrent processing of one key, delays and backoff per key.

It holds keys, never events, so any number of events in any order lead to the same work.

Namespaces take turns, and none may occupy all workers: long reconciles of one namespace always leave room for others.
"""

import asyncio
import random
from collections import Counter, OrderedDict, deque
from collections.abc import Callable

from kubedl.kube.types.meta import ObjectKey

FIRST_BACKOFF, LONGEST_BACKOFF = 0.05, 60.0


class WorkQueue:
    """First in, first out, within a namespace."""

    def __init__(self, jitter: Callable[[], float] = random.random, workers: int | None = None) -> None:
        """Without `workers`, a namespace may have any number of keys in process."""
        self._workers = workers
        self._ready: OrderedDict[str, deque[ObjectKey]] = OrderedDict()  # by namespace, in the order of their turns
        self._waiting: set[ObjectKey] = set()  # in _ready, or to be added when its processing is done
        self._working: set[ObjectKey] = set()
        self._worked_on: Counter[str] = Counter()  # keys in process by namespace
        self._timers: dict[ObjectKey, asyncio.TimerHandle] = {}
        self._failures: dict[ObjectKey, int] = {}
        self._arrivals: deque[asyncio.Future[None]] = deque()
        self._woken = 0  # workers that were woken but have not taken a key yet
        self._jitter = jitter

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: ObjectKey) -> None:
        """Enqueue the key: something may have changed."""
        if key in self._waiting:
            return
        self._waiting.add(key)
        if key not in self._working:
            self._push(key)

    def add_after(self, key: ObjectKey, seconds: float) -> None:
        """Enqueue the key after a delay; the earliest of several delays counts."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= due:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(due, self._due, key)

    def add_rate_limited(self, key: ObjectKey) -> float:
        """Enqueue the key with exponential backoff after a failure. Returns the delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        pause: float = min(FIRST_BACKOFF * 2 ** min(failures, 16), LONGEST_BACKOFF) * (0.5 + self._jitter())
        self.add_after(key, pause)
        return pause

    def forget(self, key: ObjectKey) -> None:
        """Reset the backoff of the key after a success."""
        self._failures.pop(key, None)

    async def get(self) -> ObjectKey:
        """Return the next key; `done` must follow."""
        while (key := self._next()) is None:
            arrival = asyncio.get_running_loop().create_future()
            self._arrivals.append(arrival)
            try:
                await arrival
            except asyncio.CancelledError:
                if arrival.done() and not arrival.cancelled():
                    self._woken -= 1
                    self._wake()  # cancelled: the key must not wait for this worker
                raise
            self._woken -= 1
        self._waiting.discard(key)
        self._working.add(key)
        self._worked_on[key.namespace] += 1
        self._wake_next()  # a finished key may make room for two namespaces
        return key

    def done(self, key: ObjectKey) -> None:
        """Mark the processing of the key as ended."""
        self._working.discard(key)
        self._worked_on[key.namespace] -= 1
        if not self._worked_on[key.namespace]:
            del self._worked_on[key.namespace]
        if key in self._waiting:
            self._ready.setdefault(key.namespace, deque()).append(key)
        self._wake_next()

    def _push(self, key: ObjectKey) -> None:
        self._ready.setdefault(key.namespace, deque()).append(key)
        if self._has_room(key.namespace):
            self._wake()

    def _has_room(self, namespace: str) -> bool:
        """Return whether the namespace may have one more key in process."""
        return self._workers is None or self._worked_on[namespace] < self._workers - len(self._working)

    def _next(self) -> ObjectKey | None:
        """Return the next key of the first namespace that has room."""
        for namespace, keys in self._ready.items():
            if self._has_room(namespace):
                key = keys.popleft()
                del self._ready[namespace]
                if keys:
                    self._ready[namespace] = keys  # to the end of the queue
                return key
        return None

    def _wake_next(self) -> None:
        """Wake one more worker, if there is a key for it. A worker that is already woken does the same when it runs."""
        if self._arrivals and not self._woken and any(map(self._has_room, self._ready)):
            self._wake()

    def _wake(self) -> None:
        while self._arrivals:
            arrival = self._arrivals.popleft()
            if not arrival.done():
                arrival.set_result(None)
                self._woken += 1
                return

    def _due(self, key: ObjectKey) -> None:
        del self._timers[key]
        self.add(key)
