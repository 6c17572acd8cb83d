"""One token bucket for all calls of a process, and the pause that a busy server asks for."""

import asyncio


class Limiter:
    """Lets `rate` calls a second pass, `burst` at once; first come, first served. Rate 0 means no limit."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        # The moment at which the bucket would be full; how far it lies ahead is how empty the bucket is.
        self._full_at = 0.0
        self._paused_until = 0.0

    async def take(self) -> None:
        """Wait for a token."""
        loop = asyncio.get_running_loop()
        start = max(loop.time(), self._paused_until)
        if self._rate:
            self._full_at = max(self._full_at, start) + 1 / self._rate
            start = max(start, self._full_at - self._burst / self._rate)
        # Asked again after each sleep: a pause binds those who wait already too. A millisecond early is in time.
        while (wait := max(start, self._paused_until) - loop.time()) > 0.001:  # noqa: ASYNC110 - waits for a time
            await asyncio.sleep(wait)

    def pause(self, seconds: float) -> None:
        """The server is busy: nobody calls for a while."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)
