"""Caches are kept filled always; controllers run only while leading, and only on full caches."""

import asyncio

import pytest

from kubedl.kube.errors import NotFoundError, UnknownOutcomeError
from kubedl.kube.types.core import PODS, SERVICES, Pod
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.controller import Controller
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.manager import Lead, Manager
from kubedl.runtime.store import Store
from tests.unit.runtime.background import running
from tests.unit.runtime.fake_server import Server
from tests.unit.runtime.store_view import held

pytestmark = [pytest.mark.looptime(noop_cycles=0), pytest.mark.usefixtures("logs")]


class Worker:
    """A controller of pods, and the keys that it was called with."""

    def __init__(self, store: Store[Pod]) -> None:
        self.keys: list[ObjectKey] = []
        self.controller = Controller("test", self._reconcile, expectations=Expectations({}))
        self.controller.watch(store, lambda pod: [pod.metadata.key])

    async def _reconcile(self, key: ObjectKey) -> float | None:
        self.keys.append(key)
        return None


async def at_once(lead: Lead) -> None:
    await lead()


async def test_a_standby_keeps_its_caches_and_takes_over_with_all_of_them(server: Server) -> None:
    manager = Manager(server.client)
    pods = manager.informer(PODS).store
    worker = Worker(pods)
    manager.add(worker.controller, pods)
    elected = asyncio.Event()

    async def elect(lead: Lead) -> None:
        await elected.wait()
        await lead()

    async with running(manager.run(elect)):
        await asyncio.sleep(100)
        server.put("d")
        await asyncio.sleep(1)
        assert held(pods) == server.readable()
        assert worker.keys == []
        elected.set()
        await asyncio.sleep(1)
        assert sorted(key.name for key in worker.keys) == ["a", "b", "c", "d"]


async def test_a_leader_waits_for_its_caches(server: Server) -> None:
    """Planning from an empty cache would make everything a second time."""
    server.refusals.extend([UnknownOutcomeError(503, "", "down")] * 6)
    manager = Manager(server.client)
    pods = manager.informer(PODS).store
    worker = Worker(pods)
    manager.add(worker.controller, pods)
    worker.controller.queue.add(ObjectKey("team", "early"))
    async with running(manager.run(at_once)):
        await asyncio.sleep(2)
        assert manager.unsynced() == ["pods"]
        assert worker.keys == []
        await asyncio.sleep(60)
        assert manager.unsynced() == []
        assert sorted(key.name for key in worker.keys) == ["a", "b", "c", "early"]


async def test_a_kind_that_the_cluster_does_not_have_holds_up_nobody_else(server: Server) -> None:
    manager = Manager(server.client)
    pods = manager.informer(PODS).store
    services = manager.informer(SERVICES).store
    worker, idle = Worker(pods), Worker(pods)
    manager.add(worker.controller, pods)
    manager.add(idle.controller, pods, services)
    server.refusals.extend([None, *[NotFoundError(404, "NotFound", "no such kind")] * 20])
    async with running(manager.run(at_once)):
        await asyncio.sleep(1)
        assert manager.unsynced() == []
        assert len(worker.keys) == 3
        assert idle.keys == []


async def test_companions_run_whoever_leads(server: Server) -> None:
    manager = Manager(server.client)
    started = asyncio.Event()

    async def companion() -> None:
        started.set()
        await asyncio.Event().wait()

    async def never(_: Lead) -> None:
        await asyncio.Event().wait()

    manager.add_runnable(companion)
    async with running(manager.run(never)):
        await asyncio.wait_for(started.wait(), 1)


async def test_everything_ends_when_it_is_cancelled(server: Server) -> None:
    manager = Manager(server.client)
    pods = manager.informer(PODS).store
    manager.add(Worker(pods).controller, pods)
    async with running(manager.run(at_once)):
        await asyncio.sleep(1)
        assert len(server.connections) == 1
    assert server.connections == []
    assert asyncio.all_tasks() == {asyncio.current_task()}
