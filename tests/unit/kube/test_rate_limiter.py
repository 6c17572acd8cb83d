"""The token bucket, in virtual time."""

import asyncio

import pytest

from kubedl.kube.rate_limiter import OwnPauses, RateLimiter

pytestmark = pytest.mark.looptime


async def _passed(limiter: RateLimiter, count: int) -> list[float]:
    """When each of so many callers, all there at once, was let through."""
    loop = asyncio.get_running_loop()

    async def call() -> float:
        await limiter.take()
        return round(loop.time(), 3)

    return list(await asyncio.gather(*(call() for _ in range(count))))


async def test_a_burst_passes_and_the_rest_keeps_the_rate() -> None:
    assert await _passed(RateLimiter(10, 3), 6) == [0, 0, 0, 0.1, 0.2, 0.3]


async def test_an_idle_bucket_fills_to_its_burst_and_no_further() -> None:
    limiter = RateLimiter(10, 2)
    await _passed(limiter, 2)
    await asyncio.sleep(60)
    assert await _passed(limiter, 3) == [60, 60, 60.1]


async def test_no_rate_is_no_limit() -> None:
    assert await _passed(RateLimiter(0, 0), 100) == [0] * 100


async def test_a_pause_holds_everybody() -> None:
    limiter = RateLimiter(0, 0)
    limiter.pause(5)
    limiter.pause(2)  # the longer one counts
    assert await _passed(limiter, 2) == [5, 5]


async def test_a_pause_holds_those_who_were_waiting_already() -> None:
    """Their turn would come in the middle of it."""
    limiter = RateLimiter(1, 1)
    waiting = asyncio.ensure_future(_passed(limiter, 3))
    await asyncio.sleep(0.5)
    limiter.pause(10)
    assert await waiting == [0, 10.5, 10.5]


async def test_own_pauses_hold_nobody_else() -> None:
    """Those of the others, and their rate, hold all."""
    shared = RateLimiter(10, 1)
    own = OwnPauses(shared)
    own.pause(5)
    assert await _passed(shared, 1) == [0]
    assert await _passed(own, 2) == [5, 5.1]
    shared.pause(4)
    assert await _passed(own, 1) == [9.1]
