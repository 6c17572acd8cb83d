"""Repair of one replica at a time: what moves on, what it costs, what people are told."""

import time
from dataclasses import replace

import msgspec
import pytest

from kubedl.api.conditions import find
from kubedl.api.training import ReplicaStatus
from kubedl.kube.types.core import ContainerStatus, PodStatus
from kubedl.training import replica_status
from kubedl.training.job import Replica
from kubedl.training.observed import ObservedReplica
from kubedl.training.plan import Plan
from kubedl.training.planner import plan
from tests.training_builders import JobBuilder, PodBuilder, after, decide, observed, pod, tf_job

JOB = tf_job().ps(1).workers(2)
PS, OTHER = pod(JOB, "PS").running(), pod(JOB, "Worker", 1).running()
WORKER = pod(JOB, "Worker", 0).on("node1")


def worker(decided: Plan) -> ReplicaStatus:
    """The workers' part of the status."""
    return decided.status.replica_statuses["Worker"]


def names(decided: Plan) -> list[str]:
    """The pods to be deleted."""
    return [one.pod.metadata.name for one in decided.deletions]


def written(job: JobBuilder, decided: Plan) -> JobBuilder:
    """The job after the plan's status was written."""
    return job.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})


def test_a_retry_is_counted_written_and_only_then_made() -> None:
    """Three plans: move on and delete; wait; create. Whenever the operator dies, it is counted once."""
    first = decide(JOB, PS, WORKER.failed(137), OTHER)
    assert (first.status.retries, worker(first).restarts, worker(first).evicted) == (1, 1, 0)
    assert worker(first).attempts == {"0": 1}
    assert (names(first), first.creations) == (["mnist-worker-0"], ())
    assert first.status.state == "Restarting"
    assert [event.reason for event in first.events] == ["ReplicaReplaced"]
    assert "mnist-worker-0 failed with exit code 137" in first.events[0].message

    job = written(JOB, first)
    second = decide(job, PS, WORKER.failed(137), OTHER, now=1)
    assert (second.status.retries, names(second), second.events) == (1, ["mnist-worker-0"], ())

    third = decide(job, PS, OTHER, deleted=[WORKER.failed(137)], now=2)
    assert third.status.retries == 1
    assert [(one.replica.index, one.attempt) for one in third.creations] == [(0, 1)]
    assert third.forget == ("mnist-worker-0.0",)


def test_nothing_is_made_in_the_plan_that_moves_on() -> None:
    """Even if nothing is in the way: an operator that dies between the two would not know the attempt."""
    moving = decide(JOB, PS, OTHER, deleted=[WORKER.failed(137)])
    assert (moving.status.retries, moving.creations) == (1, ())
    assert [one.attempt for one in decide(written(JOB, moving), PS, OTHER).creations] == [1]


@pytest.mark.parametrize(
    ("made", "gone"),
    [
        (WORKER.running().going(30), False),
        (WORKER.failed(143).going(30), False),
        (WORKER.succeeded().going(30), False),
        (WORKER.failed(1).disrupted(), False),
        (WORKER.running(), True),
        (WORKER, True),
        (WORKER.running().going(30), True),
        (WORKER.failed(1).going(30), True),
    ],
)
def test_a_disruption_moves_on_and_is_not_counted(made: PodBuilder, gone: bool) -> None:
    """Seen in time, or only after the pod was gone."""
    decided = decide(JOB, PS, OTHER, *([] if gone else [made]), deleted=[made] if gone else [])
    assert (decided.status.retries, worker(decided).restarts, worker(decided).evicted) == (0, 0, 1)
    assert worker(decided).attempts == {"0": 1}
    assert "not counted" in decided.events[0].message


@pytest.mark.parametrize("gone", [False, True])
def test_a_permanent_failure_fails_the_job(gone: bool) -> None:
    """Also when its pod was collected before anybody looked."""
    made = WORKER.failed(1)
    decided = decide(JOB, PS, OTHER, *([] if gone else [made]), deleted=[made] if gone else [])
    assert (decided.status.state, decided.status.reason) == ("Failed", "ReplicaFailed")
    assert decided.events[-1].message == "mnist-worker-0 failed with exit code 1"


@pytest.mark.parametrize("made", [WORKER.succeeded(), WORKER.succeeded().on("lost")])
def test_a_success_is_kept_when_its_pod_was_collected_before_anybody_looked(made: PodBuilder) -> None:
    """The cache's last word counts, and is remembered until it is in writing."""
    job = JOB.with_spec(successPolicy="AllWorkers")
    seen = decide(job, PS, OTHER, deleted=[made], lost_nodes={"lost": -99})
    assert (worker(seen).succeeded_indexes, seen.creations, seen.forget) == ("0", (), ())
    assert decide(written(job, seen), PS, OTHER, deleted=[made]).forget == ("mnist-worker-0.0",)
    assert decide(written(job, seen), PS, OTHER).creations == ()


