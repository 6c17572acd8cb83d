"""Jobs with a cronPolicy: the Cron that is made of them, and that they have no pods."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest

from harness.fakes.api_server import FakeClient, Server
from kubedl.api.cron import CRONS, Cron
from kubedl.api.training import TrainingJob, cron_policy
from kubedl.cron.job_policy import APPLIED, ScheduledJobController, cron_body
from kubedl.datasets.plan import uses
from kubedl.kube import codec
from kubedl.kube.errors import ApiError
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from kubedl.training.kueue.observation import may_have_queue
from kubedl.training.planner import plan
from kubedl.training.tensorboard.spec import is_wanted
from tests.training_builders import NAMESPACE, NOW, JobBuilder, mpi_job, observed, torch_job

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

POLICY = {"schedule": "0 3 * * *", "concurrencyPolicy": "Forbid"}


def scheduled() -> JobBuilder:
    """A PyTorchJob at 3 o'clock."""
    return torch_job("resnet").master().with_spec(cronPolicy=POLICY)


class Stage:
    """One job and perhaps its Cron, in an API server."""

    def __init__(self, runner: asyncio.Runner, job: JobBuilder) -> None:
        self.resource = job.kind.resource
        self.server = Server(NOW, (CRONS, self.resource))
        self.events: list[str] = []
        self._runner = runner
        self.put(job)

    def put(self, job: JobBuilder) -> None:
        """A new state of the job."""
        self.job: TrainingJob = self.server.put(self.resource, job.build())

    def look(self) -> int:
        """Reconcile; returns the number of writes."""
        client = FakeClient(self.server, lambda _: None)
        jobs, crons = self._store(self.resource), self._store(CRONS)
        writer = Writer(cast("Client", client), Expectations({CRONS: crons}))
        recorder = cast("EventRecorder", self)
        controller = ScheduledJobController(self.resource, jobs, crons, writer, recorder)
        if any(controller.job_with_policy(self.job)):
            self._runner.run(controller.reconcile(self.job.metadata.key))
        return client.writes

    def event(self, about: Any, kind: str, reason: str, _: str) -> None:  # noqa: ANN401 - a reference
        """As a recorder."""
        self.events.append(f"{kind} {about.kind} {reason}")

    @property
    def cron(self) -> Cron | None:
        """The Cron of the job's name."""
        return cast("Cron | None", self.server.objects[CRONS].get(self.job.metadata.key))

    def _store(self, resource: Any) -> Store[Any]:  # noqa: ANN401 - a resource
        store: Store[Any] = Store()
        store.replace(list(self.server.objects[resource].values()))
        return store


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as made:
        yield made


