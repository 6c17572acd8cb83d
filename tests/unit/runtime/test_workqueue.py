"""Keys are worked on once at a time, never lost, and later when asked."""

import asyncio
from itertools import cycle
from typing import Any

import looptime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.workqueue import FIRST_BACKOFF, LONGEST_BACKOFF, WorkQueue
from tests.hypothesis_settings import tried

A, B, C = (ObjectKey("team", name) for name in "abc")
pytestmark = pytest.mark.looptime(noop_cycles=0)


@pytest.fixture
def queue() -> WorkQueue:
    return WorkQueue(jitter=lambda: 0.5)


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(queue: WorkQueue) -> ObjectKey:
    """The next key, which comes one day."""
    return await asyncio.wait_for(queue.get(), 1000)


async def nothing_comes(queue: WorkQueue, seconds: float = 1000) -> bool:
    """Whether no key comes for so long."""
    try:
        await asyncio.wait_for(queue.get(), seconds)
    except TimeoutError:
        return True
    return False


async def test_first_come_first_served_and_each_once(queue: WorkQueue) -> None:
    for key in (A, B, A, C, B, A):
        queue.add(key)
    assert len(queue) == 3
    assert [await taken(queue) for _ in range(3)] == [A, B, C]
    assert len(queue) == 0
    assert await nothing_comes(queue)


async def test_a_key_that_is_worked_on_waits_for_its_end(queue: WorkQueue) -> None:
    queue.add(A)
    assert await taken(queue) == A
    queue.add(A)
    queue.add(A)
    assert len(queue) == 1
    assert await nothing_comes(queue)
    queue.done(A)
    assert await taken(queue) == A
    queue.done(A)
    assert await nothing_comes(queue)


async def test_a_key_that_comes_back_goes_to_the_end(queue: WorkQueue) -> None:
    queue.add(A)
    await taken(queue)
    queue.add(A)
    queue.add(B)
    queue.done(A)
    assert [await taken(queue), await taken(queue)] == [B, A]


@pytest.mark.parametrize(("delays", "expected"), [((30, 5, 60), [5]), ((5, 30), [5]), ((5, 0), [0])])
async def test_the_earliest_delay_counts(queue: WorkQueue, delays: tuple[float, ...], expected: list[float]) -> None:
    for delay in delays:
        queue.add_after(A, delay)
    came = []
    for at in expected:
        assert await taken(queue) == A
        came.append(now())
        queue.done(A)
        assert came[-1] == pytest.approx(at)
    assert await nothing_comes(queue)


async def test_a_delay_can_be_asked_for_again_when_it_is_over(queue: WorkQueue) -> None:
    queue.add_after(A, 5)
    await taken(queue)
    queue.add_after(A, 7)
    queue.done(A)
    assert await taken(queue) == A
    assert now() == pytest.approx(12)


async def test_a_delay_that_ends_during_work_is_not_lost(queue: WorkQueue) -> None:
    queue.add(A)
    await taken(queue)
    queue.add_after(A, 1)
    await asyncio.sleep(5)
    queue.done(A)
    assert await taken(queue) == A
    assert now() == pytest.approx(5)


async def test_a_change_is_not_held_up_by_a_delay(queue: WorkQueue) -> None:
    queue.add_after(A, 100)
    queue.add(A)
    assert await taken(queue) == A
    assert now() == 0


async def test_pauses_after_failures_double_up_to_a_limit(queue: WorkQueue) -> None:
    pauses = []
    for _ in range(20):
        pauses.append(queue.add_rate_limited(A))
        began = now()
        assert await taken(queue) == A
        assert now() - began == pytest.approx(pauses[-1], abs=1e-5)
        queue.done(A)
    assert pauses[:4] == pytest.approx([FIRST_BACKOFF * factor for factor in (1, 2, 4, 8)])
    assert pauses[-5:] == [LONGEST_BACKOFF] * 5
    assert queue.add_rate_limited(B) == pytest.approx(FIRST_BACKOFF)  # each key for itself
    queue.forget(A)
    assert queue.add_rate_limited(A) == pytest.approx(FIRST_BACKOFF)


