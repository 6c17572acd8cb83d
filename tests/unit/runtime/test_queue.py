"""Keys are worked on once at a time, never lost, and later when asked."""

import asyncio
from typing import Any

import looptime
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kubedl.runtime.queue import FIRST_BACKOFF, LONGEST_BACKOFF, Queue
from kubedl.wire.meta import Key
from tests.properties import tried

A, B, C = (Key("team", name) for name in "abc")
pytestmark = pytest.mark.looptime


@pytest.fixture
def queue() -> Queue:
    return Queue(jitter=lambda: 0.5)


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(queue: Queue) -> Key:
    """The next key, which comes one day."""
    return await asyncio.wait_for(queue.take(), 1000)


async def nothing_comes(queue: Queue, seconds: float = 1000) -> bool:
    """Whether no key comes for so long."""
    try:
        await asyncio.wait_for(queue.take(), seconds)
    except TimeoutError:
        return True
    return False


async def test_first_come_first_served_and_each_once(queue: Queue) -> None:
    for key in (A, B, A, C, B, A):
        queue.add(key)
    assert len(queue) == 3
    assert [await taken(queue) for _ in range(3)] == [A, B, C]
    assert len(queue) == 0
    assert await nothing_comes(queue)


async def test_a_key_that_is_worked_on_waits_for_its_end(queue: Queue) -> None:
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


async def test_a_key_that_comes_back_goes_to_the_end(queue: Queue) -> None:
    queue.add(A)
    await taken(queue)
    queue.add(A)
    queue.add(B)
    queue.done(A)
    assert [await taken(queue), await taken(queue)] == [B, A]


@pytest.mark.parametrize(("delays", "expected"), [((30, 5, 60), [5]), ((5, 30), [5]), ((5, 0), [0])])
async def test_the_earliest_delay_counts(queue: Queue, delays: tuple[float, ...], expected: list[float]) -> None:
    for delay in delays:
        queue.add_after(A, delay)
    came = []
    for at in expected:
        assert await taken(queue) == A
        came.append(now())
        queue.done(A)
        assert came[-1] == pytest.approx(at)
    assert await nothing_comes(queue)


async def test_a_delay_can_be_asked_for_again_when_it_is_over(queue: Queue) -> None:
    queue.add_after(A, 5)
    await taken(queue)
    queue.add_after(A, 7)
    queue.done(A)
    assert await taken(queue) == A
    assert now() == pytest.approx(12)


async def test_a_delay_that_ends_during_work_is_not_lost(queue: Queue) -> None:
    queue.add(A)
    await taken(queue)
    queue.add_after(A, 1)
    await asyncio.sleep(5)
    queue.done(A)
    assert await taken(queue) == A
    assert now() == pytest.approx(5)


async def test_a_change_is_not_held_up_by_a_delay(queue: Queue) -> None:
    queue.add_after(A, 100)
    queue.add(A)
    assert await taken(queue) == A
    assert now() == 0


async def test_pauses_after_failures_double_up_to_a_limit(queue: Queue) -> None:
    pauses = []
    for _ in range(20):
        pauses.append(queue.add_failed(A))
        began = now()
        assert await taken(queue) == A
        assert now() - began == pytest.approx(pauses[-1], abs=1e-5)
        queue.done(A)
    assert pauses[:4] == pytest.approx([FIRST_BACKOFF * factor for factor in (1, 2, 4, 8)])
    assert pauses[-5:] == [LONGEST_BACKOFF] * 5
    assert queue.add_failed(B) == pytest.approx(FIRST_BACKOFF)  # each key for itself
    queue.succeeded(A)
    assert queue.add_failed(A) == pytest.approx(FIRST_BACKOFF)


async def test_pauses_are_spread(queue: Queue) -> None:
    """Keys that fail together do not come back together."""
    draws = iter([0.0, 0.999])
    spread = Queue(jitter=lambda: next(draws))
    assert spread.add_failed(A) == pytest.approx(FIRST_BACKOFF / 2)
    assert spread.add_failed(B) == pytest.approx(FIRST_BACKOFF * 1.5, rel=0.01)


