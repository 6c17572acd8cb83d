"""The loop around the decision about scalers, over an API server in memory: whatever happens, a job is resized once."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from harness.fakes.api_server import DiedError, FakeClient, Harm, Server, with_metadata
from kubedl.api.scaling import SCALE_INS, SCALE_OUTS, ScaledReplicas
from kubedl.kube.errors import ApiError, ConflictError, ForbiddenError, NotFoundError, UnknownOutcomeError
from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from kubedl.training.kinds.pytorch import PyTorch
from kubedl.training.scaling.controller import BY_JOB, NOT_FILLED, ScalerController, job_key
from kubedl.training.scaling.scaler import Scaler
from tests.training_builders import NAMESPACE, NOW, after
from tests.unit.training.scaling.builders import JOB, elastic, running, scale_in, scale_out

if TYPE_CHECKING:
    from kubedl.api.training import TrainingJob
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

KIND = PyTorch()
JOBS = KIND.resource
KEY = ObjectKey(NAMESPACE, JOB)
HARMS: tuple[Harm, ...] = ("die before", "die after", "lose before", "lose after")


class ScaleClient(FakeClient):
    """One that has the scale subresource of jobs, and counts how often it was written."""

    resized: list[int]
    refusal: ApiError | None = None

    async def patch(
        self,
        resource: Resource[Any],
        key: ObjectKey,
        body: Mapping[str, Any],
        how: str = "merge",
        subresource: str = "",
    ) -> Any:  # noqa: ANN401 - of any kind
        """As the API server does: a new number of replicas is a new generation."""
        if subresource != "scale":
            return await super().patch(resource, key, body, how, subresource)

        def commit() -> Any:  # noqa: ANN401 - of any kind
            self._version(JOBS, key, body)
            if self.refusal is not None:
                raise self.refusal
            self.resized.append(body["spec"]["replicas"])
            return resize(self.server, body["spec"]["replicas"])

        return self._write("patch", commit)


def resize(server: Server, replicas: int) -> Any:  # noqa: ANN401 - a job
    """The job has another number of replicas, and the engine has seen it."""
    found = server.objects[JOBS][KEY]
    worker = msgspec.structs.replace(found.spec.replica_specs["Worker"], replicas=replicas)
    spec = msgspec.structs.replace(found.spec, replica_specs={"Worker": worker})
    seen = msgspec.structs.replace(found.status.elastic, size=replicas)
    status = msgspec.structs.replace(found.status, elastic=seen)
    made = msgspec.structs.replace(found, spec=spec, status=status)
    return server.put(JOBS, with_metadata(made, generation=found.metadata.generation + 1))


class Stage:
    """Scalers and a job in an API server, and their controller with caches that are level with it."""

    def __init__(self, runner: asyncio.Runner, *scalers: Scaler, job: bool = True) -> None:
        self.server = Server(NOW, (SCALE_INS, SCALE_OUTS, JOBS))
        for one in scalers:
            self.server.put(one.resource, one.body)
        if job:
            self.server.put(JOBS, elastic(4).build())
        self.pods: list[Pod] = []
        self.events: list[str] = []
        self.client = ScaleClient(self.server, lambda _: None)
        self.client.resized = []
        self.filled = True
        self._runner = runner

    def look(self, now: float = 0, harm: tuple[int, Harm] | None = None, *, blind: bool = False) -> float | None:
        """Reconcile once; with a cache that lacks the job, if it is blind."""
        self.client.harm, self.client.writes = harm, 0
        sources = {resource: self._informer(resource, blind=blind) for resource in (SCALE_INS, SCALE_OUTS, JOBS)}
        self.expectations = Expectations({resource: source.store for resource, source in sources.items()})
        pods = self._reflector(PODS, self.pods)
        self.controller = ScalerController(
            (sources[SCALE_INS], sources[SCALE_OUTS]),
            {KIND: cast("Reflector[TrainingJob]", sources[JOBS])},
            pods,
            Writer(cast("Client", self.client), self.expectations),
            cast("EventRecorder", self),
            clock=lambda: after(now),
        )
        return self._runner.run(self.controller.reconcile(KEY))

    def settle(self, now: float = 0, harm: tuple[int, Harm] | None = None) -> int:
        """Reconcile until nothing is written; returns how many writes there were. Harm befalls one of them."""
        total, rest = 0, harm
        for _ in range(20):
            here = (rest[0] - total, rest[1]) if rest is not None and rest[0] >= total else None
            try:
                self.look(now, here)
            except (DiedError, UnknownOutcomeError):
                rest = None
            if not self.client.writes:
                return total
            total += self.client.writes
        raise AssertionError("it goes on writing")

    def event(self, about: Any, kind: str, reason: str, _: str) -> None:  # noqa: ANN401 - a reference
        """As a recorder."""
        self.events.append(f"{kind} {about.kind} {reason}")

    def phases(self) -> list[str]:
        """Of all scalers, by name."""
        found = [*self.server.objects[SCALE_INS].values(), *self.server.objects[SCALE_OUTS].values()]
        return [one.status.phase for one in sorted(found, key=lambda one: str(one.metadata.name))]

    def replicas(self) -> int:
        """Of the job."""
        return int(self.server.objects[JOBS][KEY].spec.replica_specs["Worker"].replicas)

    def _informer(self, resource: Resource[Any], *, blind: bool) -> Reflector[Any]:
        return self._reflector(resource, [] if blind and resource is JOBS else self.server.objects[resource].values())

    def _reflector(self, resource: Resource[Any], objects: Any) -> Reflector[Any]:  # noqa: ANN401 - any collection
        store: Store[Any] = Store({BY_JOB: job_key} if resource in (SCALE_INS, SCALE_OUTS) else {})
        store.replace(list(objects))
        store.version = self.server.version
        informer = Reflector(cast("Client", self.client), resource, store)
        if self.filled:
            informer.synced.set()
        return informer


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as made:
        yield made


def test_a_scaler_takes_four_writes(runner: asyncio.Runner) -> None:
    """Its pods, the job, that it has begun, that it has ended."""
    stage = Stage(runner, scale_in())
    assert stage.settle() == 4
    assert (stage.client.resized, stage.phases()) == ([3], ["ScaleSucceeded"])
    assert stage.events == ["Normal ScaleIn ScalingInSucceeded"]


def test_after_a_write_of_the_job_its_cache_is_waited_for(runner: asyncio.Runner) -> None:
    stage = Stage(runner, scale_in())
    for _ in range(2):
        stage.look()
        assert stage.expectations.pending(KEY)


def test_scalers_take_turns_over_both_kinds(runner: asyncio.Runner) -> None:
    """The older one is a ScaleOut whose pod does not run: it is taken back, and then comes the ScaleIn."""
    stage = Stage(runner, scale_in("b", created=2), scale_out("a", created=1))
    stage.settle()
    assert (stage.client.resized, stage.phases()) == ([5], ["Scaling", "Created"])
    assert stage.look(30) == 30
    stage.settle(60)
    assert (stage.client.resized, stage.phases()) == ([5, 4, 3], ["ScaleFailed", "ScaleSucceeded"])


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("write", range(4))
def test_a_scale_in_is_done_once_wherever_the_operator_dies(runner: asyncio.Runner, write: int, harm: Harm) -> None:
    stage = Stage(runner, scale_in())
    stage.settle(harm=(write, harm))
    assert (stage.client.resized, stage.replicas(), stage.phases()) == ([3], 3, ["ScaleSucceeded"])


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("write", range(4))
def test_a_scale_out_is_done_once_wherever_the_operator_dies(runner: asyncio.Runner, write: int, harm: Harm) -> None:
    stage = Stage(runner, scale_out())
    stage.pods = [one.build() for one in running(elastic(5), 4)]
    stage.settle(harm=(write, harm))
    assert (stage.client.resized, stage.replicas(), stage.phases()) == ([5], 5, ["ScaleSucceeded"])


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("write", range(3))
def test_pods_are_taken_back_once_wherever_the_operator_dies(runner: asyncio.Runner, write: int, harm: Harm) -> None:
    stage = Stage(runner, scale_out())
    assert stage.settle() == 3
    stage.settle(60, (write, harm))
    assert (stage.client.resized, stage.replicas(), stage.phases()) == ([5, 4], 4, ["ScaleFailed"])
    assert stage.settle(600) == 0


@pytest.mark.parametrize("edited", [2, 4, 5, 6])
@pytest.mark.parametrize("write", range(1, 4))
def test_a_user_who_edits_the_job_meanwhile_makes_no_second_resize(
    runner: asyncio.Runner, write: int, edited: int
) -> None:
    """The job is edited after each write in turn."""
    stage = Stage(runner, scale_in())
    for _ in range(write):
        stage.look()
    resize(stage.server, edited)
    stage.settle()
    assert len(stage.client.resized) <= 1
    assert stage.phases()[0] in ("ScaleSucceeded", "ScaleFailed")
    assert stage.replicas() in (edited, edited - 1)


def test_a_job_that_is_not_in_the_cache_yet_is_waited_for(runner: asyncio.Runner) -> None:
    stage = Stage(runner, scale_in())
    with pytest.raises(ConflictError, match="is not in the cache yet"):
        stage.look(blind=True)
    assert stage.phases() == [""]
    stage.settle()
    assert stage.phases() == ["ScaleSucceeded"]


def test_a_job_that_does_not_exist_is_reported(runner: asyncio.Runner) -> None:
    stage = Stage(runner, scale_in(), job=False)
    stage.settle()
    assert (stage.phases(), stage.events) == (["ScaleFailed"], ["Warning ScaleIn JobNotFound"])


def test_a_job_that_has_just_been_deleted_is_not_reported_by_an_old_cache(runner: asyncio.Runner) -> None:
    """The cache has a job that is not elastic, and the API server none: the cache is waited for."""
    stage = Stage(runner, scale_in())
    fixed = stage.server.objects[JOBS][KEY]
    stage.server.put(JOBS, msgspec.structs.replace(fixed, spec=msgspec.structs.replace(fixed.spec, elastic=None)))

    async def gone(resource: Resource[Any], key: ObjectKey) -> Any:  # noqa: ANN401 - of any kind
        raise NotFoundError(404, "NotFound", f"no {key}")

    stage.client.get = gone  # type: ignore[method-assign]
    with pytest.raises(ConflictError, match="was deleted"):
        stage.look()
    assert stage.phases() == [""]


def test_a_refusal_of_the_api_server_is_reported(runner: asyncio.Runner) -> None:
    """A policy of the cluster may forbid what the bounds of the job allow."""
    stage = Stage(runner, scale_in())
    stage.client.refusal = ForbiddenError(403, "Forbidden", "too late in the evening")
    stage.settle()
    [scaler] = stage.server.objects[SCALE_INS].values()
    last = scaler.status.conditions[-1]
    assert (last.type, last.reason, last.message) == ("ScaleFailed", "ResizeRefused", "too late in the evening")
    assert scaler.status.replica_statuses == {"Worker": ScaledReplicas()}


def test_the_operator_waits_for_caches_that_are_being_filled(runner: asyncio.Runner) -> None:
    stage = Stage(runner, scale_in())
    stage.filled = False
    assert stage.look() == NOT_FILLED
    assert stage.phases() == [""]


def test_a_job_without_scalers_costs_nothing(runner: asyncio.Runner) -> None:
    """Not even a place in the queue."""
    stage = Stage(runner, scale_in())
    stage.look()
    assert list(stage.controller.scaled_job(elastic(4).build())) == [KEY]
    other = with_metadata(elastic(4).build(), name="other")
    assert list(stage.controller.scaled_job(other)) == []
    assert stage._runner.run(stage.controller.reconcile(other.metadata.key)) is None  # noqa: SLF001