@pytest.mark.parametrize(("limit", "fails"), [(None, False), (3, False), (2, True), (0, True)])
def test_the_limit_is_of_all_retries_of_the_job(limit: int | None, fails: bool) -> None:
    """Two were used before, this is the third."""
    job = JOB.with_spec(backoffLimit=limit).with_status(retries=2)
    decided = decide(job, PS, WORKER.failed(137), OTHER, now=999)
    assert (decided.status.reason == "BackoffLimitExceeded") == fails
    assert decided.status.retries == 3


@pytest.mark.parametrize(("restarts", "fails"), [(2, False), (3, True)])
def test_restarts_in_place_count_against_the_limit(restarts: int, fails: bool) -> None:
    """While the pod runs they are read from it."""
    job = tf_job().ps(1).workers(2, restartPolicy="OnFailure").with_spec(backoffLimit=2)
    decided = decide(job, PS, WORKER.running().restarted(restarts), OTHER)
    assert (decided.status.reason == "BackoffLimitExceeded") == fails
    assert decided.status.retries == 0


def test_restarts_of_sidecars_and_helpers_are_no_retries() -> None:
    """A proxy or a shipper of logs that restarts is no failed replica; an ordinary init container is part of one."""
    job = JOB.with_spec(backoffLimit=3)
    beside = WORKER.running().with_sidecar("istio-proxy", restarted=99)
    decided = decide(job, PS, beside, OTHER)
    assert (decided.status.state, decided.status.retries) == ("Running", 0)
    helper = ContainerStatus(name="logs", restart_count=99)
    made = replace(WORKER.running().restarted(2), status=PodStatus(phase="Running")).build()
    status = msgspec.structs.replace(made.status, container_statuses=(*made.status.container_statuses, helper))
    seen = ObservedReplica(Replica("Worker", 0), 0, None, msgspec.structs.replace(made, status=status), None, False)
    assert replica_status.restarts(job.kind.job(job.build()), seen) == 2
    fetching = replace(beside, sidecars=())
    assert decide(job, PS, fetching, OTHER).status.reason == "BackoffLimitExceeded"


def test_the_limit_is_explained_by_a_container_whose_restarts_count() -> None:
    """Not by a sidecar that was restarted more often."""
    job = tf_job().ps(1).workers(2, restartPolicy="OnFailure").with_spec(backoffLimit=2)
    crashed = WORKER.running().crashed(1).restarted(3).with_sidecar("istio-proxy", restarted=99)
    failed = find(decide(job, PS, crashed, OTHER).status.conditions, "Failed")
    assert failed is not None
    assert failed.message.endswith(
        "restarted 3 times by its kubelet, the last time after exit code 1 of container tensorflow"
    )


@pytest.mark.parametrize("code", [137, 1])
def test_thousands_that_fail_together_cost_no_more_each_than_one(code: int) -> None:
    """The loop stands still meanwhile. Four times as many may take eight times as long, not sixteen times."""
    took = {}
    for number in (1000, 4000):
        job = tf_job().ps(1).workers(number, failurePolicy="FailReplica").scope("Replica")
        role = pod(job, "Worker").failed(code).build()
        made = [
            msgspec.structs.replace(
                role, metadata=msgspec.structs.replace(role.metadata, name=f"mnist-worker-{index}", uid=str(index))
            )
            for index in range(number)
        ]
        known = replace(observed(job, pod(job, "PS").running()), pods=tuple(made))
        spent = []
        for _ in range(3):
            began = time.process_time()
            moved = plan(known).status.replica_statuses["Worker"].attempts
            spent.append(time.process_time() - began)
        assert len(moved) == (number if code == 137 else 0)
        took[number] = min(spent)
    assert took[4000] < 8 * took[1000]


@pytest.mark.parametrize(
    ("made", "lost", "expected"),
    [
        (WORKER.running().going().restarted(2), {}, 2),
        (WORKER.failed(137).restarted(2), {}, 3),
        (WORKER.running().restarted(2), {"node1": -99}, 2),
    ],
)
def test_restarts_in_place_are_written_down_when_the_pod_goes(
    made: PodBuilder, lost: dict[str, float], expected: int
) -> None:
    """Once: the pod that is about to go does not count beside them."""
    job = JOB.with_spec(backoffLimit=3)
    decided = decide(job, PS, made, OTHER, lost_nodes=lost)
    assert (decided.status.retries, decided.status.state) == (expected, "Restarting")


def test_a_failing_replica_is_tried_again_more_and_more_slowly() -> None:
    """The plan asks to be woken when the pause is over."""
    job = JOB.counted("Worker", attempts={"0": 2}, restarts=2)
    waiting = decide(job, PS, WORKER.attempt(2).failed(137, at=0), OTHER, now=4)
    assert (waiting.status.retries, waiting.deletions, waiting.wake_at) == (0, (), after(10))
    assert decide(job, PS, WORKER.attempt(2).failed(137, at=0), OTHER, now=10).status.retries == 1


