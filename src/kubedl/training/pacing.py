"""Limits how often large jobs are planned: planning time grows with the replicas, and all jobs share one event loop.

The large jobs of one namespace use at most about a twentieth of the loop's time, so a namespace full of them delays its
own jobs first. A job of 10,000 replicas is planned at most every two seconds, ten such jobs of one namespace every
twenty seconds each; jobs of up to 500 replicas are planned on every event.
"""

import time
from collections.abc import Awaitable, Callable

from kubedl.api.training import TrainingJob
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.store import Store

LARGE = 500  # replicas; planning takes 5 ms
SPACING = 0.0002  # seconds per replica, of which planning takes a twentieth

Reconcile = Callable[[ObjectKey], Awaitable[float | None]]


class Pacing:
    """The turns of large jobs, of all kinds: first in, first out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """The clock is one that is never set: else large jobs could wait for as long as it was set back."""
        self._clock = clock
        self._free_at: dict[str, float] = {}  # time of the next turn by namespace

    def around(self, jobs: Store[TrainingJob], reconcile: Reconcile) -> Reconcile:
        """Return the controller's reconcile function, in which large jobs wait for their turn."""
        turns: dict[ObjectKey, float] = {}

        async def look(key: ObjectKey) -> float | None:
            resource, now = jobs.get(key), self._clock()
            turn = turns.pop(key, None)
            size = sum(role.replicas for role in resource.spec.replica_specs.values()) if resource is not None else 0
            if size <= LARGE:
                return await reconcile(key)
            turn = turn or self._next(key.namespace, size, now)
            if turn <= now:
                return await reconcile(key)
            turns[key] = turn
            return turn - now

        return look

    def _next(self, namespace: str, size: int, now: float) -> float:
        turn = max(now, self._free_at.get(namespace, now))
        self._free_at[namespace] = turn + size * SPACING
        return turn
