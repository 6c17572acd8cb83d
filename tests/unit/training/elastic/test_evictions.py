"""Pods that Kubernetes evicts: they leave alone, unless it happens again and again."""

import pytest

from kubedl.api.elastic import Reclaim
from kubedl.training.policies.failure_policy import DISRUPTED
from tests.training_builders import NOW, after, decide, pod
from tests.unit.training.elastic.reclaim_builders import elastic, made, phases, pods, reclaims, record, removed, written


def evictions(number: int) -> tuple[Reclaim, ...]:
    """The records of earlier ones, which are over."""
    return tuple(
        record("Settled", source=DISRUPTED, node=f"node-{before}", left_at=NOW, ended_at=NOW)
        for before in range(number)
    )


def test_an_evicted_pod_leaves_alone() -> None:
    """Others on its node stay."""
    job = elastic()
    there = [*pods(job, 1, 2)[:2], pod(job, "Worker", 2).on("spot").running().disrupted().going(30)]
    decided = decide(job, *there)
    (found,) = reclaims(decided)
    assert (found.source, found.node, found.replicas, found.phase) == (DISRUPTED, "spot", "2", "Left")
    assert decided.status.replica_statuses["Worker"].attempts == {"2": 1}
    gone = decide(written(job, decided), *there[:2], deleted=[there[2]], now=3)
    assert (made(gone), gone.status.attempt, phases(gone)) == ([(2, 1)], 0, ["Settled"])
    assert reclaims(gone)[0].ended_at == after(3)


def test_a_pod_that_will_be_evicted_is_asked_for_first() -> None:
    job = elastic()
    there = [*pods(job)[:2], pod(job, "Worker", 2).on("spot").running().disrupted()]
    assert phases(decide(job, *there)) == ["Requested"]


def test_an_evicted_pod_with_a_long_grace_period_has_left_at_once() -> None:
    """It ends when it wants, and that is no failure."""
    job = elastic(timeout=1)
    there = [*pods(job)[:2], pod(job, "Worker", 2).on("spot").running().disrupted().going(3600)]
    assert phases(decide(job, *there)) == ["Left"]


@pytest.mark.parametrize(("attempt", "age", "alone"), [(3, 0, True), (4, 4, False), (4, 5, True), (20, 299, False)])
def test_pods_that_are_evicted_as_soon_as_they_are_made_wait_like_any_restart(
    attempt: int, age: int, alone: bool
) -> None:
    """A pod of higher priority may take each new one at once; one that lived for a while leaves alone."""
    job = elastic(reclaims=evictions(attempt)).counted("Worker", active=3, attempts={"2": attempt})
    evicted = pod(job, "Worker", 2).attempt(attempt).on("spot").running().disrupted().going(age + 30)
    decided = decide(job, *pods(job, number=2), evicted, now=age)
    assert phases(decided)[attempt:] == (["Left"] if alone else [])
    assert (decided.status.attempt > 0) is not alone


def test_the_pause_of_a_job_that_was_restarted_often_holds_for_its_evictions() -> None:
    """The first replica takes all others with it each time, so the number is that of the job."""
    job = elastic(reclaims=evictions(6)).with_status(attempt=6)
    there = [one.attempt(6) for one in pods(job)]
    decided = decide(job, there[0].disrupted().going(30), *there[1:], now=0)
    assert (reclaims(decided), decided.status.attempt, removed(decided)) == (evictions(6), 6, [])
    assert decided.wake_at == after(20)


def test_neither_resizes_nor_nodes_that_were_left_make_a_pause_longer() -> None:
    """They are new attempts too, and nothing has failed."""
    job = elastic().counted("Worker", active=3, attempts={"2": 20}).with_status(attempt=20)
    there = [one.attempt(20) for one in pods(job, number=2)]
    evicted = pod(job, "Worker", 2).attempt(40).on("spot").running().disrupted().going(30)
    assert phases(decide(job, *there, evicted)) == ["Left"]
    failing = job.with_spec(backoffLimit=3)
    others = (there[1], pod(job, "Worker", 2).attempt(40).running())
    failed = decide(failing, pod(job, "Worker", 0).attempt(20).failed(137), *others, now=60)
    assert (failed.status.attempt > 20, failed.status.retries) == (True, 1)


def test_an_eviction_is_told_as_what_it_is() -> None:
    """Neither is the node taken, nor does anybody ask a pod that goes already."""
    job = elastic().master().counted("Master", active=1)
    first, last = pod(job, "Master").on("safe").running(), pod(job, "Worker", 2).on("spot").running().disrupted()

    def told(*changed: object) -> list[str]:
        return [one.message for one in decide(job, *pods(job, number=2), *changed).events]  # type: ignore[arg-type]

    assert told(first, last) == [
        "replicas 2 of Worker are to be evicted from node spot: a checkpoint is asked for first"
    ]
    assert told(first, last.going(30))[0] == "replicas 2 of Worker are evicted from node spot"
    assert told(first.disrupted(), pod(job, "Worker", 2).on("spot").running()) == [
        "the first replica is to be evicted from node safe: a checkpoint is asked for first, then all replicas restart"
    ]
    assert told(first.disrupted().going(30), pod(job, "Worker", 2).on("spot").running())[0] == (
        "the first replica is evicted from node safe: all replicas restart"
    )
