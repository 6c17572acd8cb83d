"""The loop around the decision about a CacheBackend, over the model of the API server."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.cachebackend import CACHE_BACKENDS, CacheBackend
from kubedl.api.conditions import find
from kubedl.api.training import BY_CACHE, cache_key
from kubedl.datasets import fluid_objects
from kubedl.datasets.controller import NOT_FILLED, NOT_THERE, CacheBackendController, Informers
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from tests.training_builders import NAMESPACE, NOW, JobBuilder
from tests.unit.datasets.backends import NAME, SPEC, backend, claim, dataset, job, runtime
from tests.unit.training.api_model import ApiModel, ClientModel, Crash, Harm

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

KEY = ObjectKey(NAMESPACE, NAME)


class Missing(ClientModel):
    """A server that does not know Fluid's kinds."""

    async def create(self, resource: Resource[Any], namespace: str, body: Any) -> Any:  # noqa: ANN401 - as there
        if resource.group == fluid_objects.GROUP:
            raise NotFoundError(404, "NotFound", "the server could not find the requested resource")
        return await super().create(resource, namespace, body)


class Stage:
    """A backend and jobs in the model of the API server, and their controller with caches that are level with it."""

    def __init__(self, runner: asyncio.Runner, *jobs: JobBuilder, backend: CacheBackend | None = None) -> None:
        self.api = ApiModel(NOW)
        self.events: list[str] = []
        self.writes: list[str] = []
        self.filled = self.known = True  # whether Fluid's caches are filled, and its kinds known
        self._runner = runner
        for one in jobs:
            self.put(one)
        if backend is not None:
            self.api.put(CACHE_BACKENDS, backend)

    def put(self, one: JobBuilder) -> None:
        """A new state of a job."""
        self.api.put(one.kind.resource, one.build())

    def look(self, harm: tuple[int, Harm] | None = None, client: type[ClientModel] = ClientModel) -> float | None:
        """Reconcile; returns when to look again."""
        self.writes.clear()
        speaker = cast("Client", client(self.api, self._write, harm=harm))
        backends, claims = self._store(CACHE_BACKENDS), self._store(fluid_objects.CLAIMS)
        datasets = self._reflector(speaker, fluid_objects.DATASETS)
        runtimes = {resource: self._reflector(speaker, resource) for resource in fluid_objects.RUNTIMES}
        jobs = Reflector(speaker, job().kind.resource, self._store(job().kind.resource, {BY_CACHE: cache_key}))
        jobs.synced.set()
        stores = {one.resource: one.store for one in (datasets, *runtimes.values())}
        writer = Writer(speaker, Expectations({CACHE_BACKENDS: backends, **stores}))
        informers = Informers(backends, claims, datasets, runtimes, {jobs.resource: jobs})
        controller = CacheBackendController(informers, writer, cast("EventRecorder", self), clock=lambda: self.api.now)
        return self._runner.run(controller.reconcile(KEY))

    def event(self, about: Any, kind: str, reason: str, _: str) -> None:  # noqa: ANN401 - a reference
        """As a recorder."""
        self.events.append(f"{kind} {about.kind} {reason}")

    def becomes(self, phase: str, *, claimed: bool = False) -> None:
        """Fluid has done something."""
        found = self.api.find(fluid_objects.DATASETS, KEY)
        self.api.put(fluid_objects.DATASETS, with_metadata(dataset(phase), uid=found.metadata.uid))
        if claimed:
            self.api.put(fluid_objects.CLAIMS, claim())

    @property
    def backend(self) -> CacheBackend | None:
        """As it is."""
        found: CacheBackend | None = self.api.find(CACHE_BACKENDS, KEY)
        return found

    @property
    def said(self) -> tuple[str | None, str]:
        """How far the cache is, and why."""
        assert self.backend is not None
        ready = find(self.backend.status.conditions, "Ready")
        return self.backend.status.cache_status, ready.reason if ready is not None else ""

    def _store(self, resource: Resource[Any], indexes: dict[str, Any] | None = None) -> Store[Any]:
        store: Store[Any] = Store(indexes)
        store.replace(list(self.api.all(resource)))
        store.version = self.api.version
        return store

    def _reflector(self, client: "Client", resource: Resource[Any]) -> Reflector[Any]:
        made = Reflector(client, resource, self._store(resource))
        made.absent = not self.known
        if self.filled and self.known:
            made.synced.set()
        return made

    def _write(self, verb: str, resource: Resource[Any], _: object) -> None:
        self.writes.append(f"{verb} {resource.plural}")


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as made:
        yield made


def test_a_life(runner: asyncio.Runner) -> None:
    """Made, bound, claimed, used, idle, gone; and nothing is written twice."""
    stage = Stage(runner, backend=backend(idle=60))
    assert stage.look() is None
    assert stage.writes == ["create datasets", "create alluxioruntimes", "patch cachebackends"]
    assert stage.said == ("CacheCreating", "Creating")
    stage.look()
    assert stage.said == ("CacheCreating", "DatasetNotBound")
    stage.becomes("Bound")
    stage.look()
    assert stage.said == ("PVCCreating", "ClaimMissing")
    stage.api.put(fluid_objects.CLAIMS, claim())
    stage.put(job())
    assert stage.look() is None
    assert stage.said == ("PVCCreated", "ClaimCreated")
    assert stage.backend is not None
    assert stage.backend.status.used_by == ("train",)
    assert (stage.look(), stage.writes) == (None, [])
    stage.put(job().said("Succeeded"))
    assert stage.look() == 60
    stage.api.now += timedelta(seconds=60)
    stage.look()
    assert stage.writes == ["delete cachebackends"]
    assert stage.backend is None
    assert stage.events == ["Normal CacheBackend CacheReady", "Normal CacheBackend CacheIdle"]
    assert (stage.look(), stage.writes) == (None, [])


