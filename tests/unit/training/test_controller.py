"""The loop around the planner: the order of writes, and what is done about a refusal."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.conditions import find, is_true
from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import PODS, SERVICES
from kubedl.kube.types.meta import Resource
from kubedl.runtime.store import OwnerKey
from kubedl.training.ssh import SECRETS
from tests.training_builders import NAMESPACE, NOW, JobBuilder, mpi_job, tf_job
from tests.unit.training.api_model import ApiModel, Crash, Harm, with_status
from tests.unit.training.operator_model import OperatorModel
from tests.unit.training.world_model import World

JOB = tf_job("mnist").workers(2).scope("Replica")
MPI = mpi_job("pi").workers(2).launcher()


class Stage:
    """A world with one operator, whose writes are listed."""

    def __init__(self, job: JobBuilder, runner: asyncio.Runner) -> None:
        self.world = World(job.kind, job.build(), ApiModel(NOW))
        self.writes: list[str] = []
        self._runner = runner
        self.operator = OperatorModel(self.world.api, job.kind, self.job.metadata.key, self._write)

    @property
    def job(self) -> TrainingJob:
        assert self.world.job is not None
        return self.world.job

    def look(self, harm: tuple[int, Harm] | None = None) -> list[str]:
        """What the operator writes when it looks, with all that happened before its eyes."""
        self.operator.deliver_all()
        self.writes.clear()
        self.operator.reconcile(self._runner, harm)
        return list(self.writes)

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.world.api.now += timedelta(seconds=seconds)

    def restart(self) -> None:
        """Another operator takes over."""
        self.operator = OperatorModel(self.world.api, self.world.kind, self.job.metadata.key, self._write)

    def run_pods(self) -> None:
        """All of them."""
        while self.world.bind(0, 0) or self.world.start(0):
            pass
        self.look()

    def _write(self, _: OperatorModel, verb: str, resource: Resource[Any], what: Any) -> None:  # noqa: ANN401
        name = what["metadata"].get("name", "status") if isinstance(what, dict) else what.name
        self.writes.append(
            verb if resource is self.operator.controller.kind.resource else f"{verb} {resource.plural} {name}"
        )


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as made:
        yield made


def test_creations_come_first_and_the_status_speaks_of_them(runner: asyncio.Runner) -> None:
    """Then there is nothing left to write."""
    stage = Stage(JOB, runner)
    assert stage.look() == [
        "create services mnist",
        "create pods mnist-worker-0",
        "create pods mnist-worker-1",
        "patch",
    ]
    assert stage.look() == []


def test_companions_come_before_the_service(runner: asyncio.Runner) -> None:
    """So a Service proves that they were made. They belong to the job, and are its own by name."""
    stage = Stage(MPI, runner)
    assert stage.look() == [
        "create secrets pi-ssh-job-1",
        "create services pi",
        "create pods pi-worker-0",
        "create pods pi-worker-1",
        "patch",
    ]
    assert stage.look() == []
    (secret,) = stage.world.api.all(SECRETS)
    assert secret.metadata.controller.uid == stage.job.metadata.uid


@pytest.mark.parametrize("harm", ["lost after", "crash after"])
def test_a_companion_that_is_there_is_taken_for_made(runner: asyncio.Runner, harm: Harm) -> None:
    """Nobody asks whose it is: no other job could have that name."""
    stage = Stage(MPI, runner)
    if harm == "crash after":
        with pytest.raises(Crash):
            stage.look((0, harm))
        stage.restart()
    else:
        stage.look((0, harm))
    before = list(stage.world.api.all(SECRETS))
    assert stage.look()[:2] == ["create secrets pi-ssh-job-1", "create services pi"]
    assert list(stage.world.api.all(SECRETS)) == before
    assert len(stage.world.pods()) == 2


def test_without_its_companion_nothing_of_a_job_is_made(runner: asyncio.Runner) -> None:
    """Its pods could not start; the job says why, and it is tried again."""
    stage = Stage(MPI, runner)
    assert stage.look((0, "refused")) == ["patch"]
    assert is_true(stage.job.status.conditions, "Blocked")
    assert stage.job.status.replica_statuses["Worker"].active == 0
    stage.wait(3)
    assert len(stage.look()) == 5
    assert not is_true(stage.job.status.conditions, "Blocked")


def test_a_service_that_was_deleted_brings_no_second_companion(runner: asyncio.Runner) -> None:
    """Pods that run have the first."""
    stage = Stage(MPI, runner)
    stage.look()
    stage.world.api.drop(SERVICES, stage.job.metadata.key)
    assert stage.look() == ["create secrets pi-ssh-job-1", "create services pi"]
    assert len(list(stage.world.api.all(SECRETS))) == 1


def test_the_status_comes_before_deletions(runner: asyncio.Runner) -> None:
    """So that what they destroy has been counted."""
    stage = Stage(JOB, runner)
    stage.look()
    stage.run_pods()
    stage.world.exit(0, 137)
    assert stage.look() == ["patch", "delete pods mnist-worker-0"]


def test_nothing_is_deleted_over_a_status_that_was_not_written(runner: asyncio.Runner) -> None:
    """Somebody wrote in between."""
    stage = Stage(JOB, runner)
    stage.look()
    stage.run_pods()
    stage.world.exit(0, 137)
    stage.operator.deliver_all()
    stage.world.set_suspend(True)  # the operator does not know yet
    stage.writes.clear()
    stage.operator.reconcile(runner)
    assert stage.writes == ["patch"]
    assert stage.operator.reason is not None
    assert stage.job.status.retries == 0


def test_a_refusal_is_in_the_status_and_is_tried_again(runner: asyncio.Runner) -> None:
    """What was not made is not counted; when it can be made, the job is blocked no more."""
    stage = Stage(JOB, runner)
    stage.look((2, "refused"))
    found = find(stage.job.status.conditions, "Blocked")
    assert found is not None
    assert (found.status, found.reason, found.message) == ("True", "PodForbidden", "exceeded quota")
    assert stage.job.status.reason == "PodForbidden"
    assert stage.job.status.replica_statuses["Worker"].active == 0
    assert "exceeded quota" in str(stage.operator.reason)
    stage.wait(3)
    assert stage.look() == ["create pods mnist-worker-1", "patch"]
    assert not is_true(stage.job.status.conditions, "Blocked")
    assert stage.job.status.replica_statuses["Worker"].active == 2
    assert stage.job.status.attempt == 0


def test_a_refusal_does_not_undo_what_was_counted(runner: asyncio.Runner) -> None:
    """Here the Service cannot be made while a death is counted."""
    stage = Stage(JOB, runner)
    stage.look()
    stage.run_pods()
    stage.world.exit(0, 137)
    stage.world.api.drop(SERVICES, stage.job.metadata.key)
    stage.look((0, "refused"))
    assert stage.job.status.retries == 1
    assert stage.job.status.replica_statuses["Worker"].attempts == {"0": 1}
    stage.look()
    assert stage.job.status.retries == 1


def test_the_name_of_somebody_elses_pod_blocks_and_is_not_adopted(runner: asyncio.Runner) -> None:
    """A pod of an earlier job of that name, for example."""
    stage = Stage(JOB, runner)
    stage.look()
    stage.world.delete_job()
    stage.world.make_job()
    stage.look()
    found = find(stage.job.status.conditions, "Blocked")
    assert found is not None
    assert "does not belong to this object" in found.message
    owners = {pod.metadata.controller.uid for pod in stage.world.api.all(PODS)}
    assert owners == {"job-1"}


def test_a_template_that_is_none_blocks_the_job_and_is_not_tried_again(runner: asyncio.Runner) -> None:
    """It costs one condition, which names the place; a new look comes with the next edit."""
    job = JOB.role("Worker", 2, template={"spec": {"containers": [{"name": "tensorflow", "env": "x"}]}})
    stage = Stage(job, runner)
    assert stage.look() == ["create services mnist", "patch"]
    found = find(stage.job.status.conditions, "Blocked")
    assert found is not None
    assert (found.status, found.reason) == ("True", "TemplateInvalid")
    assert "the template of Worker" in found.message
    assert "$.spec.containers[0].env" in found.message
    assert (stage.operator.reason, stage.operator.due) == (None, None)
    assert stage.look() == []


def test_an_unsure_answer_is_no_refusal(runner: asyncio.Runner) -> None:
    """The pod was made though the answer was lost; it is recognised and not made twice."""
    stage = Stage(JOB, runner)
    stage.look((1, "lost after"))
    assert len(stage.world.pods()) == 2
    assert stage.operator.reason is not None
    assert find(stage.job.status.conditions, "Blocked") is None
    assert stage.look() == ["patch"]
    assert len(stage.world.pods()) == 2


def test_a_pod_that_only_the_cache_misses_is_not_taken_for_dead(runner: asyncio.Runner) -> None:
    """A new leader's cache may be behind the status that it reads: the server is asked."""
    stage = Stage(JOB, runner)
    stage.look()
    late = OperatorModel(stage.world.api, JOB.kind, stage.job.metadata.key, lambda *_: None)
    late.pods.replace([])
    late.pods.drop_tombstones(stage.job.metadata.uid)
    late.reconcile(runner)
    assert "not in the cache yet" in str(late.reason)
    assert stage.job.status.replica_statuses["Worker"].attempts == {}


