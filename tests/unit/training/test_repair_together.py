"""Repair under the scope Job: one incident, one cause, and no two attempts mixed."""

import pytest

from kubedl.training.plan import Plan
from tests.training_builders import JobBuilder, PodBuilder, after, decide, pod, torch_job

JOB = torch_job().master().workers(2, restartPolicy="ExitCode")
COMPLETE = JOB.counted("Master", active=1).counted("Worker", active=2)
MASTER = pod(JOB, "Master").on("node1")
FIRST, SECOND = pod(JOB, "Worker", 0).on("node1"), pod(JOB, "Worker", 1).on("node2")


def names(decided: Plan) -> list[str]:
    """The pods to be deleted."""
    return [one.pod.metadata.name for one in decided.deletions]


def written(job: JobBuilder, decided: Plan) -> JobBuilder:
    """The job after the plan's status was written."""
    return job.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})


def test_one_death_restarts_all_and_names_the_first_cause() -> None:
    """The echoes of the others are neither counted nor told."""
    decided = decide(JOB, MASTER.failed(1, at=-1), FIRST.failed(137, at=-2), SECOND.failed(1, at=-1))
    assert (decided.status.attempt, decided.status.retries) == (1, 1)
    assert decided.status.replica_statuses["Worker"].restarts == 1
    assert decided.status.replica_statuses["Master"].restarts == 0
    assert names(decided) == ["resnet-master-0", "resnet-worker-0", "resnet-worker-1"]
    assert [event.reason for event in decided.events] == ["JobRestarting"]
    assert "resnet-worker-0 failed with exit code 137" in decided.events[0].message


def test_the_new_attempt_starts_when_the_last_of_the_old_one_is_gone() -> None:
    """Also one of a replica that the job has no more."""
    job = JOB.with_status(attempt=1)
    old = SECOND.running().going(30)
    assert decide(job, old).creations == ()
    bigger = torch_job().master().workers(3)
    stranger = pod(bigger, "Worker", 2).running().going(30)
    assert decide(job, stranger).creations == ()
    assert [(one.replica.role, one.attempt) for one in decide(job).creations] == [("Master", 1)]


def test_who_had_succeeded_runs_again_with_the_others() -> None:
    """Else they would wait at their rendezvous for ever."""
    decided = decide(
        JOB.counted("Worker", succeeded_indexes="0"), MASTER.running(), FIRST.succeeded(), SECOND.failed(137)
    )
    assert decided.status.replica_statuses["Worker"].succeeded_indexes == ""
    assert names(decided) == ["resnet-master-0", "resnet-worker-0", "resnet-worker-1"]
    again = decide(written(JOB, decided), FIRST.succeeded())
    assert again.status.replica_statuses["Worker"].succeeded == 0


@pytest.mark.parametrize(
    ("pods", "deleted", "lost"),
    [
        ([FIRST.failed(1), SECOND.running().going(30)], [], {}),
        ([FIRST.failed(137), SECOND.failed(1).disrupted()], [], {}),
        ([FIRST.failed(1)], [SECOND.running()], {}),
        ([FIRST.failed(137)], [SECOND.failed(1).going(30)], {}),
        ([FIRST.failed(1), SECOND.running()], [], {"node2": -5}),
    ],
)
def test_a_disruption_explains_the_others(
    pods: list[PodBuilder], deleted: list[PodBuilder], lost: dict[str, float]
) -> None:
    """So nothing is counted; a lost node need not wait for its time where survivors fail already."""
    decided = decide(JOB, MASTER.running(), *pods, deleted=deleted, lost_nodes=lost)
    assert (decided.status.attempt, decided.status.retries) == (1, 0)
    assert decided.status.replica_statuses["Worker"].evicted == 1


