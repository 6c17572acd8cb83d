"""Who leaves a node is recorded when they leave it: pods may come to it after the notice was seen."""

from tests.training_builders import decide, pod
from tests.unit.training.elastic.reclaim_builders import SPOT, at, elastic, pods, reclaims, written


def test_the_record_names_who_was_there_when_it_left() -> None:
    """Worker 1 was bound to the node after the notice; it leaves too, and the record says so."""
    job = at("Confirmed")
    decided = decide(job, *pods(job, 1, 2), notices=SPOT)
    assert [(one.phase, one.replicas, one.leader) for one in reclaims(decided)] == [("Left", "1-2", False)]


def test_the_first_replica_that_came_later_is_named_too() -> None:
    """All replicas start over then, so the record must not say that only Worker 2 left."""
    job = at("Confirmed")
    decided = decide(job, *pods(job, 0, 2), notices=SPOT)
    assert [(one.phase, one.replicas, one.leader) for one in reclaims(decided)] == [("Left", "0,2", True)]
    assert decided.status.attempt == 1


def test_a_record_keeps_its_names_once_it_has_left() -> None:
    """Also when nobody of them is there any more."""
    job = at("Confirmed")
    left = written(job, decide(job, *pods(job, 1, 2), notices=SPOT))
    decided = decide(left, *pods(left, number=1), pod(elastic(), "Worker", 1).attempt(1), notices=SPOT)
    assert [one.replicas for one in reclaims(decided)] == ["1-2"]
