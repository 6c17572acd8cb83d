"""A queue of keys: each at most once, none worked on twice at a time, delays and backoff per key.

It holds keys and never events, so any number of events, in any order, lead to the same work.

Namespaces take turns, and none may have more keys worked on than there are workers left for others: long work for one
namespace always leaves room for the next.
"""

import asyncio
import random
from collections import Counter, OrderedDict, deque
from collections.abc import Callable

from kubedl.wire.meta import Key

FIRST_BACKOFF, LONGEST_BACKOFF = 0.05, 60.0


class Queue:
    """First come, first served, within a namespace."""

    def __init__(self, jitter: Callable[[], float] = random.random, workers: int | None = None) -> None:
        """Without a number of workers, a namespace may have any number of keys worked on."""
        self._workers = workers
        self._ready: OrderedDict[str, deque[Key]] = OrderedDict()  # by namespace, in the order of their turns
        self._waiting: set[Key] = set()  # in _ready, or to be put there when its work is done
        self._working: set[Key] = set()
        self._worked_on: Counter[str] = Counter()  # keys of each namespace
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._arrivals: deque[asyncio.Future[None]] = deque()
        self._jitter = jitter

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: Key) -> None:
        """Something may have changed for this key."""
        if key in self._waiting:
            return
        self._waiting.add(key)
        if key not in self._working:
            self._push(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Look at this key later; the earliest of several delays counts."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= due:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(due, self._due, key)

    def add_failed(self, key: Key) -> float:
        """Work on this key failed: try again after a pause that doubles each time. Returns the pause."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        pause: float = min(FIRST_BACKOFF * 2 ** min(failures, 16), LONGEST_BACKOFF) * (0.5 + self._jitter())
        self.add_after(key, pause)
        return pause

    def succeeded(self, key: Key) -> None:
        """Work on this key went well: its next failure is a first one."""
        self._failures.pop(key, None)

    async def take(self) -> Key:
        """The next key; `done` must follow."""
        while (key := self._next()) is None:
            arrival = asyncio.get_running_loop().create_future()
            self._arrivals.append(arrival)
            try:
                await arrival
            except asyncio.CancelledError:
                if arrival.done() and not arrival.cancelled():
                    self._wake()  # the key that we were woken for must not wait for us
                raise
        self._waiting.discard(key)
        self._working.add(key)
        self._worked_on[key.namespace] += 1
        if self._ready:
            self._wake()  # the end of one key's work may have made room for two namespaces
        return key

    def done(self, key: Key) -> None:
        """Work on this key has ended, well or badly."""
        self._working.discard(key)
        self._worked_on[key.namespace] -= 1
        if not self._worked_on[key.namespace]:
            del self._worked_on[key.namespace]
        if key in self._waiting:
            self._push(key)
        elif self._ready:
            self._wake()

    def _push(self, key: Key) -> None:
        self._ready.setdefault(key.namespace, deque()).append(key)
        self._wake()

    def _next(self) -> Key | None:
        """Of the first namespace that may have one more key worked on."""
        left = self._workers - len(self._working) if self._workers is not None else None
        for namespace, keys in self._ready.items():
            if left is None or self._worked_on[namespace] < left:
                key = keys.popleft()
                del self._ready[namespace]
                if keys:
                    self._ready[namespace] = keys  # behind all others
                return key
        return None

    def _wake(self) -> None:
        while self._arrivals:
            arrival = self._arrivals.popleft()
            if not arrival.done():
                arrival.set_result(None)
                return

    def _due(self, key: Key) -> None:
        del self._timers[key]
        self.add(key)