async def test_pauses_are_spread(queue: WorkQueue) -> None:
    """Keys that fail together do not come back together."""
    draws = iter([0.0, 0.999])
    spread = WorkQueue(jitter=lambda: next(draws))
    assert spread.add_rate_limited(A) == pytest.approx(FIRST_BACKOFF / 2)
    assert spread.add_rate_limited(B) == pytest.approx(FIRST_BACKOFF * 1.5, rel=0.01)


@pytest.mark.parametrize("waiting", [1, 2])
async def test_a_taker_that_is_cancelled_with_a_key_in_hand_passes_it_on(queue: WorkQueue, waiting: int) -> None:
    """It was woken, and cancelled before it ran."""
    takers = [asyncio.ensure_future(queue.get()) for _ in range(waiting)]
    await asyncio.sleep(0)
    queue.add(A)
    takers[0].cancel()
    last = takers[1] if waiting == 2 else asyncio.ensure_future(queue.get())
    assert await asyncio.wait_for(last, 1) == A
    assert takers[0].cancelled()


async def test_namespaces_take_turns(queue: WorkQueue) -> None:
    """However many keys one of them has."""
    many, few = (
        [ObjectKey("large", str(number)) for number in range(100)],
        [ObjectKey("small", str(number)) for number in range(3)],
    )
    for key in (*many, *few):
        queue.add(key)
    first = [await taken(queue) for _ in range(6)]
    assert [key for key in first if key.namespace == "small"] == few


async def test_long_work_for_one_namespace_leaves_workers_for_others() -> None:
    """Half of those that are left, to each that comes."""
    queue = WorkQueue(workers=8)
    for namespace in ("first", "second", "third"):
        for number in range(100):
            queue.add(ObjectKey(namespace, str(number)))
        counted = 0
        while not await nothing_comes(queue, 1):
            counted += 1
        assert counted == {"first": 4, "second": 2, "third": 1}[namespace]


async def test_a_namespace_goes_on_when_work_of_it_ends() -> None:
    """And those who wait are woken, whoever ends."""
    queue = WorkQueue(workers=4)
    for number in range(100):
        queue.add(ObjectKey("one", str(number)))
    begun = [await taken(queue), await taken(queue)]
    waiting = asyncio.ensure_future(queue.get())
    await asyncio.sleep(1)
    assert not waiting.done()
    queue.done(begun[0])
    assert (await asyncio.wait_for(waiting, 1)).name == "2"


@given(
    names=st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 5)), max_size=40),
    workers=st.integers(3, 8),
    pauses=st.lists(st.sampled_from([0.0, 0.0, 1.0, 3.0]), min_size=1, max_size=7),
)
@tried(50)
def test_no_key_waits_while_a_worker_rests_that_may_take_it(
    names: list[tuple[str, int]], workers: int, pauses: list[float]
) -> None:
    """Workers are woken only for what they may take; whatever namespaces the keys are of, all of them are reached."""
    queue, reached, pause = WorkQueue(workers=workers), set[ObjectKey](), cycle(pauses)

    async def work() -> None:
        while True:
            key = await queue.get()
            await asyncio.sleep(next(pause))
            reached.add(key)
            queue.done(key)

    async def run() -> None:
        tasks = [asyncio.ensure_future(work()) for _ in range(workers)]
        for namespace, number in names:
            queue.add(ObjectKey(namespace, str(number)))
            await asyncio.sleep(next(pause) / 10)
        await asyncio.sleep(3 * len(names) + 1)
        for task in tasks:
            task.cancel()

    loop = looptime.new_event_loop()
    try:
        loop.run_until_complete(run())
    finally:
        loop.close()
    assert reached == {ObjectKey(namespace, str(number)) for namespace, number in names}
    assert len(queue) == 0


