"""A semaphore shared fairly by groups of callers, however many calls one group has waiting."""

import asyncio
from collections import OrderedDict, deque


class FairSemaphore:
    """Grants a free slot at once. When all are taken, waiting groups get them in turn.

    Within a group: first in, first out.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # only while no slot is free

    async def acquire(self, group: str) -> None:
        """Take a slot; `release` must follow."""
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # cancelled after the slot was granted: pass it on
            raise

    def release(self) -> None:
        """Release a slot."""
        while self._waiting:
            group, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[group] = turns  # to the end of the queue
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
