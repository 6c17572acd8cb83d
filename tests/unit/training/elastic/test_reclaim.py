"""Leaving a node that will be taken: who is asked, who leaves when, what is said, and what is never a failure."""

from typing import Any

import pytest

from kubedl.api.conditions import find, is_true
from kubedl.api.elastic import MOST_RECLAIMS, ElasticStatus, ReclaimCounts
from kubedl.training.elastic.leaving import places
from kubedl.training.elastic.notices import Notice
from tests.training_builders import NOW, after, decide, pod, torch_job
from tests.unit.training.elastic.reclaim_builders import (
    SPOT,
    TAKEN,
    at,
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


def test_a_notice_is_recorded_with_its_request_and_nothing_is_sent_before_it_is_written() -> None:
    job = elastic()
    decided = decide(job, *pods(job, 2), notices=SPOT)
    (found,) = reclaims(decided)
    assert found == record("Requested")
    assert decided.status.elastic is not None
    assert (decided.status.elastic.requests, decided.ask, removed(decided)) == (1, None, [])
    assert [(one.type, one.reason, one.message) for one in decided.events] == [
        (
            "Normal",
            "NodeReclaimNoticed",
            (
                f"node spot will be taken at 2026-01-01T12:02:00Z ({TAKEN}): after a checkpoint replicas 2 of Worker "
                "leave it"
            ),
        )
    ]
    assert is_true(decided.status.conditions, "Reclaiming")
    asking = decide(written(job, decided), *pods(job, 2), notices=SPOT)
    assert asking.ask is not None
    assert (asking.ask.id, asking.ask.port, asking.ask.pod.metadata.name) == ("uid-bert-1", 29500, "bert-worker-0")
    assert (asking.status, asking.events, asking.wake_at) == (written(job, decided).status, (), after(1))


def test_the_whole_way_of_a_saved_replica() -> None:
    """Confirmed is in the status first, then the new attempt, then the pod goes; then it comes back elsewhere."""
    job = elastic()
    job = written(job, decide(job, *pods(job, 2), notices=SPOT))
    saved = decide(job, *pods(job, 2), notices=SPOT, confirmed="uid-bert-1", now=7)
    assert (phases(saved), removed(saved), reclaims(saved)[0].confirmed_at) == (["Confirmed"], [], after(7))
    job = written(job, saved)
    leaving = decide(job, *pods(job, 2), notices=SPOT, now=7)
    assert (phases(leaving), removed(leaving), made(leaving)) == (["Left"], ["bert-worker-2"], [])
    assert leaving.status.replica_statuses["Worker"].attempts == {"2": 1}
    assert leaving.status.elastic is not None
    assert (leaving.status.elastic.members, leaving.status.elastic.shrunk_in_attempt) == ("0-1", 0)
    job = written(job, leaving)
    going = pod(job, "Worker", 2).on("spot").running().going(30)
    waiting = decide(job, *pods(job, number=2), going, notices=SPOT, now=9)
    assert (waiting.status, made(waiting), removed(waiting)) == (job.status, [], [])
    gone = decide(job, *pods(job, number=2), deleted=[going], notices=SPOT, now=12)
    assert (phases(gone), made(gone)) == (["Settled"], [(2, 1)])
    assert (gone.status.attempt, gone.status.retries, counts(gone)) == (0, 0, ReclaimCounts(noticed=1, confirmed=1))
    assert not is_true(gone.status.conditions, "Reclaiming")
    job = written(job, gone)
    back = pod(job, "Worker", 2).attempt(1).on("safe").running()
    after_all = decide(job, *pods(job, number=2), back, notices={}, now=300)
    assert reclaims(after_all)[0].ended_at == after(300)
    assert [one.reason for one in (*saved.events, *leaving.events, *gone.events)] == []


def test_an_operator_that_died_before_the_deletion_goes_on_with_it() -> None:
    job = at("Confirmed", confirmed_at=NOW)
    job = written(job, decide(job, *pods(job, 2), notices=SPOT))
    again = decide(job, *pods(job, 2), notices=SPOT)
    assert (removed(again), again.status, again.events) == (["bert-worker-2"], job.status, ())


@pytest.mark.parametrize(
    ("taken", "timeout", "late"), [(after(120), 90, 90), (after(60), 90, 55), (None, 30, 30)], ids=str
)
def test_who_cannot_save_in_time_leaves_anyway(taken: Any, timeout: int, late: int) -> None:  # noqa: ANN401
    """After the timeout, or five seconds before the node goes."""
    job = elastic(timeout=timeout, reclaims=(record("Requested", taken_at=taken),), requests=1)
    before = decide(job, *pods(job, 2), notices=SPOT, now=late - 1)
    assert (phases(before), before.wake_at) == (["Requested"], after(late))
    decided = decide(job, *pods(job, 2), notices=SPOT, now=late)
    assert (phases(decided), decided.ask, counts(decided).unsaved) == (["Unsaved"], None, 1)
    assert [(one.type, one.reason) for one in decided.events] == [("Warning", "ReclaimUnsaved")]
    left = decide(written(job, decided), *pods(job, 2), notices=SPOT, now=late)
    assert (phases(left), removed(left), counts(left).unsaved, left.events) == (["Left"], ["bert-worker-2"], 1, ())
    assert (left.status.retries, left.status.attempt) == (0, 0)


@pytest.mark.parametrize("phase", ["Noticed", "Requested", "Confirmed", "Unsaved"])
def test_a_notice_that_is_taken_back_before_anybody_left_is_cancelled(phase: str) -> None:
    job = at(phase)
    decided = decide(job, *pods(job, 2), notices={}, now=3)
    assert (phases(decided), removed(decided), counts(decided).cancelled) == (["Cancelled"], [], 1)
    assert reclaims(decided)[0].ended_at == after(3)
    again = decide(written(job, decided), *pods(job, 2), notices=SPOT, now=9)
    assert phases(again) == ["Cancelled", "Requested"]
    assert reclaims(again)[1].request == 2


@pytest.mark.parametrize(
    "said", ["", "uid-bert-0", "uid-bert-2", "other-1", "uid-bert-", "uid-bert-1x", "uid-bert-01", "-1", "9" * 99]
)
def test_an_answer_that_is_none_confirms_nothing(said: str) -> None:
    """Of another job, of a request that was never made, or no answer at all."""
    job = at("Requested")
    assert phases(decide(job, *pods(job, 2), notices=SPOT, confirmed=said, now=1)) == ["Requested"]


def test_a_later_confirmation_confirms_what_was_asked_before() -> None:
    job = elastic(reclaims=(record("Requested"),), requests=3)
    assert phases(decide(job, *pods(job, 2), notices=SPOT, confirmed="uid-bert-3", now=1)) == ["Confirmed"]


def test_nodes_that_are_taken_together_are_one_checkpoint() -> None:
    job = elastic(reclaims=(record("Requested"),), requests=1)
    there = [*pods(job, 2, number=1), pod(job, "Worker", 1).on("late").running(), *pods(job, 2)[2:]]
    decided = decide(job, *there, notices={**SPOT, "late": Notice("x")}, now=2)
    assert [(one.node, one.request) for one in reclaims(decided)] == [("spot", 1), ("late", 1)]
    both = decide(written(job, decided), *there, notices={**SPOT, "late": Notice("x")}, confirmed="uid-bert-1", now=4)
    left = decide(written(job, both), *there, notices={**SPOT, "late": Notice("x")}, now=4)
    assert (phases(left), removed(left)) == (["Left", "Left"], ["bert-worker-1", "bert-worker-2"])


def test_with_the_first_replica_all_start_over_and_nothing_is_counted() -> None:
    """It keeps the rendezvous."""
    job = elastic(reclaims=(record("Confirmed", replicas="0,2", leader=True),), requests=1, members="0-2")
    decided = decide(job, *pods(job, 0, 2), notices=SPOT)
    assert (decided.status.attempt, decided.status.retries, phases(decided)) == (1, 0, ["Left"])
    assert removed(decided) == ["bert-worker-0", "bert-worker-1", "bert-worker-2"]
    assert [one.reason for one in decided.events] == ["LeaderReclaimed"]
    condition = find(decided.status.conditions, "Restarting")
    assert condition is not None
    assert condition.status == "True"
    gone = decide(written(job, decided), notices=SPOT, now=60)
    assert (made(gone), phases(gone), gone.status.retries) == ([(0, 1), (1, 1), (2, 1)], ["Settled"], 0)


def test_a_master_is_the_first_replica() -> None:
    job = elastic().master().counted("Master", active=1)
    master = pod(job, "Master").on("spot").running()
    decided = decide(job, master, *pods(job), notices=SPOT)
    assert [(one.leader, one.replicas) for one in reclaims(decided)] == [(True, "")]
    assert "after a checkpoint all replicas restart, since the first one runs there" in decided.events[0].message
    asked = decide(written(job, decided), master, *pods(job), notices=SPOT)
    assert asked.ask is not None
    assert asked.ask.pod.metadata.name == "bert-master-0"


def test_while_nobody_can_be_asked_the_notice_waits() -> None:
    """The first replica starts; when it runs it is asked, and at the latest its node is left."""
    job = elastic()
    starting = [pod(job, "Worker").on("safe"), *pods(job, 2)[1:]]
    decided = decide(job, *starting, notices=SPOT)
    assert (phases(decided), decided.ask) == (["Noticed"], None)
    job = written(job, decided)
    assert phases(decide(job, *pods(job, 2), notices=SPOT, now=10)) == ["Requested"]
    late = decide(job, *starting, notices=SPOT, now=90)
    assert (phases(late), counts(late)) == (["Unsaved"], ReclaimCounts(noticed=1, unsaved=1))


@pytest.mark.parametrize("phase", ["Noticed", "Requested", "Confirmed"])
def test_who_is_told_to_go_by_others_has_left_at_once(phase: str) -> None:
    """So its end is no failure, and the others go on."""
    job = at(phase)
    there = [*pods(job, number=2), pod(job, "Worker", 2).on("spot").running().going(30)]
    decided = decide(job, *there, notices=SPOT)
    assert phases(decided) == ["Left"]
    assert decided.status.replica_statuses["Worker"].attempts == {"2": 1}
    assert counts(decided).unsaved == int(phase != "Confirmed")
    gone = decide(written(job, decided), *pods(job, number=2), deleted=[there[2].failed(143)], notices=SPOT, now=2)
    assert (gone.status.attempt, gone.status.retries, made(gone)) == (0, 0, [(2, 1)])


def test_an_answer_that_comes_with_the_end_counts() -> None:
    job = at("Requested")
    there = [*pods(job, number=2), pod(job, "Worker", 2).on("spot").running().going(30)]
    decided = decide(job, *there, notices=SPOT, confirmed="uid-bert-1", now=5)
    assert (phases(decided), counts(decided)) == (["Left"], ReclaimCounts(confirmed=1))
    assert decided.events == ()


def test_a_node_that_is_lost_after_its_notice_was_announced() -> None:
    """The others go on, which they do not after a loss that nobody announced."""
    job = at("Requested")
    decided = decide(job, *pods(job, 2), notices=SPOT, lost_nodes={"spot": -1}, now=5)
    assert (phases(decided), decided.status.attempt) == (["Left"], 0)


def test_a_pod_that_is_deleted_or_lost_without_notice_is_as_ever() -> None:
    """All restart."""
    job = elastic(members="0-2")
    deleted = decide(job, *pods(job, number=2), deleted=[pod(job, "Worker", 2).running().going(30)], now=60)
    assert (deleted.status.attempt, reclaims(deleted)) == (1, ())
    lost = pod(job, "Worker", 2).on("spot").running().disrupted("DeletionByTaintManager")
    decided = decide(job, *pods(job, number=2), lost, lost_nodes={"spot": -10}, now=0)
    assert reclaims(decided) == ()


def test_a_node_is_left_once_as_long_as_its_notice_stands() -> None:
    """A pod that names its node comes back to it: it must not be sent away for ever."""
    job = at("Settled", left_at=NOW)
    job = job.counted("Worker", active=3, attempts={"2": 1})
    back = pod(job, "Worker", 2).attempt(1).on("spot").running()
    decided = decide(job, *pods(job, number=2), back, notices=SPOT, now=60)
    assert (removed(decided), reclaims(decided)) == ([], job.status.elastic.reclaims if job.status.elastic else ())


def test_survivors_below_the_smallest_size_wait_for_the_new_pod() -> None:
    """In their rendezvous: nobody else is sent away."""
    job = at("Confirmed", confirmed_at=NOW).with_spec(elastic={"minReplicas": 3, "maxReplicas": 4, "checkpoint": {}})
    decided = decide(job, *pods(job, 2), notices=SPOT)
    assert (removed(decided), decided.status.attempt) == (["bert-worker-2"], 0)


def test_a_rendezvous_that_was_closed_by_who_left_restarts_all_without_a_retry() -> None:
    """torchrun before PyTorch 2.8."""
    job = at("Left", left_at=NOW).counted("Worker", active=2, attempts={"2": 1})
    job = job.with_status(elastic=ElasticStatus(size=3, reclaims=(record("Left"),), shrunk_in_attempt=0))
    closed = pod(job, "Worker", 1).on("safe").failed(1, message="RendezvousClosedError")
    decided = decide(job, *pods(job, number=1), closed, notices=SPOT, now=9)
    assert (decided.status.attempt, decided.status.retries) == (2, 0)


def test_a_job_that_ends_leaves_nothing() -> None:
    """Somebody has succeeded: who came back would find nobody."""
    job = elastic()
    there = [*pods(job, 2)[:1], pod(job, "Worker", 1).succeeded(), *pods(job, 2)[2:]]
    assert reclaims(decide(job, *there, notices=SPOT)) == ()


def test_a_suspended_job_waits_for_nothing() -> None:
    job = at("Requested").said("Reclaiming").suspended()
    decided = decide(job, *pods(job, 2), notices=SPOT)
    assert (phases(decided), is_true(decided.status.conditions, "Reclaiming")) == (["Settled"], False)
    resumed = decide(job.with_status(start_time=None), notices=SPOT)
    assert resumed.ask is None


@pytest.mark.parametrize("phase", ["Left", "Settled"])
def test_a_pod_that_comes_to_a_node_after_the_others_have_left_it_leaves_too(phase: str) -> None:
    """It was made before the notice, so it did not know; who left and is back because of its template stays."""
    job = at(phase, left_at=NOW).counted("Worker", active=3, attempts={"2": 1})
    back = pod(job, "Worker", 2).attempt(1).on("spot").running()
    there = [*pods(job, 1, number=2), back]
    asked = decide(job, *there, notices=SPOT, now=40)
    assert [(one.phase, one.replicas) for one in reclaims(asked)] == [("Settled", "2"), ("Requested", "1")]
    job = written(job, asked)
    job = written(job, decide(job, *there, notices=SPOT, confirmed="uid-bert-2", now=45))
    assert removed(decide(job, *there, notices=SPOT, now=45)) == ["bert-worker-1"]


def test_a_first_replica_that_is_bound_to_its_node_leaves_it_once() -> None:
    job = elastic(reclaims=(record("Settled", replicas="", leader=True, left_at=NOW),), requests=1).master()
    job = job.counted("Master", active=1)
    master = pod(job, "Master").on("spot").running()
    assert phases(decide(job, master, *pods(job), notices=SPOT, now=60)) == ["Settled"]
    assert phases(decide(job, master, *pods(job, 0), notices=SPOT, now=60)) == ["Settled", "Requested"]


def test_who_was_replaced_for_another_reason_has_nothing_to_leave() -> None:
    job = at("Requested")
    assert phases(decide(job, *pods(job), notices=SPOT)) == ["Settled"]


def test_records_are_bounded_and_those_under_way_stay() -> None:
    old = tuple(record("Settled", node=f"n{number}", ended_at=NOW) for number in range(MOST_RECLAIMS))
    job = elastic(reclaims=old)
    decided = decide(job, *pods(job, 2), notices=SPOT)
    assert [one.node for one in reclaims(decided)] == [f"n{number}" for number in range(1, 20)] + ["spot"]
    busy = elastic(reclaims=tuple(record("Left", node=f"n{number}") for number in range(MOST_RECLAIMS)))
    full = {f"n{number}": Notice("x") for number in range(MOST_RECLAIMS)}
    remote = [pod(busy, "Worker", 3).on(f"n{number}").uid(f"u{number}").running() for number in range(20)]
    decided = decide(busy, *pods(busy, 2), *remote, notices={**SPOT, **full})
    assert "spot" not in {one.node for one in reclaims(decided)}


@pytest.mark.parametrize("spec", [{"minReplicas": 1, "maxReplicas": 4}, None])
def test_a_job_that_does_not_ask_for_it_knows_nothing_of_it(spec: Any) -> None:  # noqa: ANN401
    """As before, whatever happens to its nodes."""
    job = elastic().with_spec(elastic=spec) if spec else torch_job("bert").workers(3).with_status(start_time=NOW)
    decided = decide(job, *pods(job, 2), notices=SPOT)
    assert (removed(decided), decided.ask, is_true(decided.status.conditions, "Reclaiming")) == ([], None, False)
    assert decided.status.elastic is None or decided.status.elastic.reclaims == ()
    assert places(job.kind.job(job.build()), [one.build() for one in pods(job, 2)]) == set()


def test_an_undisturbed_job_writes_and_asks_nothing() -> None:
    first = elastic()
    job = written(first, decide(first, *pods(first)))
    decided = decide(job, *pods(job), now=30)
    assert (decided.status, decided.ask, decided.wake_at) == (job.status, None, None)


def test_nodes_that_were_left_are_still_looked_at() -> None:
    """So that no pod is sent back, and the end of the notice is seen."""
    job = elastic(reclaims=(record("Settled"), record("Settled", node="old", ended_at=NOW)))
    assert places(job.kind.job(job.build()), [one.build() for one in pods(job)]) == {"spot", "safe"}
