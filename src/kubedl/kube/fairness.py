"""A limited number of places that groups of callers share fairly, however many calls one of them has waiting."""

import asyncio
from collections import OrderedDict, deque


class FairSemaphore:
    """Whoever comes while a place is free has it. When all are taken, groups that wait get them in turn.

    Within a group: first come, first served.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # only while none is free

    async def acquire(self, group: str) -> None:
        """Take a place; `release` must follow."""
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # the place was given to us, and we do not take it
            raise

    def release(self) -> None:
        """Give a place back."""
        while self._waiting:
            group, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[group] = turns  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