def test_the_job_is_the_template_of_its_cron() -> None:
    """With its labels and annotations, except what kubectl left; without its schedule, which would nest."""
    notes = {APPLIED: "{}", "note": "x"}
    job = scheduled().with_metadata(labels={"team": "vision"}, annotations=notes).with_spec(backoffLimit=3).build()
    body = cron_body(torch_job().kind.resource, job)
    spec = body["spec"]
    assert {name: spec[name] for name in POLICY} == POLICY
    workload = spec["template"]["workload"]
    assert workload["metadata"] == {"labels": {"team": "vision"}, "annotations": {"note": "x"}}
    assert "cronPolicy" not in workload["spec"]
    assert workload["spec"]["backoffLimit"] == 3
    assert workload["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    assert body["metadata"]["ownerReferences"][0]["uid"] == job.metadata.uid


def test_an_mpijob_may_have_it_in_its_run_policy() -> None:
    """As in KubeDL 0.5."""
    job = mpi_job().launcher().with_spec(runPolicy={"cronPolicy": POLICY, "backoffLimit": 1}).build()
    body = cron_body(mpi_job().kind.resource, job)
    assert body["spec"]["schedule"] == POLICY["schedule"]
    assert body["spec"]["template"]["workload"]["spec"]["runPolicy"] == {"backoffLimit": 1}


def test_a_suspended_job_suspends_its_schedule() -> None:
    """Not its runs, which would wait for ever."""
    spec = cron_body(torch_job().kind.resource, scheduled().suspended().build())["spec"]
    assert spec["suspend"] is True
    assert "suspend" not in spec["template"]["workload"]["spec"]


def test_the_cron_follows_the_job(runner: asyncio.Runner) -> None:
    """Created, left alone while nothing changes, changed with the job, created again if somebody deletes it."""
    stage = Stage(runner, scheduled())
    assert stage.look() == 1
    assert stage.cron is not None
    assert stage.look() == 0
    stage.put(scheduled().with_spec(cronPolicy={"schedule": "0 4 * * *"}, backoffLimit=7))
    assert stage.look() == 1
    assert stage.cron is not None
    assert (stage.cron.spec.schedule, stage.cron.spec.concurrency_policy) == ("0 4 * * *", "Allow")
    assert stage.cron.spec.template.workload.unpack()["spec"]["backoffLimit"] == 7
    assert stage.look() == 0
    stage.server.drop(CRONS, stage.job.metadata.key)
    assert stage.look() == 1


def test_the_order_of_keys_is_no_change(runner: asyncio.Runner) -> None:
    """API servers sort them."""
    stage = Stage(runner, scheduled())
    stage.look()
    assert stage.cron is not None
    body = codec.plain(stage.cron)
    workload = body["spec"]["template"]["workload"]
    body["spec"]["template"]["workload"] = dict(sorted(workload.items(), reverse=True))
    stage.server.put(CRONS, CRONS.decoder.decode(codec.encode(body)))
    assert stage.look() == 0


def test_a_cron_of_somebody_else_is_not_taken(runner: asyncio.Runner) -> None:
    """An event says so."""
    stage = Stage(runner, scheduled())
    body = cron_body(stage.resource, stage.job)
    del body["metadata"]["ownerReferences"]
    stage.server.put(CRONS, CRONS.decoder.decode(codec.encode(body)))
    with pytest.raises(ApiError, match="does not belong"):
        stage.look()
    assert stage.events == ["Warning PyTorchJob CronBlocked"]


def test_other_jobs_cost_nothing(runner: asyncio.Runner) -> None:
    """Without a schedule, deleted, or ended under KubeDL 0.5."""
    assert Stage(runner, torch_job().master()).look() == 0
    assert Stage(runner, scheduled().with_metadata(deletionTimestamp=codec.plain(NOW))).look() == 0
    assert Stage(runner, scheduled().said("Succeeded")).look() == 0


def test_the_job_itself_does_not_run() -> None:
    """No pods, no Service, no end; and what surrounds jobs leaves it alone."""
    job = scheduled().with_spec(tensorBoard={"logDir": "/logs"}, schedulingPolicy={"queue": "vision"})
    decided = plan(observed(job))
    assert (decided.creates, decided.deletions, decided.delete_job) == (False, (), False)
    assert (decided.status.state, decided.status.reason) == ("Created", "JobScheduled")
    assert decided.status.start_time is None
    resource = job.build()
    assert not is_wanted(resource)
    assert not may_have_queue(resource)
    assert not uses(resource)
    unscheduled = torch_job().master().build()
    assert cron_policy(unscheduled) is None
    assert uses(unscheduled)


def test_an_mpijob_with_a_run_policy_does_not_run_either() -> None:
    """Wherever the schedule is written."""
    decided = plan(observed(mpi_job().launcher().with_spec(runPolicy={"cronPolicy": POLICY})))
    assert (decided.creates, decided.status.reason) == (False, "JobScheduled")


def test_runs_of_such_a_cron_run() -> None:
    """Their spec has no schedule."""
    resource = torch_job().kind.resource
    workload = cron_body(resource, scheduled().build())["spec"]["template"]["workload"]
    run = resource.decoder.decode(codec.encode({"metadata": {"name": "run"}, "spec": workload["spec"]}))
    assert cron_policy(run) is None
    assert ObjectKey(NAMESPACE, "resnet") == scheduled().build().metadata.key
