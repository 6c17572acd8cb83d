"""Token bucket for all API requests of a process, with the delay that an overloaded server asks for."""

import asyncio


class RateLimiter:
    """Allows `rate` requests per second with bursts of `burst`; first in, first out. Rate 0 means no limit."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        # The time when the bucket would be full; its distance from now is how empty the bucket is.
        self._full_at = 0.0
        self._paused_until = 0.0

    async def take(self) -> None:
        """Wait for a token."""
        loop = asyncio.get_running_loop()
        start = max(loop.time(), self._paused_until)
        if self._rate:
            self._full_at = max(self._full_at, start) + 1 / self._rate
            start = max(start, self._full_at - self._burst / self._rate)
        # Checked again after each sleep, as a pause also affects callers that wait already. A millisecond early is
        # fine.
        while (wait := max(start, self._paused_until) - loop.time()) > 0.001:  # noqa: ASYNC110 - waits for a time
            await asyncio.sleep(wait)

    def pause(self, seconds: float) -> None:
        """Pause all requests: the server is overloaded."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)


class OwnPauses(RateLimiter):
    """Takes tokens of another bucket. Its own pauses do not affect that one."""

    def __init__(self, shared: RateLimiter) -> None:
        super().__init__(0, 0)
        self._shared = shared

    async def take(self) -> None:
        """Wait for the end of the own pause, then for a token."""
        await super().take()
        await self._shared.take()
