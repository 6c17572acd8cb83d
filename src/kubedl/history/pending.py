"""Observations that wait to be written: one for each object, the newest, and a bounded number of them.

When there are too many, states of objects that still exist are dropped first, oldest first: listing the objects again
brings them back. Last states of deleted objects are dropped only if nothing else is left, and counted.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from kubedl.history.observation import OBSERVED, Change, Closing, Observation, RowKey

MOST = 50_000  # about 100 MB


class Pending:
    """The queue of one sink."""

    def __init__(
        self,
        *,
        most: int = MOST,
        forgotten: Callable[[RowKey], None] = lambda _: None,
        lost: Callable[[RowKey], None] = lambda _: None,
    ) -> None:
        """`forgotten` is called for dropped states that a list brings back, `lost` for those that nothing does."""
        self._most, self._forgotten, self._lost = most, forgotten, lost
        self._live: OrderedDict[RowKey, Change] = OrderedDict()
        self._last: OrderedDict[RowKey, Change] = OrderedDict()
        self._filled, self._low = asyncio.Event(), asyncio.Event()
        self._low.set()

    def __len__(self) -> int:
        return len(self._live) + len(self._last)

    def __contains__(self, key: RowKey) -> bool:
        return key in self._live or key in self._last

    def oldest(self) -> float | None:
        """Return when the oldest waiting observation was made, in monotonic seconds."""
        heads = [next(iter(queue.values())).observed for queue in (self._live, self._last) if queue]
        return min(heads, default=None)

    def add(self, change: Change) -> None:
        """Add an observation. It replaces an older one of the same object and keeps its place."""
        key = change.key
        before = self._live.get(key) or self._last.get(key)
        if isinstance(change, Closing):
            if isinstance(before, Observation):
                change = before if before.deleted else before.missed(change.noticed)
            elif before is not None:
                return
        elif isinstance(before, Observation):
            if before.version > change.version or (before.version == change.version and _was_seen_deleted(before)):
                return
            change = replace(change, observed=before.observed)
        wanted, other = (self._last, self._live) if _is_last(change) else (self._live, self._last)
        other.pop(key, None)
        wanted[key] = change
        self._filled.set()
        while len(self) > self._most:
            self._drop()
        if len(self) > self._most // 2:
            self._low.clear()

    def take(self, number: int) -> list[Change]:
        """Remove and return the oldest observations; last states first, since nothing else has them."""
        batch: list[Change] = []
        for queue in (self._last, self._live):
            while queue and len(batch) < number:
                batch.append(queue.popitem(last=False)[1])
        if not len(self):
            self._filled.clear()
        if len(self) <= self._most // 2:
            self._low.set()
        return batch

    async def wait(self) -> None:
        """Wait until there is an observation."""
        await self._filled.wait()

    async def half_empty(self) -> None:
        """Wait until there is room for what a list brings back."""
        await self._low.wait()

    def _drop(self) -> None:
        if self._live:
            self._forgotten(self._live.popitem(last=False)[0])
        else:
            self._lost(self._last.popitem(last=False)[0])


def _is_last(change: Change) -> bool:
    return isinstance(change, Closing) or change.deleted


def _was_seen_deleted(observation: Observation) -> bool:
    return observation.deleted and observation.values.get("deletion") == OBSERVED
