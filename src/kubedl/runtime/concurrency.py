"""Bounded concurrency for the many calls of one object, so that calls for other objects are not starved."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

AT_ONCE = 64  # the number of connections of the client


async def for_each(
    work: Callable[[ItemT], Awaitable[ResultT]], items: Sequence[ItemT], at_once: int = AT_ONCE
) -> list[ResultT]:
    """Run the function for every item; returns the results in any order.

    All calls complete before the first error is raised: one rejection must not leave the result of others unknown.
    """
    if not items:
        return []  # no task switch, which most calls do not need
    waiting, results, errors = iter(items), list[ResultT](), list[BaseException]()

    async def work_off() -> None:
        for item in waiting:
            try:
                results.append(await work(item))
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - raised below
                errors.append(error)

    await asyncio.gather(*(work_off() for _ in range(min(at_once, len(items)))))
    if errors:
        raise errors[0]
    return results
