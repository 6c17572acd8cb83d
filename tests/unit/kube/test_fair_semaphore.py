"""Groups share places in turn, and no place is lost."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube.fair_semaphore import FairSemaphore
from tests.hypothesis_settings import tried


async def _let_all_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_group_alone_has_all_places() -> None:
    """Nothing is kept free for those who do not come."""
    room = FairSemaphore(64)
    for _ in range(64):
        await asyncio.wait_for(room.acquire("alone"), 1)


async def test_a_group_with_few_calls_does_not_wait_for_all_of_another() -> None:
    """A thousand creations of one namespace are waiting; another one's calls are among the next."""
    room, order = FairSemaphore(4), list[str]()

    async def call(group: str) -> None:
        await room.acquire(group)
        order.append(group)
        await asyncio.sleep(0)
        room.release()

    many = [asyncio.create_task(call("large")) for _ in range(1000)]
    await _let_all_run()
    before = len(order)
    few = [asyncio.create_task(call("small")) for _ in range(3)]
    await asyncio.gather(*few)
    assert len(order) - before < 40
    await asyncio.gather(*many)
    assert order.count("large") == 1000


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40), st.integers(1, 4))
@tried(100)
def test_no_place_is_lost_when_callers_are_cancelled(callers: list[tuple[str, bool]], places: int) -> None:
    """Whether they wait or were just given a place."""

    async def scenario() -> None:
        room, inside, most = FairSemaphore(places), 0, 0

        async def call(group: str) -> None:
            nonlocal inside, most
            await room.acquire(group)
            inside += 1
            most = max(most, inside)
            try:
                await asyncio.sleep(0)
            finally:
                inside -= 1
                room.release()

        tasks = [asyncio.create_task(call(group)) for group, _ in callers]
        await asyncio.sleep(0)
        for task, (_, cancelled) in zip(tasks, callers, strict=True):
            if cancelled:
                task.cancel()
                await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert most <= places
        for _ in range(places):
            await asyncio.wait_for(room.acquire("after"), 1)

    asyncio.run(scenario())