def test_what_was_drawn_from_a_deleted_pod_is_forgotten_after_it_is_written(runner: asyncio.Runner) -> None:
    """Not before: the write may fail."""
    stage = Stage(JOB.with_spec(successPolicy="AllWorkers"), runner)
    stage.look()
    stage.run_pods()
    stage.world.exit(0, 0)
    stage.world.collect_ended(0)
    stage.look((0, "lost before"))
    assert len(stage.operator.pods.tombstones(OwnerKey(NAMESPACE, "job-1"))) == 1
    stage.look()
    assert stage.job.status.replica_statuses["Worker"].succeeded_indexes == "0"
    stage.look()
    stage.world.exit(0, 0)
    stage.look()
    stage.look()
    assert stage.operator.pods.tombstones(OwnerKey(NAMESPACE, "job-1")) == []


def test_a_job_that_is_gone_leaves_no_memory_behind(runner: asyncio.Runner) -> None:
    """Whether its pods go before or after it."""
    stage = Stage(JOB, runner)
    stage.look()
    stage.run_pods()
    stage.world.delete_pod(0, force=True)
    stage.operator.deliver_all()
    stage.world.delete_job()
    stage.world.delete_pod(0, force=True)
    stage.operator.deliver_all()
    assert stage.operator.pods.tombstones(OwnerKey(NAMESPACE, "job-1")) == []
    assert stage.look() == []


