"""Many calls for one object, so many at a time: the calls of others must find room between them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

AT_ONCE = 64  # as many as the client has connections


async def each(
    work: Callable[[ItemT], Awaitable[ResultT]], items: Sequence[ItemT], at_once: int = AT_ONCE
) -> list[ResultT]:
    """Do the work for every item; returns the results in no order.

    All of it is done before the first error is raised: a refusal of one must not leave the outcome of others unknown.
    """
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
