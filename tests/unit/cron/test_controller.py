"""The loop around the decision about a Cron, over an API server in memory."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import pytest

from harness.fakes.api_server import FakeClient, Harm, Server, with_metadata
from kubedl.api.conditions import find
from kubedl.api.cron import CRONS, Cron
from kubedl.cron.controller import NOT_FILLED, CronController
from kubedl.cron.runs import Run, claimed, run_body, run_name
from kubedl.kube import codec
from kubedl.kube.errors import ApiError, ConflictError
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from tests.unit.cron.builders import JOBS, NAME, NAMESPACE, at, cron, run

if TYPE_CHECKING:
    from kubedl.api.training import TrainingJob
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

KEY = ObjectKey(NAMESPACE, NAME)


class Stage:
    """A Cron in an API server, and its controller with caches that are level with it unless told otherwise."""

    def __init__(self, runner: asyncio.Runner, of: Cron, *runs: Run) -> None:
        self.server = Server(at(12), (CRONS, JOBS))
        self.server.put(CRONS, of)
        for one in runs:
            self.server.put(JOBS, one.job)
        self.events: list[str] = []
        self.client = FakeClient(self.server, lambda _: None)
        self.filled = True
        self.told: dict[ObjectKey, datetime] = {}
        self._runner = runner

    def look(
        self, now: datetime, harm: tuple[int, Harm] | None = None, *, stale: Cron | None = None, blind: bool = False
    ) -> float | None:
        """Reconcile with a Cron from an older cache, or with a cache that lacks all jobs."""
        self.server.now, self.client.harm, self.client.writes = now, harm, 0
        crons: Store[Cron] = self._store([stale] if stale is not None else self.server.objects[CRONS].values())
        jobs: Store[TrainingJob] = self._store([] if blind else self.server.objects[JOBS].values())
        client = cast("Client", self.client)
        informer = Reflector(client, JOBS, jobs)
        if self.filled:
            informer.synced.set()
        self.expectations = Expectations({CRONS: crons, JOBS: jobs})
        writer = Writer(client, self.expectations)
        recorder = cast("EventRecorder", self)
        controller = CronController(crons, {JOBS: informer}, writer, recorder, clock=lambda: now)
        controller.told = self.told
        return self._runner.run(controller.reconcile(KEY))

    def event(self, about: Any, kind: str, reason: str, _: str) -> None:  # noqa: ANN401 - a reference
        """As a recorder."""
        self.events.append(f"{kind} {about.kind} {reason}")

    def _store(self, objects: Any) -> Store[Any]:  # noqa: ANN401 - any collection
        store: Store[Any] = Store()
        store.replace(list(objects))
        store.version = self.server.version
        return store

    @property
    def cron(self) -> Cron:
        """As it is."""
        return cast("Cron", self.server.objects[CRONS][KEY])

    @property
    def jobs(self) -> list[str]:
        """The names of the runs."""
        return [key.name for key in self.server.objects[JOBS]]

    @property
    def ready(self) -> tuple[str, str]:
        """Status and reason of the condition."""
        found = find(self.cron.status.conditions, "Ready")
        return (found.status, found.reason) if found is not None else ("", "")


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as made:
        yield made


def test_a_run_is_created_once(runner: asyncio.Runner) -> None:
    """Two writes for a run; when the cache shows the job, its uid is entered; then there is nothing to write."""
    stage = Stage(runner, cron())
    stage.look(at(12, 30))
    assert stage.look(at(13)) == 60
    assert (stage.jobs, stage.client.writes) == ([run_name(NAME, at(13))], 2)
    assert stage.events == ["Normal Cron RunCreated"]
    stage.look(at(13, 0, 1))
    [entry] = stage.cron.status.active
    assert entry.uid
    stage.look(at(13, 0, 2))
    assert stage.client.writes == 0


def test_the_operator_waits_for_caches_that_are_being_filled(runner: asyncio.Runner) -> None:
    """An active run may be missing."""
    stage = Stage(runner, cron())
    stage.filled = False
    assert stage.look(at(13)) == NOT_FILLED
    assert stage.jobs == []


def test_a_cache_that_is_behind_starts_nothing(runner: asyncio.Runner) -> None:
    """The status is written before the run is created, and over the version that it was computed from."""
    stage = Stage(runner, cron())
    old = stage.cron
    stage.look(at(13))
    with pytest.raises(ConflictError):
        stage.look(at(14), stale=old)
    assert len(stage.jobs) == 1


def test_a_run_that_came_and_went_is_not_repeated_by_an_old_cache(runner: asyncio.Runner) -> None:
    """The cache says that the run of 13:00 was not created yet; it was, and is gone, and the status tells."""
    pending = {"lastScheduleTime": codec.plain(at(13)), "active": [codec.plain(claimed(cron(), at(13)))]}
    pending |= {"nextScheduleTime": codec.plain(at(14)), "observedGeneration": 1}
    stage = Stage(runner, cron(status=pending))
    old = stage.cron
    stage.look(at(13, 1))
    assert stage.jobs == [run_name(NAME, at(13))]
    stage.look(at(13, 2))
    stage.server.drop(JOBS, ObjectKey(NAMESPACE, run_name(NAME, at(13))))
    with pytest.raises(ConflictError):
        stage.look(at(13, 3), stale=old)
    assert stage.jobs == []


def test_forbid_holds_although_the_cache_lacks_the_active_run(runner: asyncio.Runner) -> None:
    """It is looked up, and the key waits for the cache."""
    of = cron(concurrencyPolicy="Forbid")
    active = run(of, at(13))
    status = {"lastScheduleTime": codec.plain(at(13)), "active": [codec.plain(active.reference())]}
    stage = Stage(runner, cron(concurrencyPolicy="Forbid", status=status), active)
    with pytest.raises(ConflictError, match="not in the cache yet"):
        stage.look(at(14), blind=True)
    assert stage.jobs == [active.name]


@pytest.mark.parametrize("harm", ["die before", "die after", "lose before", "lose after"])
@pytest.mark.parametrize("write", [0, 1])
def test_a_run_survives_the_death_of_its_creator(runner: asyncio.Runner, write: int, harm: Harm) -> None:
    """At any of its two writes; it is there once."""
    created: list[str] = []
    stage = Stage(runner, cron())
    stage.client.created = lambda job: created.append(job.metadata.name)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - a death or a timeout
        stage.look(at(13), (write, harm))
    stage.look(at(13, 0, 5))
    assert stage.jobs == created == [run_name(NAME, at(13))]


def test_a_refused_run_is_reported_and_tried_again(runner: asyncio.Runner) -> None:
    """One event, one status; the error makes the queue wait. When it is accepted the condition is over."""
    stage = Stage(runner, cron())
    stage.look(at(12, 30))
    for second in range(3):
        with pytest.raises(ApiError, match="exceeded quota"):
            stage.look(at(13, 0, second), (1, "refuse"))
    assert stage.ready == ("False", "RunRefused")
    assert stage.events == ["Warning Cron RunRefused"]
    version = stage.server.version
    with pytest.raises(ApiError):
        stage.look(at(13, 1), (1, "refuse"))
    assert stage.server.version == version
    stage.look(at(13, 2))
    assert stage.ready == ("True", "Scheduled")
    assert stage.jobs == [run_name(NAME, at(13))]


def test_a_refusal_that_reads_differently_at_each_try_is_written_seldom(runner: asyncio.Runner) -> None:
    """Each write of the status has the run tried again at once."""
    tries: list[int] = []

    def refuse(_: object) -> None:
        tries.append(40000 + len(tries))
        raise ApiError(500, "InternalError", f"read tcp 10.0.0.1:{tries[-1]}: connection reset by peer")

    def told(minute: int, second: int, generation: int = 1) -> str:
        stage.server.put(CRONS, with_metadata(stage.cron, generation=generation))
        with pytest.raises(ApiError, match="connection reset"):
            stage.look(at(13, minute, second))
        found = find(stage.cron.status.conditions, "Ready")
        return found.message.partition(":")[2].partition(":")[0] if found is not None else ""

    stage = Stage(runner, cron())
    stage.client.created = refuse
    assert [told(0, 0), told(0, 1), told(0, 59), told(1, 0)] == ["40000", "40000", "40000", "40003"]
    assert told(1, 1, generation=2) == "40004"  # of another spec


def test_a_name_that_somebody_has_is_not_taken(runner: asyncio.Runner) -> None:
    """The job of another owner is never adopted."""
    body = run_body(cron(), at(13))
    del body["metadata"]["ownerReferences"]
    foreign = JOBS.decoder.decode(codec.encode(body))
    stage = Stage(runner, cron(), Run(JOBS, foreign))
    with pytest.raises(ApiError, match="does not belong"):
        stage.look(at(13))
    assert stage.ready == ("False", "RunRefused")


def test_replace_deletes_with_all_dependents_first(runner: asyncio.Runner) -> None:
    """The job stays until its pods are gone, and the next run waits for it."""
    of = cron(concurrencyPolicy="Replace", status={"lastScheduleTime": codec.plain(at(13))})
    first = run(of, at(13))
    stage = Stage(runner, of, first)
    stage.look(at(14))
    assert stage.events == ["Normal Cron ReplacingRun", "Normal Cron RunReplaced"]
    stage.look(at(14, 0, 5))
    assert stage.jobs == [first.name]
    assert stage.server.objects[JOBS][first.job.metadata.key].metadata.deletion_timestamp is not None
    stage.server.drop(JOBS, first.job.metadata.key)
    stage.look(at(14, 0, 9))
    assert stage.jobs == [run_name(NAME, at(14))]


def test_nobody_is_replaced_by_a_cache_that_is_behind(runner: asyncio.Runner) -> None:
    """By the old status a run is due; by the new one the active run is that run."""
    waiting = {"type": "Ready", "status": "True", "reason": "ReplacingRun", "observedGeneration": 1}
    waiting |= {"message": f"a run is due and starts when {run_name(NAME, at(14))} is deleted"}
    status: dict[str, Any] = {"lastScheduleTime": codec.plain(at(13)), "nextScheduleTime": codec.plain(at(15))}
    active = run(cron(concurrencyPolicy="Replace"), at(14))
    status |= {"conditions": [waiting], "observedGeneration": 1, "active": [codec.plain(active.reference())]}
    stage = Stage(runner, cron(concurrencyPolicy="Replace", status=status), active)
    old = stage.cron
    stage.server.put(CRONS, old)
    with pytest.raises(ConflictError):
        stage.look(at(14, 0, 5), stale=old)
    assert stage.server.objects[JOBS][active.job.metadata.key].metadata.deletion_timestamp is None


def test_old_runs_are_deleted_and_keep_their_rows(runner: asyncio.Runner) -> None:
    """Up to the limit; a row stays when its job is deleted by somebody else."""
    of = cron(historyLimit=2, suspend=True)
    jobs = [run(of, at(hour), "Succeeded") for hour in (9, 10, 11)]
    stage = Stage(runner, of, *jobs)
    stage.look(at(12))
    assert stage.jobs == [one.name for one in jobs[1:]]
    stage.server.drop(JOBS, jobs[1].job.metadata.key)
    stage.look(at(12, 1))
    assert [row.object.name for row in stage.cron.status.history] == [one.name for one in jobs[1:]]


def test_a_cron_that_is_gone_needs_nothing(runner: asyncio.Runner) -> None:
    """Its key is forgotten."""
    stage = Stage(runner, cron())
    stage.server.drop(CRONS, KEY)
    assert stage.look(at(13)) is None
