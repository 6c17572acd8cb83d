"""The last failure in the status: which replica, how it ended, and that it costs no write of its own."""

import pytest

from kubedl.api.training_failure import LastFailure
from kubedl.training.last_failure import LONGEST_MESSAGE
from kubedl.training.plan import Plan
from tests.training_builders import JobBuilder, after, decide, pod, tf_job, torch_job

JOB = torch_job().master().workers(2, restartPolicy="ExitCode")
MASTER, FIRST = pod(JOB, "Master").running().on("n0"), pod(JOB, "Worker", 0).running().on("n1")
SECOND = pod(JOB, "Worker", 1).on("n2")
REPLICAS = tf_job().ps(1).workers(2)


def recorded(decided: Plan) -> LastFailure:
    assert decided.status.last_failure is not None
    return decided.status.last_failure


def written(job: JobBuilder, decided: Plan) -> JobBuilder:
    """The job after the plan's status was written."""
    return job.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})


def test_a_kill_with_its_followers() -> None:
    """The root cause is recorded, not the replica that ended first."""
    killed = SECOND.failed(137, at=-1, why="OOMKilled", message="step 12\n")
    decided = decide(JOB, MASTER, pod(JOB, "Worker", 0).failed(1, at=-2), killed, now=30)
    assert recorded(decided) == LastFailure(
        role="Worker",
        index=1,
        pod="resnet-worker-1",
        node="n2",
        container="pytorch",
        exit_code=137,
        signal="SIGKILL",
        reason="OOMKilled",
        message="step 12",
        time=after(-1),
        followers=1,
    )


def test_it_survives_restart_and_deletion() -> None:
    first = decide(JOB, MASTER, FIRST, SECOND.failed(137), now=30)
    assert first.deletions
    job = written(JOB, first)
    second = decide(job, deleted=[MASTER, FIRST, SECOND.failed(137)], now=60)
    assert second.creations
    assert second.status.last_failure == recorded(first)


def test_a_failure_during_the_backoff_is_not_written() -> None:
    """It is written with the count of the retry, and never before."""
    job = JOB.with_status(attempt=3)
    pods = [one.attempt(3) for one in (MASTER, FIRST, SECOND.failed(137))]
    assert decide(job, *pods).status.last_failure is None
    assert recorded(decide(job, *pods, now=3600)).attempt == 3


@pytest.mark.parametrize("exit_code", [1, 127])
def test_a_permanent_failure(exit_code: int) -> None:
    decided = decide(REPLICAS, pod(REPLICAS, "PS").running(), pod(REPLICAS, "Worker").failed(exit_code), now=90)
    assert decided.status.state == "Failed"
    assert (recorded(decided).exit_code, recorded(decided).signal) == (exit_code, "")


def test_a_lost_node() -> None:
    decided = decide(JOB, MASTER, FIRST, SECOND.running(), lost_nodes={"n2": -3600})
    lost = recorded(decided)
    assert (lost.reason, lost.node, lost.exit_code, lost.time) == ("NodeLost", "n2", None, after(-3600))
    assert lost.message == "was lost with node n2"


@pytest.mark.parametrize(
    ("gone", "reason"),
    [
        (SECOND.running().going().disrupted("PreemptionByScheduler", "for another"), "PreemptionByScheduler"),
        (SECOND.running().going(), "Deleted"),
        (SECOND.refused("OutOfcpu", "no room"), "OutOfcpu"),
    ],
)
def test_disruptions(gone: object, reason: str) -> None:
    decided = decide(JOB, MASTER, FIRST, gone, now=30)  # type: ignore[arg-type]
    assert recorded(decided).reason == reason


def test_the_end_of_a_long_message_is_kept() -> None:
    text = "x" * 5000 + "\nRuntimeError: the cause\n"
    said = recorded(decide(JOB, MASTER, FIRST, SECOND.failed(137, message=text), now=30)).message
    assert len(said) <= LONGEST_MESSAGE
    assert said.endswith("RuntimeError: the cause")


def test_restarts_in_place_are_recorded_with_their_count() -> None:
    """And do not cause a write: a status that is equal otherwise stays equal."""
    job = tf_job().workers(1, restartPolicy="OnFailure")
    crashed = pod(job, "Worker").crashed(134, at=-5).running().restarted(1).on("n1")
    decided = decide(job, crashed)
    assert (recorded(decided).signal, recorded(decided).container) == ("SIGABRT", "tensorflow")
    assert decided.status.restarts == 1
    unrecorded = written(job, decided).with_status(last_failure=None)
    assert decide(unrecorded, crashed).status.last_failure is None


def test_restarts_in_place_that_end_the_job() -> None:
    job = tf_job().workers(1, restartPolicy="OnFailure").with_spec(backoffLimit=1)
    decided = decide(job, pod(job, "Worker").crashed(3, at=-5).running().restarted(2))
    assert decided.status.reason == "BackoffLimitExceeded"
    assert recorded(decided).exit_code == 3
