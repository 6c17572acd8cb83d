"""Something that runs while a test looks on, and must not end by itself."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run this beside the test."""
    task = asyncio.ensure_future(work)
    try:
        yield
        assert not task.done(), "it ended by itself"
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