def test_a_job_whose_time_is_over_is_deleted_once(runner: asyncio.Runner) -> None:
    """And no second look is asked for."""
    stage = Stage(tf_job("mnist").workers(1).with_spec(ttlSecondsAfterFinished=0), runner)
    stage.look()
    stage.run_pods()
    stage.world.exit(0, 0)
    assert stage.look() == ["patch", "delete"]
    assert stage.operator.due is None
    assert stage.world.job is None


def test_a_crash_is_no_error_of_ours(runner: asyncio.Runner) -> None:
    """The models themselves: a killed operator writes nothing more."""
    stage = Stage(JOB, runner)
    with pytest.raises(Crash):
        stage.look((1, "crash after"))
    assert [pod.metadata.name for pod in stage.world.pods()] == ["mnist-worker-0"]


@pytest.mark.parametrize(("code", "retries"), [(0, 0), (143, 0)])
def test_who_was_told_to_go_and_ends_in_the_same_second_did_not_end_by_itself(
    runner: asyncio.Runner, code: int, retries: int
) -> None:
    """The last word about the pod does not say so; that it was seen to be told does."""
    stage = Stage(JOB, runner)
    stage.look()
    stage.run_pods()
    stage.world.delete_pod(0)
    stage.world.exit(0, code)
    stage.world.reap(0)
    stage.look()
    workers = stage.job.status.replica_statuses["Worker"]
    assert (stage.job.status.retries, workers.evicted, workers.succeeded) == (retries, 1, 0)


def test_who_ended_and_was_collected_in_the_same_second_ended_by_itself(runner: asyncio.Runner) -> None:
    """Nobody told it to go while it ran."""
    stage = Stage(JOB.with_spec(successPolicy="AllWorkers"), runner)
    stage.look()
    stage.run_pods()
    stage.world.exit(0, 0)
    stage.world.collect_ended(0)
    stage.look()
    assert stage.job.status.replica_statuses["Worker"].succeeded_indexes == "0"


def test_a_resumed_job_does_not_mourn_the_pods_it_was_suspended_with(runner: asyncio.Runner) -> None:
    """Even where the answer to the write that resumed it was lost."""
    stage = Stage(JOB, runner)
    stage.look()
    stage.run_pods()
    stage.world.set_suspend(True)
    stage.look()
    stage.world.set_suspend(False)
    for _ in range(2):
        stage.world.exit(0, 143)
        stage.world.reap(0)
    stage.look((0, "lost after"))
    stage.look()
    workers = stage.job.status.replica_statuses["Worker"]
    assert (workers.active, workers.evicted, workers.attempts) == (2, 0, {})


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "deleted"])
def test_a_pod_of_another_namespace_decides_nothing(runner: asyncio.Runner, phase: str) -> None:
    """It has the right name, the right labels, and the job's uid in its reference: anybody can write that."""
    stage = Stage(JOB, runner)
    stage.look()
    stage.run_pods()
    for mine in stage.world.pods():
        theirs = with_metadata(mine, namespace="evil", uid=f"evil-{mine.metadata.name}")
        stage.world.api.put(PODS, theirs if phase == "deleted" else with_status(theirs, phase=phase))
    if phase == "deleted":
        stage.look()
        for theirs in [pod for pod in stage.world.api.all(PODS) if pod.metadata.namespace == "evil"]:
            stage.world.api.drop(PODS, theirs.metadata.key)
    before = stage.job.status
    assert stage.look() == []
    assert stage.job.status == before
    assert before.state == "Running"


def test_a_service_of_another_namespace_is_nobodys(runner: asyncio.Runner) -> None:
    """The job makes its own."""
    stage = Stage(JOB, runner)
    stage.look()
    (mine,) = stage.world.api.all(SERVICES)
    stage.world.api.put(SERVICES, with_metadata(mine, namespace="evil", uid="theirs"))
    stage.world.api.drop(SERVICES, mine.metadata.key)
    assert stage.look() == ["create services mnist"]
