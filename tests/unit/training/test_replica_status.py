"""Counts, and what may be forgotten."""

import pytest

from kubedl.training import replica_status
from kubedl.training.job import Replica
from kubedl.training.plan import Creation, PlanBuilder
from tests.training_builders import PodBuilder, decide, observed, pod, tf_job

JOB = tf_job().ps(1).workers(3).scope("Replica").with_spec(successPolicy="AllWorkers")
PS = pod(JOB, "PS").running()


def worker(index: int) -> PodBuilder:
    """One of three."""
    return pod(JOB, "Worker", index)


def test_counts_are_of_what_was_found() -> None:
    """A pod that waits is active and not ready."""
    decided = decide(JOB, PS, worker(0).running(ready=False), worker(1).succeeded(), worker(2))
    counted = decided.status.replica_statuses
    assert (counted["PS"].active, counted["PS"].ready) == (1, 1)
    assert (counted["Worker"].active, counted["Worker"].ready, counted["Worker"].succeeded) == (2, 0, 1)
    assert decided.status.ready == "1/4"


def test_what_is_about_to_be_made_counts_as_active() -> None:
    """Creations come before the status that speaks of them."""
    decided = decide(JOB, PS, worker(1).running())
    assert len(decided.creations) == 2
    assert decided.status.replica_statuses["Worker"].active == 3


def test_what_could_not_be_made_is_uncounted() -> None:
    """Else its absence would be taken for a death; all else in the status stays."""
    decided = decide(JOB, PS, worker(1).succeeded())
    status = replica_status.uncount(decided.status, decided.creations)
    assert (status.replica_statuses["Worker"].active, status.replica_statuses["Worker"].succeeded) == (0, 1)
    assert status.replica_statuses["PS"].active == 1
    assert (
        replica_status.uncount(decided.status, [Creation(Replica("Worker", 0), 0)]).replica_statuses["Worker"].active
        == 1
    )


def test_a_success_outlives_its_pod() -> None:
    """And the counts of others are not touched by it."""
    job = JOB.counted("Worker", succeeded=2, succeeded_indexes="0,2")
    decided = decide(job, PS, worker(1).running())
    assert decided.creations == ()
    assert decided.status.replica_statuses["Worker"].succeeded_indexes == "0,2"


@pytest.mark.parametrize("attempt", [0, 1])
def test_a_pod_of_an_older_attempt_is_not_the_replicas(attempt: int) -> None:
    """But it has the name."""
    job = JOB.counted("Worker", attempts={"0": 1})
    found = replica_status.observe_replicas(observed(job, worker(0).attempt(attempt).succeeded()))[1]
    assert found.pod is not None
    assert (found.attempt, found.current is not None, found.succeeded) == (1, attempt == 1, attempt == 1)


def test_what_is_remembered_is_forgotten_only_when_it_is_in_writing() -> None:
    """Of older attempts, and of replicas that nobody wants, at once."""
    job = JOB.counted("Worker", succeeded_indexes="0", attempts={"1": 1})
    written, old, telling = worker(0).succeeded(), worker(1).failed(137), worker(2).failed(137)
    stranger = pod(tf_job().workers(9), "Worker", 8).running()
    builder = PlanBuilder(observed(job, PS, deleted=[written, old, telling, stranger]))
    replica_status.forget(builder)
    assert builder.forget == [one.build().metadata.uid for one in (written, old, stranger)]


def test_a_replica_that_succeeded_has_come_all_the_way() -> None:
    """For those who wait for it."""
    seen = observed(JOB, PS, worker(0).running(ready=False), worker(1).succeeded(), worker(2).running().going())
    progress = replica_status.progress(seen.job, replica_status.observe_replicas(seen))["Worker"]
    assert (progress.replicas, progress.running, progress.ready, progress.succeeded) == (3, 2, 1, 1)
