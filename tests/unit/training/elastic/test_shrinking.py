"""A user removes workers of a job that asks for checkpoints: they stay until the program has saved."""

from typing import Any

import pytest

from kubedl.training.elastic.leaving import RESIZE, hold_until_saved
from kubedl.training.plan import Plan
from kubedl.training.planner import plan
from tests.training_builders import NOW, JobBuilder, PodBuilder, after, decide, observed, pod
from tests.unit.training.elastic.reclaim_builders import (
    SPOT,
    counts,
    elastic,
    made,
    phases,
    pods,
    reclaims,
    record,
    removed,
    written,
)


def shrinking(job: JobBuilder, *there: PodBuilder, **known: Any) -> Plan:  # noqa: ANN401
    """The plan as the controller asks for it."""
    seen = observed(job, *there, **known)
    hold_until_saved(seen.kind, seen.job, seen.pods)
    return plan(seen)


def test_a_user_who_removes_workers_waits_for_the_checkpoint() -> None:
    """The pods stay until then, and go as they always did."""
    job = elastic(1, size=3, members="0-2")
    asked = shrinking(job, *pods(job))
    assert (removed(asked), phases(asked)) == ([], ["Requested"])
    assert [one.message for one in asked.events] == [
        "a checkpoint is asked for before replicas 1-2 of Worker are removed"
    ]
    assert asked.status.elastic is not None
    assert (asked.status.elastic.size, reclaims(asked)[0].source) == (3, RESIZE)
    job = written(job, asked)
    saved = shrinking(job, *pods(job), confirmed="uid-bert-1", now=5)
    assert (removed(saved), phases(saved)) == ([], ["Confirmed"])
    job = written(job, saved)
    gone = shrinking(job, *pods(job), now=5)
    assert (removed(gone), phases(gone)) == (["bert-worker-1", "bert-worker-2"], ["Left"])
    assert gone.status.elastic is not None
    assert (gone.status.elastic.size, [one.reason for one in gone.events]) == (1, ["ReplicasRemoved"])
    job = written(job, gone)
    last = shrinking(job, *pods(job, number=1), now=9)
    assert (phases(last), reclaims(last)[0].ended_at, counts(last).confirmed) == (["Settled"], after(9), 1)


def test_a_second_removal_right_after_the_first_is_another_one() -> None:
    """It is asked for before the operator has seen the first one end."""
    job = elastic(2, size=3, members="0-2")
    job = written(job, shrinking(job, *pods(job)))
    job = written(job, shrinking(job, *pods(job), confirmed="uid-bert-1", now=5))
    job = written(job, shrinking(job, *pods(job), now=5)).workers(1)
    assert job.status.elastic is not None
    assert job.status.elastic.size == 2
    asked = shrinking(job, *pods(job, number=2), now=9)
    assert (phases(asked), removed(asked)) == (["Settled", "Requested"], [])
    assert [one.ended_at for one in reclaims(asked)] == [after(9), None]
    job = written(job, asked)
    job = written(job, shrinking(job, *pods(job, number=2), confirmed="uid-bert-2", now=12))
    gone = shrinking(job, *pods(job, number=2), now=12)
    assert (phases(gone), removed(gone)) == (["Settled", "Left"], ["bert-worker-1"])


@pytest.mark.parametrize(("first", "then", "replicas"), [(2, 1, "1-2"), (1, 2, "2")])
def test_a_user_who_removes_more_or_fewer_meanwhile_is_told_of_those(first: int, then: int, replicas: str) -> None:
    """It is one removal, with one checkpoint."""
    job = elastic(first, size=3, timeout=20)
    job = written(job, shrinking(job, *pods(job))).workers(then)
    job = written(job, shrinking(job, *pods(job), now=5))
    late = shrinking(job, *pods(job), now=20)
    assert (phases(late), reclaims(late)[0].replicas) == (["Unsaved"], replicas)
    assert [one.message for one in late.events] == [
        f"no checkpoint was confirmed before replicas {replicas} of Worker had to leave the job"
    ]
    gone = shrinking(written(job, late), *pods(job), now=21)
    assert (phases(gone), reclaims(gone)[0].replicas) == (["Left"], replicas)


def test_a_user_who_changes_the_mind_cancels_it() -> None:
    small = elastic(1, size=3)
    job = written(small, shrinking(small, *pods(small))).workers(3)
    decided = shrinking(job, *pods(job), now=2)
    assert (phases(decided), removed(decided)) == (["Cancelled"], [])


def test_a_program_that_does_not_answer_does_not_keep_its_size() -> None:
    small = elastic(1, size=3, timeout=20)
    job = written(small, shrinking(small, *pods(small)))
    job = written(job, shrinking(job, *pods(job), now=20))
    decided = shrinking(job, *pods(job), now=20)
    assert (removed(decided), phases(decided)) == (["bert-worker-1", "bert-worker-2"], ["Left"])


def test_a_suspended_job_keeps_nothing() -> None:
    job = elastic(1, size=3).suspended()
    seen = observed(job, *pods(job))
    hold_until_saved(seen.kind, seen.job, seen.pods)
    assert seen.job.count("Worker") == 1


@pytest.mark.parametrize("case", ["nobody trains", "somebody has succeeded", "not asked for", "not running yet"])
def test_a_job_without_anybody_to_ask_shrinks_at_once(case: str) -> None:
    job = elastic(1, size=3)
    there = pods(job)
    if case == "nobody trains":
        there[0] = pod(job, "Worker").on("safe")
    elif case == "somebody has succeeded":
        there[1] = pod(job, "Worker", 1).succeeded()
    elif case == "not running yet":
        there[1:] = [pod(job, "Worker", 1), pod(job, "Worker", 2)]
    else:
        job = job.with_spec(elastic={"minReplicas": 1, "maxReplicas": 4})
    decided = shrinking(job, *there)
    assert decided.status.elastic is not None
    assert (decided.status.elastic.size, reclaims(decided)) == (1, ())
    assert "bert-worker-2" in removed(decided)


def test_one_that_runs_among_those_removed_is_waited_for() -> None:
    job = elastic(1, size=3)
    decided = shrinking(job, *pods(job, number=2), pod(job, "Worker", 2))
    assert (removed(decided), phases(decided)) == ([], ["Requested"])


def test_a_leader_that_stops_while_it_is_asked_lets_the_others_go() -> None:
    small = elastic(1, size=3)
    job = written(small, shrinking(small, *pods(small)))
    decided = shrinking(job, pod(job, "Worker").on("safe"), *pods(job)[1:], now=2)
    assert (phases(decided), removed(decided)) == (["Left"], ["bert-worker-1", "bert-worker-2"])


def test_a_hole_that_a_node_left_is_no_deletion_when_the_job_shrinks() -> None:
    """Worker 1 is not back yet, and as many pods are counted as the smaller job has."""
    left = record("Left", replicas="1", left_at=NOW)
    job = elastic(2, size=3, members="0,2", reclaims=(left,), requests=1)
    job = job.counted("Worker", active=2, ready=2, attempts={"1": 1})
    first, _, last = pods(job)
    decided = decide(job, first, last, notices=SPOT, now=9)
    assert (decided.status.attempt, removed(decided), decided.confirm) == (0, ["bert-worker-2"], ())
    assert [one.reason for one in decided.events] == ["ReplicasRemoved"]
    job = written(job, decided)
    assert made(decide(job, first, notices=SPOT, now=40)) == [(1, 1)]


def test_a_member_that_is_missing_was_deleted() -> None:
    """Also if others are missing for a good reason."""
    job = elastic(3, members="0,2")
    assert decide(job, pods(job)[0]).status.attempt == 1
