"""Notices with a date: until it is near, a node is as good as any other."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kubedl.api.conditions import is_true
from kubedl.training.creation import create
from kubedl.training.elastic.notices import RECLAIM_AT, Notice
from kubedl.training.observed import Settings
from kubedl.training.planner import plan
from kubedl.training.policies.failure_policy import DISRUPTED
from tests.training_builders import NOW, JobBuilder, PodBuilder, after, decide, observed, pod
from tests.unit.training.elastic.reclaim_builders import (
    TAKEN,
    at,
    elastic,
    phases,
    pods,
    reclaims,
    record,
    removed,
    written,
)

NEXT_WEEK = {"spot": Notice(RECLAIM_AT, at=after(7 * 86_400))}


def test_a_date_in_the_future_is_acted_upon_in_time() -> None:
    """A minute and a checkpoint ahead."""
    job = elastic(timeout=100)
    dated = {"spot": Notice("training.kubedl.io/reclaim-at", at=after(3600))}
    decided = decide(job, *pods(job, 2), notices=dated)
    assert (reclaims(decided), decided.wake_at) == ((), after(3440))
    assert phases(decide(job, *pods(job, 2), notices=dated, now=3440)) == ["Requested"]


def test_a_long_window_begins_with_its_first_sight() -> None:
    """It would never come nearer otherwise."""
    job = elastic(timeout=10)
    decided = decide(job, *pods(job, 2), notices={"spot": Notice("x", timedelta(hours=1))})
    assert [(one.phase, one.taken_at) for one in reclaims(decided)] == [("Requested", after(3600))]


def test_a_date_in_the_past_leaves_no_time() -> None:
    job = elastic()
    decided = decide(job, *pods(job, 2), notices={"spot": Notice("x", at=after(-60))})
    assert phases(decided) == ["Unsaved"]


def test_a_node_that_is_lost_for_a_moment_long_before_its_date_keeps_its_pods() -> None:
    """The grace period of lost nodes and the guard against outages hold as for any other node."""
    job = elastic(members="0-2")
    decided = decide(job, *pods(job, 1, 2), notices=NEXT_WEEK, lost_nodes={"spot": -1})
    assert (removed(decided), reclaims(decided), is_true(decided.status.conditions, "Reclaiming")) == ([], (), False)


def test_a_pod_that_is_deleted_long_before_the_date_is_judged_as_ever() -> None:
    job = elastic(members="0-2")
    there = [*pods(job, 1)[:2], pod(job, "Worker", 2).on("spot").running().going(30)]
    decided = decide(job, *there, notices=NEXT_WEEK)
    assert (reclaims(decided), decided.status) == ((), decide(job, *there).status)


def test_a_pod_that_is_evicted_long_before_the_date_leaves_alone() -> None:
    job = elastic()
    there = [*pods(job, 1)[:2], pod(job, "Worker", 2).on("spot").running().disrupted().going(30)]
    decided = decide(job, *there, notices=NEXT_WEEK)
    assert [(one.source, one.replicas, one.phase) for one in reclaims(decided)] == [(DISRUPTED, "2", "Left")]


def test_new_pods_avoid_a_node_only_when_its_date_is_near() -> None:
    """A scale-up may use a node that stays for a week."""
    job = elastic(3, size=2, members="0-1")
    assert not affinity(job, *pods(job, 1, number=2), notices=NEXT_WEEK)
    near = affinity(job, *pods(job, 1, number=2), notices={"spot": Notice(RECLAIM_AT, at=after(60))})
    assert "spot" in str(near)


@pytest.mark.parametrize(
    ("before", "now", "source", "taken"),
    [
        (None, Notice(RECLAIM_AT, at=after(60)), RECLAIM_AT, 60),
        (None, Notice("x", timedelta(seconds=30)), "x", 40),
        (120, Notice(RECLAIM_AT, at=after(60)), RECLAIM_AT, 60),
        (120, Notice("x", timedelta(seconds=30)), "x", 40),
        (120, Notice(TAKEN, at=after(60)), TAKEN, 60),
        (120, Notice(RECLAIM_AT, at=after(130)), TAKEN, 120),
        (120, Notice(TAKEN, timedelta(seconds=15)), TAKEN, 120),
        (None, Notice("x"), TAKEN, None),
    ],
    ids=str,
)
def test_of_two_dates_the_earlier_counts(before: int | None, now: Notice, source: str, taken: int | None) -> None:
    """Ten seconds after the first notice there is another one; its window begins then, and only once."""
    job = elastic(reclaims=(record("Requested", taken_at=before and after(before)),), requests=1)
    for seconds in (10, 11):
        decided = decide(job, *pods(job, 2), notices={"spot": now}, now=seconds)
        [found] = reclaims(decided)
        assert (found.source, found.phase, found.taken_at) == (source, "Requested", taken and after(taken))
        job = written(job, decided)
    late = decide(job, *pods(job, 2), notices={"spot": now}, now=90 if taken is None else min(90, taken - 5))
    assert phases(late) == ["Unsaved"]


def test_a_date_says_nothing_to_those_that_have_left() -> None:
    job = at("Left", left_at=NOW)
    going = pod(job, "Worker", 2).on("spot").running().going(30)
    dated = decide(job, *pods(job, number=2), going, notices={"spot": Notice(RECLAIM_AT, at=after(60))}, now=5)
    assert [(one.source, one.taken_at) for one in reclaims(dated)] == [(TAKEN, after(120))]


def affinity(job: JobBuilder, *there: PodBuilder, **known: Any) -> object:  # noqa: ANN401 - those of `observed`
    """What the pod that is created says about nodes."""
    made: list[dict[str, Any]] = []

    class Kept:
        async def create(self, owner: object, resource: object, body: Any) -> None:  # noqa: ANN401 - a function
            made.append(body())

    writer: Any = Kept()
    seen = replace(observed(job, *there, **known), settings=Settings(checkpoint_key=bytes(32)))
    asyncio.run(create(writer, seen, plan(seen)))
    [body] = made
    return body["spec"].get("affinity")


def test_a_notice_with_the_name_of_a_move_is_a_notice() -> None:
    """Its node is taken whether the program saves or not."""
    named = {"spot": Notice("Pool", timedelta(seconds=120))}
    job = at("Requested", source="Pool")
    late = decide(job, *pods(job, 2), notices=named, now=117)
    assert phases(late) == ["Unsaved"]
    left = decide(written(job, late), *pods(job, 2), notices=named, now=117)
    assert (phases(left), removed(left)) == (["Left"], ["bert-worker-2"])
