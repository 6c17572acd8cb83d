"""How often large jobs are planned: it takes time in proportion to their replicas, and all jobs share one event loop.

Plans of the large jobs of one namespace take about a twentieth of the loop's time at most, so that whoever fills a
namespace with them delays himself first. A job of 10,000 replicas is planned once in two seconds at most, ten such jobs
of one namespace once in twenty seconds each; jobs of up to 500 replicas, as often as something happens.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from kubedl.api.training import TrainingJob
from kubedl.runtime.store import Store
from kubedl.wire.meta import Key

LARGE = 500  # replicas; planning takes 5 ms
SPACING = timedelta(microseconds=200)  # per replica, of which planning takes 10

Reconcile = Callable[[Key], Awaitable[float | None]]


class Pace:
    """The turns of large jobs, of all kinds. A turn that was given is kept: first come, first served."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._free_at: dict[str, datetime] = {}  # by namespace, when its next turn is

    def around(self, jobs: Store[TrainingJob], reconcile: Reconcile) -> Reconcile:
        """The same for the jobs of a kind, but that large ones wait for their turn."""
        turns: dict[Key, datetime] = {}

        async def look(key: Key) -> float | None:
            made, now = jobs.get(key), self._clock()
            turn = turns.pop(key, None)
            size = sum(role.replicas for role in made.spec.replica_specs.values()) if made is not None else 0
            if size <= LARGE:
                return await reconcile(key)
            turn = turn or self._next(key.namespace, size, now)
            if turn <= now:
                return await reconcile(key)
            turns[key] = turn
            return (turn - now).total_seconds()

        return look

    def _next(self, namespace: str, size: int, now: datetime) -> datetime:
        turn = max(now, self._free_at.get(namespace, now))
        self._free_at[namespace] = turn + size * SPACING
        return turn