@pytest.mark.parametrize("waiting", [1, 2])
async def test_a_taker_that_is_cancelled_with_a_key_in_hand_passes_it_on(queue: Queue, waiting: int) -> None:
    """It was woken, and cancelled before it ran."""
    takers = [asyncio.ensure_future(queue.take()) for _ in range(waiting)]
    await asyncio.sleep(0)
    queue.add(A)
    takers[0].cancel()
    last = takers[1] if waiting == 2 else asyncio.ensure_future(queue.take())
    assert await asyncio.wait_for(last, 1) == A
    assert takers[0].cancelled()


async def test_namespaces_take_turns(queue: Queue) -> None:
    """However many keys one of them has."""
    many, few = [Key("large", str(number)) for number in range(100)], [Key("small", str(number)) for number in range(3)]
    for key in (*many, *few):
        queue.add(key)
    first = [await taken(queue) for _ in range(6)]
    assert [key for key in first if key.namespace == "small"] == few


async def test_long_work_for_one_namespace_leaves_workers_for_others() -> None:
    """Half of those that are left, to each that comes."""
    queue = Queue(workers=8)
    for namespace in ("first", "second", "third"):
        for number in range(100):
            queue.add(Key(namespace, str(number)))
        counted = 0
        while not await nothing_comes(queue, 1):
            counted += 1
        assert counted == {"first": 4, "second": 2, "third": 1}[namespace]


async def test_a_namespace_goes_on_when_work_of_it_ends() -> None:
    """And those who wait are woken, whoever ends."""
    queue = Queue(workers=4)
    for number in range(100):
        queue.add(Key("one", str(number)))
    begun = [await taken(queue), await taken(queue)]
    waiting = asyncio.ensure_future(queue.take())
    await asyncio.sleep(1)
    assert not waiting.done()
    queue.done(begun[0])
    assert (await asyncio.wait_for(waiting, 1)).name == "2"


class QueueMachine(RuleBasedStateMachine):
    """The queue beside a model: what is owed, what is worked on, what is due later."""

    keys = st.sampled_from([A, B, C])
    delays = st.sampled_from([0.0, 1.0, 2.0, 30.0])

    def __init__(self) -> None:
        super().__init__()
        self.loop = looptime.new_event_loop(noop_cycles=0)
        self.queue = Queue(jitter=lambda: 0.5)
        self.takers: list[asyncio.Task[Key]] = []
        self.owed: set[Key] = set()
        self.working: set[Key] = set()
        self.due: dict[Key, float] = {}
        self.failures: dict[Key, int] = {}

    def teardown(self) -> None:
        for taker in self.takers:
            taker.cancel()
        self.loop.run_until_complete(asyncio.sleep(0.001))
        self.loop.close()

    @rule(key=keys)
    def add(self, key: Key) -> None:
        self.queue.add(key)
        self.owed.add(key)
        self.settle()

    @rule(key=keys, seconds=delays)
    def add_after(self, key: Key, seconds: float) -> None:
        self.inside(self.queue.add_after, key, seconds)
        self.due[key] = min(self.due.get(key, float("inf")), self.loop.time() + seconds)
        self.settle()

    @rule(key=keys)
    def fail(self, key: Key) -> None:
        pause = self.inside(self.queue.add_failed, key)
        assert pause == pytest.approx(min(FIRST_BACKOFF * 2 ** self.failures.get(key, 0), LONGEST_BACKOFF))
        self.failures[key] = self.failures.get(key, 0) + 1
        self.due[key] = min(self.due.get(key, float("inf")), self.loop.time() + pause)

    @rule(key=keys)
    def succeed(self, key: Key) -> None:
        self.queue.succeeded(key)
        self.failures.pop(key, None)

    @rule()
    def take(self) -> None:
        self.takers.append(self.loop.create_task(self.queue.take()))
        self.settle()

    @precondition(lambda self: self.takers)
    @rule(data=st.data(), key=keys)
    def add_and_cancel(self, data: st.DataObject, key: Key) -> None:
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
TestQueueMachine.settings = settings(tried(daily=50), stateful_step_count=40)