def test_an_ordinary_exit_waits_for_a_better_explanation() -> None:
    """While a peer is silent; then the job fails for it."""
    early = decide(JOB, MASTER.running(), FIRST.failed(1, at=0), SECOND.running(), now=30)
    assert (early.status.attempt, early.deletions, early.wake_at) == (0, (), after(60))
    late = decide(JOB, MASTER.running(), FIRST.failed(1, at=0), SECOND.running(), now=60)
    assert (late.status.state, late.status.reason) == ("Failed", "ReplicaFailed")
    nobody_silent = decide(JOB, MASTER.failed(1), FIRST.failed(1), SECOND.failed(2, at=-9), now=1)
    assert nobody_silent.events[-1].message == "resnet-worker-1 failed with exit code 2"


def test_who_waits_for_an_explanation_is_not_made_anew_meanwhile() -> None:
    """Its pod was collected, but the attempt may be doomed."""
    decided = decide(JOB, MASTER.running(), SECOND.running(), deleted=[FIRST.failed(1, at=0)], now=30)
    assert (decided.creations, decided.wake_at) == ((), after(60))


def test_a_pod_that_is_missing_without_a_trace_was_taken_away() -> None:
    """Once all had been made; the survivors cannot go on without it. The server is asked first."""
    decided = decide(COMPLETE, MASTER.running(), FIRST.running())
    assert (decided.status.attempt, decided.status.retries) == (1, 0)
    assert decided.confirm == ("resnet-worker-1",)
    assert names(decided) == ["resnet-master-0", "resnet-worker-0"]


def test_a_pod_that_was_never_made_is_made() -> None:
    """The operator died in the middle of making them."""
    decided = decide(JOB.counted("Master", active=1), MASTER.running(), FIRST.running())
    assert decided.status.attempt == 0
    assert [(one.replica.index, one.attempt) for one in decided.creations] == [(1, 0)]


def test_missing_without_a_trace_after_many_attempts_is_repaired_too() -> None:
    """A pause counted from now would never be over."""
    decided = decide(COMPLETE.with_status(attempt=9), MASTER.attempt(9).running(), FIRST.attempt(9).running())
    assert (decided.status.attempt, decided.wake_at) == (10, None)


@pytest.mark.parametrize(("now", "moves"), [(9, False), (10, True)])
def test_attempts_come_more_and_more_slowly(now: float, moves: bool) -> None:
    """Before the pause is over everything stays as it is."""
    job = JOB.with_status(attempt=2)
    pods = [MASTER.attempt(2).running(), FIRST.attempt(2).failed(137, at=0), SECOND.attempt(2).running()]
    decided = decide(job, *pods, now=now)
    assert decided.status.attempt == (3 if moves else 2)
    assert decided.wake_at == (None if moves else after(10))
    assert decided.creations == ()


@pytest.mark.parametrize(("limit", "fails"), [(0, True), (1, False)])
def test_the_limit_counts_incidents(limit: int, fails: bool) -> None:
    """Two killed at once are one."""
    job = JOB.with_spec(backoffLimit=limit)
    decided = decide(job, MASTER.failed(137), FIRST.failed(137), SECOND.failed(137))
    assert decided.status.retries == 1
    assert (decided.status.reason == "BackoffLimitExceeded") == fails


def test_restarts_in_place_of_all_are_written_down_when_all_go() -> None:
    """A sidecar's, for example."""
    decided = decide(JOB, MASTER.running().restarted(2), FIRST.failed(137).restarted(1), SECOND.running())
    assert decided.status.retries == 4


def test_a_spoiled_label_is_left_behind() -> None:
    """The next attempt is above whatever somebody wrote."""
    spoiled = FIRST.failed(137).labelled(attempt="7")
    decided = decide(JOB, MASTER.running(), spoiled, SECOND.running())
    assert decided.status.attempt == 8
    again = decide(written(JOB, decided), MASTER.running(), spoiled, SECOND.running(), now=1)
    assert (again.status.attempt, again.status.retries) == (8, 1)


def test_a_change_of_scope_goes_above_what_single_replicas_had_reached() -> None:
    """Attempts of one replica are added to the job's."""
    job = JOB.counted("Worker", attempts={"1": 3})
    decided = decide(job, MASTER.running(), FIRST.failed(137, at=-99), SECOND.attempt(3).running())
    assert decided.status.attempt == 4
    assert decided.status.replica_statuses["Worker"].attempts == {}
