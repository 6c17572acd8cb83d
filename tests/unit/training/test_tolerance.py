"""A role that may fail: the kind says so, and the job goes on without it."""

import pytest

from kubedl.api.replica_spec import Dependency
from kubedl.training.job import Role
from kubedl.training.kinds.tensorflow import TensorFlow
from tests.training_builders import JobBuilder, after, decide, pod, torch_job


class Tolerant(TensorFlow):
    """A TFJob that does not care for its evaluator."""

    roles = (Role("Worker"), Role("Evaluator", fatal=False))  # type: ignore[assignment]


class Awaited(TensorFlow):
    """A TFJob whose evaluator waits for workers that may fail."""

    roles = (  # type: ignore[assignment]
        Role("Worker", fatal=False),
        Role("Evaluator", after=(Dependency(upstream="Worker", phase="Ready"),)),
    )


JOB = JobBuilder(Tolerant(), "mnist").workers(2).evaluator()
WORKERS = [pod(JOB, "Worker", index).running() for index in range(2)]
EVALUATOR = pod(JOB, "Evaluator")


@pytest.mark.parametrize("scope", ["Replica", "Job"])
@pytest.mark.parametrize("gone", [False, True])
def test_it_may_fail_for_good(scope: str, gone: bool) -> None:
    """The others go on, and it is not tried again: neither at once nor when its pod is collected."""
    dead = EVALUATOR.failed(1, at=-99)
    decided = decide(JOB.scope(scope), *WORKERS, *([] if gone else [dead]), deleted=[dead] if gone else [])
    assert decided.status.state != "Failed"
    assert (decided.creations, decided.deletions, decided.status.attempt) == ((), (), 0)


@pytest.mark.parametrize(("scope", "attempt"), [("Replica", 0), ("Job", 1)])
def test_what_can_be_tried_again_is(scope: str, attempt: int) -> None:
    """A kill of it is repaired like any other."""
    decided = decide(JOB.scope(scope), *WORKERS, EVALUATOR.failed(137))
    assert (decided.status.retries, decided.status.attempt) == (1, attempt)


def test_it_does_not_speak_for_the_others() -> None:
    """Its ordinary exit is no cause of an incident, and nobody waits for a better one."""
    decided = decide(JOB.scope("Job"), *WORKERS, EVALUATOR.failed(1), now=1)
    assert decided.wake_at is None
    failed = decide(
        JOB.scope("Job"), pod(JOB, "Worker").failed(2, at=0), WORKERS[1], EVALUATOR.failed(1, at=-50), now=20
    )
    assert failed.wake_at == after(60)


@pytest.mark.parametrize("scope", ["Replica", "Job"])
def test_it_may_not_fail_while_somebody_waits_for_it(scope: str) -> None:
    """They would wait forever. Whoever has started does not."""
    job = JobBuilder(Awaited(), "mnist").workers(2).evaluator().scope(scope)
    workers = [pod(job, "Worker", 0).running(), pod(job, "Worker", 1).failed(1, at=-99)]
    waiting = decide(job, *workers)
    assert (waiting.status.state, waiting.status.reason) == ("Failed", "ReplicaFailed")
    started = decide(job, *workers, pod(job, "Evaluator").running())
    assert started.status.state != "Failed"


def test_the_user_may_say_so_too() -> None:
    """failurePolicy over what the kind declares, in both directions."""
    never = {"failurePolicy": "FailReplica", "restartPolicy": "Never"}
    torch = torch_job().master().workers(2, **never).with_spec(successPolicy="AnyWorker")
    alive = [pod(torch, "Master").running(), pod(torch, "Worker", 0).running()]
    decided = decide(torch, *alive, pod(torch, "Worker", 1).failed(1, at=-99), now=0)
    assert decided.status.state == "Running"
    strict = JobBuilder(Tolerant(), "mnist").workers(2).evaluator(failurePolicy="FailJob").scope("Replica")
    assert decide(strict, *WORKERS, EVALUATOR.failed(1)).status.state == "Failed"


@pytest.mark.parametrize("scope", ["Replica", "Job"])
def test_a_job_that_cannot_succeed_without_it_fails(scope: str) -> None:
    """Nobody waits for ever: the message says why."""
    torch = torch_job().master().workers(2, failurePolicy="FailReplica", restartPolicy="Never").scope(scope)
    master, dead = pod(torch, "Master").running(), pod(torch, "Worker", 1).failed(3, at=-99)
    decided = decide(torch, master, pod(torch, "Worker", 0).running(), dead)
    assert decided.status.state == "Failed"
    [failed] = [one for one in decided.status.conditions if one.type == "Failed"]
    assert failed.message == "resnet-worker-1 failed with exit code 3; the job cannot succeed without it"


def test_a_job_that_cannot_succeed_without_it_waits_for_the_first_cause_all_the_same() -> None:
    """Its exit may be the echo of a lost node, as anybody's."""
    torch = torch_job().master().workers(2, failurePolicy="FailReplica", restartPolicy="Never").scope("Job")
    alive = [pod(torch, "Master").running(), pod(torch, "Worker", 0).running()]
    decided = decide(torch, *alive, pod(torch, "Worker", 1).failed(3, at=0), now=5)
    assert decided.wake_at == after(60)
    assert decided.status.state != "Failed"


def test_the_job_runs_when_all_others_do() -> None:
    """And says how many it does without."""
    decided = decide(JOB.scope("Replica"), *WORKERS, EVALUATOR.failed(1))
    [running] = [one for one in decided.status.conditions if one.type == "Running"]
    assert (running.status, running.message) == ("True", "2 of 3 replicas are running, 1 failed for good")


def test_a_new_attempt_of_all_is_one_of_those_given_up_too() -> None:
    """Who died in the last attempt may live in the next."""
    dead, killed = EVALUATOR.failed(1, at=-9), pod(JOB, "Worker", 1).failed(137, at=-9)
    decided = decide(JOB.scope("Job"), WORKERS[0], killed, dead)
    assert decided.status.attempt == 1
    assert len(decided.deletions) == 3
    again = decide(JOB.scope("Job").with_status(attempt=1))
    assert {creation.replica.role for creation in again.creations} == {"Worker", "Evaluator"}