def test_a_backend_that_a_job_describes_is_made_and_belongs_to_nobody(runner: asyncio.Runner) -> None:
    """The next job finds it by its name."""
    stage = Stage(runner, job("later", **SPEC), job("refers"))
    stage.look()
    assert stage.writes == ["create cachebackends"]
    assert stage.backend is not None
    assert stage.backend.metadata.owner_references == ()
    assert stage.backend.spec.dataset == backend().spec.dataset
    stage.look()
    assert stage.backend.status.used_by == ("later", "refers")


@pytest.mark.parametrize("user", [job(), job(**SPEC).suspended(), job(**SPEC).said("Failed")])
def test_none_is_made_for_a_job_that_cannot_describe_or_does_not_need_it(
    runner: asyncio.Runner, user: JobBuilder
) -> None:
    """Nor for one that has ended."""
    stage = Stage(runner, user)
    assert (stage.look(), stage.writes, stage.backend) == (None, [], None)


def test_a_backend_that_cannot_be_made_is_told_to_the_job(runner: asyncio.Runner) -> None:
    """And tried again."""
    stage = Stage(runner, job(**SPEC))
    with pytest.raises(ApiError):
        stage.look((0, "refused"))
    assert stage.events == ["Warning TFJob CacheBlocked"]
    stage.look()
    assert stage.backend is not None


def test_what_is_deleted_is_made_again(runner: asyncio.Runner) -> None:
    """The status says so meanwhile."""
    stage = Stage(runner, backend=backend())
    stage.look()
    stage.becomes("Bound", claimed=True)
    stage.look()
    stage.api.drop(fluid_objects.DATASETS, KEY)
    stage.look()
    assert stage.writes == ["create datasets", "patch cachebackends"]
    assert stage.said == ("CacheCreating", "Creating")


def test_a_cluster_without_fluid_is_told_once_and_asked_now_and_then(runner: asyncio.Runner) -> None:
    """When it is installed, the cache is made."""
    stage = Stage(runner, backend=backend())
    stage.known = False
    assert (stage.look(), stage.writes) == (NOT_THERE, ["patch cachebackends"])
    assert stage.said == ("CacheFailed", "FluidNotInstalled")
    assert (stage.look(), stage.writes) == (NOT_THERE, [])
    stage.known = True
    stage.look()
    assert stage.said == ("CacheCreating", "Creating")


def test_a_fluid_that_is_gone_since_is_noticed(runner: asyncio.Runner) -> None:
    """The caches were filled once, and the kinds were removed."""
    stage = Stage(runner, backend=backend())
    with pytest.raises(NotFoundError):
        stage.look(client=Missing)
    assert stage.said == ("CacheFailed", "FluidNotInstalled")


def test_nothing_is_said_from_caches_that_are_not_filled(runner: asyncio.Runner) -> None:
    """A restart must not make a cache look as if it were gone."""
    stage = Stage(runner, backend=backend(status={"cacheStatus": "PVCCreated"}))
    stage.filled = False
    assert (stage.look(), stage.writes) == (NOT_FILLED, [])


def test_a_refusal_is_in_the_status_and_is_tried_again(runner: asyncio.Runner) -> None:
    """A quota, for example."""
    stage = Stage(runner, backend=backend())
    with pytest.raises(ApiError):
        stage.look((0, "refused"))
    assert stage.said == ("CacheFailed", "Forbidden")
    assert stage.events == ["Warning CacheBackend Forbidden"]
    stage.look()
    assert stage.said == ("CacheCreating", "Creating")


def test_what_belongs_to_others_is_left_alone(runner: asyncio.Runner) -> None:
    """Also where only the server knows of it."""
    stage = Stage(runner, backend=backend())
    stage.api.put(fluid_objects.DATASETS, dataset(owner="somebody"))
    stage.look()
    assert (stage.said, stage.writes) == (("CacheFailed", "NameTaken"), ["patch cachebackends"])


@pytest.mark.parametrize("harm", ["crash before", "crash after", "lost before", "lost after"])
@pytest.mark.parametrize("write", range(3))
def test_a_crash_at_any_write_changes_nothing(runner: asyncio.Runner, write: int, harm: Harm) -> None:
    """The same objects in the end, each made once."""
    stage = Stage(runner, backend=backend())
    with pytest.raises((Crash, ApiError)):
        stage.look((write, harm))
    stage.look()
    stage.look()
    assert stage.said == ("CacheCreating", "DatasetNotBound")
    assert len(stage.api.history[fluid_objects.DATASETS.plural]) == 1
    assert len(stage.api.history[fluid_objects.ALLUXIO.plural]) == 1


def test_changes_of_fluids_objects_concern_the_backend_of_their_name(runner: asyncio.Runner) -> None:
    """Other people's claims cost nothing."""
    stage = Stage(runner, backend=backend())
    backends: Store[CacheBackend] = Store()
    empty: Any = None
    controller = CacheBackendController(Informers(backends, empty, empty, {}, {}), empty, empty, clock=lambda: NOW)
    assert list(controller.backend_of(claim())) == []
    backends.put(stage.api.find(CACHE_BACKENDS, KEY))
    assert list(controller.backend_of(claim())) == [KEY]
    assert list(controller.backend_of(runtime())) == [KEY]
    assert list(controller.backend_for(job().build())) == [KEY]
    assert list(controller.backend_for(job().with_spec(cacheBackend=None).build())) == []