@pytest.mark.parametrize(
    ("now", "moves"),
    [(4, False), (5, True)],
)
def test_a_pause_holds_for_a_pod_that_is_gone_too(now: float, moves: bool) -> None:
    """It is not made at once because nothing is there, and it does come back."""
    job = JOB.counted("Worker", attempts={"0": 4}, evicted=4)
    for last in (WORKER.attempt(4), WORKER.attempt(4).failed(143).going(), WORKER.attempt(4).refused("OutOfcpu")):
        decided = decide(job, PS, OTHER, deleted=[last], now=now)
        assert decided.creations == ()
        assert worker(decided).attempts == {"0": 5 if moves else 4}
        assert decided.wake_at == (None if moves else after(5))


def test_a_deletion_that_nobody_saw_is_repaired_at_once_and_asked_about() -> None:
    """No pause can be counted from a moment that nobody knows; and a cache may be behind."""
    job = JOB.counted("Worker", attempts={"0": 9}, active=2)
    decided = decide(job, PS, OTHER)
    assert worker(decided).attempts == {"0": 10}
    assert decided.confirm == ("mnist-worker-0",)
    assert decided.status.retries == 0


def test_a_death_that_only_a_list_tells_of_is_confirmed() -> None:
    """A pod that is missing from a list may be missing by mistake; an event that tells of its end carries a date."""
    assert decide(JOB, PS, OTHER, deleted=[WORKER.running()]).confirm == ("mnist-worker-0",)
    assert decide(JOB, PS, OTHER, deleted=[WORKER.running().collected()]).confirm == ()


@pytest.mark.parametrize(("now", "force"), [(59, None), (60, True)])
def test_a_lost_node_gets_its_time_to_come_back(now: float, force: bool | None) -> None:
    """Then its pod is deleted by force, counted as nothing, and replaced elsewhere."""
    decided = decide(JOB, PS, WORKER.running(), OTHER, lost_nodes={"node1": 0}, now=now)
    assert [one.force for one in decided.deletions] == ([] if force is None else [force])
    assert decided.wake_at == (after(60) if force is None else None)
    assert (decided.status.retries, worker(decided).evicted) == (0, 0 if force is None else 1)


def test_what_has_ended_on_a_lost_node_is_judged_by_its_end() -> None:
    """The kubelet told before it went silent."""
    decided = decide(JOB, PS, WORKER.failed(137), OTHER, lost_nodes={"node1": 0}, now=1)
    assert decided.status.retries == 1


def test_an_old_pod_that_cannot_go_because_its_node_is_lost_is_looked_at_again() -> None:
    """Nobody else would: it moved on before its node was lost."""
    job = JOB.counted("Worker", attempts={"0": 1}, evicted=1)
    stuck = WORKER.running().going(5)
    early = decide(job, PS, stuck, OTHER, lost_nodes={"node1": 0}, now=10)
    assert (early.deletions, early.creations, early.wake_at) == ((), (), after(60))
    late = decide(job, PS, stuck, OTHER, lost_nodes={"node1": 0}, now=60)
    assert [one.force for one in late.deletions] == [True]


def test_pods_of_replicas_that_the_job_no_longer_has_go() -> None:
    """After it was made smaller while suspended."""
    smaller = tf_job().ps(1).workers(1)
    decided = decide(smaller, PS, WORKER.running(), OTHER)
    assert names(decided) == ["mnist-worker-1"]


@pytest.mark.parametrize("label", ["7", "", "x", "9" * 63])
def test_a_spoiled_label_leads_to_no_loop(label: str) -> None:
    """Whatever somebody wrote there, the failure is counted once and the replica goes on."""
    spoiled = WORKER.failed(137).labelled(attempt=label)
    first = decide(JOB, PS, spoiled, OTHER)
    assert first.status.retries == 1
    second = decide(written(JOB, first), PS, spoiled, OTHER, now=1)
    assert (second.status.retries, names(second)) == (1, ["mnist-worker-0"])


def test_a_failure_that_is_dated_in_the_future_counts_now() -> None:
    """A node's clock may run ahead."""
    assert decide(JOB, PS, WORKER.failed(137, at=999), OTHER).status.retries == 1


def test_of_two_dead_pods_of_one_attempt_the_success_counts() -> None:
    """One operator made it again that knew nothing of the first; a standby remembers both."""
    first, second = WORKER.uid("first").running(), WORKER.uid("second").succeeded()
    for order in ([first, second], [second, first]):
        decided = decide(JOB.with_spec(successPolicy="AllWorkers"), PS, OTHER, deleted=order)
        assert worker(decided).succeeded_indexes == "0"


def test_no_plan_asks_for_a_moment_that_has_passed() -> None:
    """It would be a loop without a pause: here a pause is awaited on a node that was lost long ago."""
    job = JOB.counted("Worker", attempts={"0": 12}, evicted=12)
    decided = decide(job, PS, WORKER.attempt(12).running(), OTHER, lost_nodes={"node1": 0}, now=61)
    assert decided.wake_at == after(300)
