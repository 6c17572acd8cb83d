"""Every key is looked at when it must be, from caches that show our own writes, and nobody's failure is another's."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from kubedl.kube.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    NamespaceTerminatingError,
    UnknownOutcomeError,
)
from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.types.meta import ObjectKey, ObjectMeta
from kubedl.runtime.controller import LOOK_AGAIN, Controller
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from tests.unit.runtime.background import running
from tests.unit.runtime.fake_server import NAMESPACE, Server

pytestmark = [pytest.mark.looptime(noop_cycles=0), pytest.mark.usefixtures("logs")]

A, B = ObjectKey(NAMESPACE, "a"), ObjectKey(NAMESPACE, "b")
OPEN = Expectations({})


class Reconciler:
    """Remembers when it was asked for what, and does as it was told."""

    def __init__(self) -> None:
        self.times: dict[ObjectKey, list[float]] = defaultdict(list)
        self.answers: dict[ObjectKey, list[float | Exception | None]] = defaultdict(list)
        self.poison: dict[ObjectKey, Exception] = {}
        self.seconds = 0.0
        self.busy: set[ObjectKey] = set()

    async def __call__(self, key: ObjectKey) -> float | None:
        assert key not in self.busy, "two at a time"
        self.times[key].append(asyncio.get_running_loop().time())
        self.busy.add(key)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.busy.remove(key)
        answer = self.poison.get(key) or (self.answers[key].pop(0) if self.answers[key] else None)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def reconciler() -> Reconciler:
    return Reconciler()


@pytest.fixture
async def controller(reconciler: Reconciler) -> AsyncIterator[Controller]:
    controller = Controller("test", reconciler, expectations=OPEN, workers=2)
    async with running(controller.run()):
        yield controller


async def test_a_key_is_looked_at_once_for_many_changes(controller: Controller, reconciler: Reconciler) -> None:
    for _ in range(10):
        controller.queue.add(A)
    await asyncio.sleep(100)
    assert reconciler.times == {A: [0]}


async def test_it_is_looked_at_again_when_asked_for(controller: Controller, reconciler: Reconciler) -> None:
    reconciler.answers[A] = [30, 0, None]
    controller.queue.add(A)
    await asyncio.sleep(1000)
    assert reconciler.times[A] == pytest.approx([0, 30, 30])


async def test_a_change_during_work_leads_to_more_work(controller: Controller, reconciler: Reconciler) -> None:
    reconciler.seconds = 5
    controller.queue.add(A)
    await asyncio.sleep(1)
    for _ in range(3):
        controller.queue.add(A)
    await asyncio.sleep(100)
    assert reconciler.times[A] == pytest.approx([0, 5])


async def test_several_keys_are_worked_on_at_once(controller: Controller, reconciler: Reconciler) -> None:
    reconciler.seconds = 5
    for name in ("a", "b", "c"):
        controller.queue.add(ObjectKey(NAMESPACE, name))
    await asyncio.sleep(100)
    assert sorted(time for times in reconciler.times.values() for time in times) == pytest.approx([0, 0, 5])


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a bug"),
        ZeroDivisionError(),
        AssertionError(),
        ForbiddenError(403, "Forbidden", "quota"),
        NamespaceTerminatingError(403, "Forbidden", "being terminated"),
        UnknownOutcomeError(500, "", "down"),
        ApiError(418, "", "what?"),
        ConflictError(409, "Conflict", "changed"),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_one_that_always_fails_backs_off_and_its_neighbours_go_on(error: Exception) -> None:
    """With a single worker, which must outlive every failure."""
    reconciler = Reconciler()
    controller = Controller("test", reconciler, expectations=OPEN, workers=1)
    reconciler.poison[A] = error
    neighbours = [ObjectKey(NAMESPACE, f"n{number}") for number in range(50)]
    async with running(controller.run()):
        for key in (A, *neighbours):
            controller.queue.add(key)
        await asyncio.sleep(0.01)
        assert set(reconciler.times) == {A, *neighbours}
        await asyncio.sleep(600)
        assert 10 <= len(reconciler.times[A]) <= 30
        pauses = [later - earlier for earlier, later in pairwise(reconciler.times[A])]
        assert pauses[0] < 0.1
        assert pauses[-1] > 25
        controller.queue.add(B)
        await asyncio.sleep(0.01)
        assert reconciler.times[B]


async def test_a_failure_after_a_success_is_a_first_one(controller: Controller, reconciler: Reconciler) -> None:
    down = UnknownOutcomeError(500, "", "down")
    reconciler.answers[A] = [*[down] * 8, None, down]
    controller.queue.add(A)
    await asyncio.sleep(60)
    assert len(reconciler.times[A]) == 9
    controller.queue.add(A)
    await asyncio.sleep(0.1)
    assert len(reconciler.times[A]) == 11


async def test_a_conflict_is_tried_again_at_once(controller: Controller, reconciler: Reconciler) -> None:
    reconciler.answers[A] = [ConflictError(409, "Conflict", "conflict, will retry")]
    controller.queue.add(A)
    await asyncio.sleep(0.1)
    assert len(reconciler.times[A]) == 2


async def test_each_reconcile_is_counted(reconciler: Reconciler) -> None:
    counted: list[tuple[str, bool]] = []
    lasted: list[float] = []

    class Observer:
        def reconciled(self, controller: str, seconds: float, error: bool) -> None:
            counted.append((controller, error))
            lasted.append(seconds)

    controller = Controller("test", reconciler, expectations=OPEN, observer=Observer())
    reconciler.seconds = 2
    reconciler.answers[A] = [ValueError("a bug")]
    async with running(controller.run()):
        controller.queue.add(A)
        await asyncio.sleep(10)
    assert counted == [("test", True), ("test", False)]
    assert lasted == pytest.approx([2, 2])


async def test_a_change_concerns_whom_it_belonged_to_and_whom_it_belongs_to(
    controller: Controller, reconciler: Reconciler, store: Store[Pod]
) -> None:
    def named(pod: Pod) -> list[ObjectKey]:
        return [ObjectKey(NAMESPACE, pod.metadata.labels["owner"])]

    def pod(owner: str, version: str) -> Pod:
        return Pod(metadata=ObjectMeta(name="x", uid="x", resource_version=version, labels={"owner": owner}))

    controller.watch(store, named)
    store.put(pod("a", "1"))
    await asyncio.sleep(1)
    assert set(reconciler.times) == {A}
    store.put(pod("b", "2"))
    await asyncio.sleep(1)
    store.remove(ObjectKey("", "x"))
    await asyncio.sleep(1)
    assert (len(reconciler.times[A]), len(reconciler.times[B])) == (2, 2)


# The gate.


async def test_nothing_is_planned_until_the_cache_shows_what_was_written(
    server: Server, store: Store[Pod], reflector: Reflector[Pod]
) -> None:
    """One pod for the key, made by whoever does not see it; the cache learns of it late, the key is asked for often."""
    seen: list[bool] = []
    owner = Pod(metadata=ObjectMeta(name="job", namespace=NAMESPACE, uid="uid-of-job"))
    expectations = Expectations({PODS: store})
    writer = Writer(server.client, expectations)
    wanted = ObjectKey(NAMESPACE, "job-worker-0")

    async def reconcile(_: ObjectKey) -> float | None:
        seen.append(store.get(wanted) is not None)
        if not seen[-1]:
            await writer.create(owner, PODS, {"metadata": {"name": wanted.name}})
        return None

    controller = Controller("test", reconcile, expectations=expectations)
    key = owner.metadata.key
    async with running(reflector.run()), running(controller.run()):
        await asyncio.wait_for(reflector.synced.wait(), 600)
        server.connections[0].held = True
        for _ in range(50):
            controller.queue.add(key)
            await asyncio.sleep(0.1)
        assert seen == [False]
        server.connections[0].release()
        await asyncio.sleep(LOOK_AGAIN)
        assert seen == [False, True]
    assert len(server.called("create")) == 1


async def test_a_closed_key_does_not_hold_up_others(store: Store[Pod]) -> None:
    reconciler = Reconciler()
    expectations = Expectations({PODS: store})
    expectations.record_write(A, PODS, "10")
    controller = Controller("test", reconciler, expectations=expectations, workers=1)
    async with running(controller.run()):
        controller.queue.add(A)
        controller.queue.add(B)
        await asyncio.sleep(10)
        assert dict(reconciler.times) == {B: [0]}
        store.version = 10  # by a bookmark, of which no subscriber hears
        await asyncio.sleep(LOOK_AGAIN)
        assert len(reconciler.times[A]) == 1
        await asyncio.sleep(100)
        assert len(reconciler.times[A]) == 1


@pytest.mark.parametrize(
    ("error", "levels"),
    [
        (ForbiddenError(403, "Forbidden", "quota"), {"warning"}),
        (NamespaceTerminatingError(403, "Forbidden", "being terminated"), {"debug"}),
    ],
)
async def test_a_namespace_that_is_being_deleted_is_no_reason_to_warn(error: Exception, levels: set[str]) -> None:
    """Any other refusal is."""
    reconciler = Reconciler()
    controller = Controller("test", reconciler, expectations=OPEN)
    reconciler.poison[A] = error
    with capture_logs() as logged:
        async with running(controller.run()):
            controller.queue.add(A)
            await asyncio.sleep(0.01)
    assert {entry["log_level"] for entry in logged if entry.get("key") == str(A)} == levels