async def test_workers_are_not_woken_for_keys_that_they_may_not_take() -> None:
    """A namespace with all the work that it may have costs those who rest nothing."""
    queue = WorkQueue(workers=4)
    for number in range(2):
        queue.add(ObjectKey("one", str(number)))
        await taken(queue)
    resting = [asyncio.ensure_future(queue.get()) for _ in range(2)]
    await asyncio.sleep(1)
    before = list(queue._arrivals)  # noqa: SLF001 - nobody else sees who was woken
    for number in range(10, 20):
        queue.add(ObjectKey("one", str(number)))
    assert [arrival.done() for arrival in before] == [False, False]
    queue.add(ObjectKey("other", "0"))
    assert [arrival.done() for arrival in before] == [True, False]
    for task in resting:
        task.cancel()


class QueueMachine(RuleBasedStateMachine):
    """The queue beside a model: what is owed, what is worked on, what is due later."""

    keys = st.sampled_from([A, B, C])
    delays = st.sampled_from([0.0, 1.0, 2.0, 30.0])

    def __init__(self) -> None:
        super().__init__()
        self.loop = looptime.new_event_loop(noop_cycles=0)
        self.queue = WorkQueue(jitter=lambda: 0.5)
        self.takers: list[asyncio.Task[ObjectKey]] = []
        self.owed: set[ObjectKey] = set()
        self.working: set[ObjectKey] = set()
        self.due: dict[ObjectKey, float] = {}
        self.failures: dict[ObjectKey, int] = {}

    def teardown(self) -> None:
        for taker in self.takers:
            taker.cancel()
        self.loop.run_until_complete(asyncio.sleep(0.001))
        self.loop.close()

    @rule(key=keys)
    def add(self, key: ObjectKey) -> None:
        self.queue.add(key)
        self.owed.add(key)
        self.settle()

    @rule(key=keys, seconds=delays)
    def add_after(self, key: ObjectKey, seconds: float) -> None:
        self.inside(self.queue.add_after, key, seconds)
        self.due[key] = min(self.due.get(key, float("inf")), self.loop.time() + seconds)
        self.settle()

    @rule(key=keys)
    def fail(self, key: ObjectKey) -> None:
        pause = self.inside(self.queue.add_rate_limited, key)
        assert pause == pytest.approx(min(FIRST_BACKOFF * 2 ** self.failures.get(key, 0), LONGEST_BACKOFF))
        self.failures[key] = self.failures.get(key, 0) + 1
        self.due[key] = min(self.due.get(key, float("inf")), self.loop.time() + pause)

    @rule(key=keys)
    def succeed(self, key: ObjectKey) -> None:
        self.queue.forget(key)
        self.failures.pop(key, None)

    @rule()
    def take(self) -> None:
        self.takers.append(self.loop.create_task(self.queue.get()))
        self.settle()

    @precondition(lambda self: self.takers)
    @rule(data=st.data(), key=keys)
    def add_and_cancel(self, data: st.DataObject, key: ObjectKey) -> None:
        """In one moment, so that the cancelled one may have been woken already."""
        taker = data.draw(st.sampled_from(self.takers), label="taker")
        self.queue.add(key)
        self.owed.add(key)
        taker.cancel()
        self.settle()

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)), label="key")
        self.queue.done(key)
        self.working.remove(key)
        self.settle()

    @rule(seconds=delays)
    def wait(self, seconds: float) -> None:
        self.settle(seconds)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert len(self.queue) == len(self.owed)
        assert not (self.takers and self.owed - self.working), "somebody waits for a key that is there"

    def inside(self, call: Any, *arguments: object) -> Any:  # noqa: ANN401 - any method of the queue
        async def run() -> Any:  # noqa: ANN401
            return call(*arguments)

        return self.loop.run_until_complete(run())

    def settle(self, seconds: float = 0) -> None:
        """Let time pass and see who got what."""
        self.loop.run_until_complete(asyncio.sleep(seconds + 0.001))
        for key, at in list(self.due.items()):
            if at <= self.loop.time() + 1e-6:
                self.owed.add(key)
                del self.due[key]
        for taker in [taker for taker in self.takers if taker.done()]:
            self.takers.remove(taker)
            if not taker.cancelled():
                key = taker.result()
                assert key in self.owed, "came without being asked for"
                assert key not in self.working, "worked on twice at a time"
                self.owed.remove(key)
                self.working.add(key)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(tried(daily=25), stateful_step_count=40)
