"""Many calls, so many at a time, all of them done."""

import asyncio

import pytest

from kubedl.runtime.concurrency import AT_ONCE, for_each


async def test_no_more_than_so_many_run_at_once() -> None:
    """And all are done."""
    running, most = 0, 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number

    assert sorted(await for_each(work, range(1000))) == list(range(1000))
    assert most == AT_ONCE == 64


async def test_an_error_does_not_leave_others_undone() -> None:
    """It is raised when all have ended."""
    done = []

    async def work(number: int) -> None:
        await asyncio.sleep(0)
        if number == 0:
            raise ValueError("first")
        done.append(number)

    with pytest.raises(ValueError, match="first"):
        await for_each(work, range(100), 8)
    assert done == list(range(1, 100))


async def test_nothing_to_do_takes_no_turn_of_the_loop() -> None:
    """Most plans delete and confirm nothing."""
    nothing = for_each(asyncio.sleep, list[float]())
    with pytest.raises(StopIteration) as ended:
        nothing.send(None)
    assert ended.value.value == []
