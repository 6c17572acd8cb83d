"""Each decision about a job's life, in the order in which they are made."""

import pytest

from kubedl.api.conditions import find, is_true
from kubedl.training.plan import Plan
from tests.training_builders import NOW, JobBuilder, PodBuilder, after, decide, pod, tf_job, torch_job

JOB = tf_job().ps(1).workers(2)
RUNNING = (
    pod(JOB, "PS").running(),
    pod(JOB, "Worker", 0).running(),
    pod(JOB, "Worker", 1).running(),
)


def made(decided: Plan) -> list[tuple[str, int, int]]:
    """Role, index and attempt of each pod to be created."""
    return [(one.replica.role, one.replica.index, one.attempt) for one in decided.creations]


def deleted(decided: Plan) -> list[tuple[str, bool]]:
    """Name and force of each pod to be deleted."""
    return [(one.pod.metadata.name, one.force) for one in decided.deletions]


def truths(decided: Plan) -> set[str]:
    """The conditions that hold."""
    return {one.type for one in decided.status.conditions if one.status == "True"}


def reasons(decided: Plan) -> list[str]:
    """Of the events."""
    return [event.reason for event in decided.events]


def test_a_new_job_gets_its_service_and_the_role_that_waits_for_nobody() -> None:
    """And says when it started."""
    decided = decide(JOB, has_service=False)
    assert decided.create_service
    assert made(decided) == [("PS", 0, 0)]
    assert (decided.status.state, decided.status.reason) == ("Created", "WaitingForRole")
    assert decided.status.start_time == NOW
    assert decided.status.observed_generation == 1
    assert truths(decided) == {"Created"}


def test_who_waited_starts_when_the_role_before_runs() -> None:
    """All of it, not only its first."""
    job = tf_job().ps(2).workers(1)
    assert made(decide(job, pod(job, "PS", 0).running())) == [("PS", 1, 0)]
    assert made(decide(job, pod(job, "PS", 0).running(), pod(job, "PS", 1))) == []
    assert made(decide(job, pod(job, "PS", 0).running(), pod(job, "PS", 1).running())) == [("Worker", 0, 0)]


@pytest.mark.parametrize(
    ("phase", "upstream", "expected"),
    [
        ("Ready", pod(JOB, "PS").running(ready=False), 0),
        ("Ready", pod(JOB, "PS").running(), 2),
        ("Succeeded", pod(JOB, "PS").running(), 0),
        ("Succeeded", pod(JOB, "PS").succeeded(), 2),
        ("Running", pod(JOB, "PS").running().going(30), 0),
    ],
)
def test_a_user_says_what_is_waited_for(phase: str, upstream: PodBuilder, expected: int) -> None:
    """One that is told to go does not count as running."""
    job = tf_job().ps(1).workers(2, dependsOn=[{"upstream": "ps", "phase": phase}])
    found = [one for one in made(decide(job, upstream)) if one[0] == "Worker"]
    assert len(found) == expected


def test_a_running_job_is_left_alone() -> None:
    """Its state is written once."""
    decided = decide(JOB, *RUNNING)
    assert (made(decided), deleted(decided), decided.create_service) == ([], [], False)
    assert (decided.status.state, decided.status.ready) == ("Running", "3/3")
    assert truths(decided) == {"Created", "Running", "PodsReady"}
    assert reasons(decided) == ["JobRunning"]
    again = decide(JOB.with_status(**_fields(decided)), *RUNNING, now=60)
    assert again.status == decided.status
    assert again.events == ()


def test_success_cleans_up_and_is_final() -> None:
    """cleanPodPolicy Running is the default of a TFJob: logs of the ended stay."""
    pods = (RUNNING[0], pod(JOB, "Worker", 0).succeeded(), RUNNING[2])
    decided = decide(JOB, *pods)
    assert truths(decided) == {"Created", "Succeeded", "Complete"}
    assert (decided.status.state, decided.status.completion_time) == ("Succeeded", NOW)
    assert deleted(decided) == [("mnist-ps-0", False), ("mnist-worker-1", False)]
    assert decided.status.replica_statuses["Worker"].succeeded_indexes == "0"
    assert {status.active for status in decided.status.replica_statuses.values()} == {0}
    ended = JOB.with_status(**_fields(decided))
    later = decide(ended, pod(JOB, "Worker", 0).failed(1), pod(JOB, "Worker", 1).failed(137), now=9)
    assert later.status == decided.status
    assert (made(later), deleted(later)) == ([], [])


def test_a_finished_job_makes_nothing_even_without_pods_and_service() -> None:
    """There is no way back."""
    ended = JOB.said("Failed").with_status(completion_time=NOW)
    decided = decide(ended, has_service=False)
    assert decided.status == ended.status
    assert (made(decided), decided.create_service, decided.wake_at) == ([], False, None)


@pytest.mark.parametrize(
    ("policy", "succeeded", "failed"),
    [
        ("None", [], ["mnist-ps-0"]),
        ("Running", ["mnist-ps-0"], ["mnist-ps-0"]),
        ("All", ["mnist-ps-0", "mnist-worker-0"], ["mnist-ps-0", "mnist-worker-0"]),
    ],
)
def test_which_pods_go_at_the_end(policy: str, succeeded: list[str], failed: list[str]) -> None:
    """After a failure whatever runs, under every policy: nobody waits for it, and it holds machines."""
    job = JOB.with_spec(cleanPodPolicy=policy)
    for last, expected in ((pod(JOB, "Worker", 0).succeeded(), succeeded), (pod(JOB, "Worker", 0).failed(1), failed)):
        first = decide(job, RUNNING[0], last)
        assert [name for name, _ in deleted(first)] == expected
        again = decide(job.with_status(**_fields(first)), RUNNING[0], last)  # an operator that died before it deleted
        assert [name for name, _ in deleted(again)] == expected


@pytest.mark.parametrize("reason", ["DeadlineExceeded", "BackoffLimitExceeded"])
def test_a_job_that_is_ended_leaves_no_machine_taken(reason: str) -> None:
    """Whatever the kind's own policy is: None, for a PyTorchJob."""
    job = torch_job().master().workers(1).with_spec(activeDeadlineSeconds=60, backoffLimit=0)
    master, worker = pod(job, "Master").running(), pod(job, "Worker").running()
    if reason == "DeadlineExceeded":
        decided = decide(job.with_status(start_time=NOW), master, worker, now=60)
    else:
        decided = decide(job, master, worker.failed(1))
    assert decided.status.reason == reason
    running = {"resnet-master-0", "resnet-worker-0"} if reason == "DeadlineExceeded" else {"resnet-master-0"}
    assert {name for name, _ in deleted(decided)} == running


def test_the_kinds_own_clean_pod_policy_holds_where_none_is_written() -> None:
    """None, for a PyTorchJob."""
    job = torch_job().master().workers(1)
    assert deleted(decide(job, pod(job, "Master").failed(1), pod(job, "Worker").succeeded())) == []


@pytest.mark.parametrize(("now", "failed", "wakes"), [(59, False, 60), (60, True, None), (61, True, None)])
def test_the_deadline_fires_by_timer(now: float, failed: bool, wakes: float | None) -> None:
    """Counted from the start; before it, the plan asks to be woken then."""
    job = JOB.with_spec(activeDeadlineSeconds=60).with_status(start_time=NOW)
    decided = decide(job, *RUNNING, now=now)
    assert is_true(decided.status.conditions, "Failed") == failed
    assert decided.wake_at == (after(wakes) if wakes is not None else None)
    if failed:
        assert decided.status.reason == "DeadlineExceeded"
        assert len(deleted(decided)) == 3


def test_success_comes_before_the_deadline() -> None:
    """Nobody is robbed of a finished training by a late look."""
    job = JOB.with_spec(activeDeadlineSeconds=60).with_status(start_time=NOW)
    assert decide(job, *RUNNING[:1], pod(JOB, "Worker").succeeded(), now=99).status.state == "Succeeded"


@pytest.mark.parametrize(("now", "goes", "wakes"), [(29, False, 30), (30, True, None), (99, True, None)])
def test_a_finished_job_is_deleted_when_its_time_is_over(now: float, goes: bool, wakes: float | None) -> None:
    """And asks for no second look at a moment that has passed."""
    job = JOB.said("Succeeded").with_status(completion_time=NOW).with_spec(ttlSecondsAfterFinished=30)
    decided = decide(job, now=now)
    assert decided.delete_job == goes
    assert decided.wake_at == (after(wakes) if wakes is not None else None)


def test_a_job_that_is_being_deleted_is_left_to_the_garbage_collector() -> None:
    """Nothing is made for it, nothing is written."""
    job = JOB.with_metadata(deletionTimestamp="2026-01-01T12:00:00Z")
    assert decide(job, has_service=False) == Plan(status=job.status)


def test_what_cannot_be_honoured_fails_the_job() -> None:
    """With the annotation's name in the condition."""
    job = JOB.with_metadata(annotations={"kubedl.io/enable-elastic-training": "true"})
    decided = decide(job)
    found = find(decided.status.conditions, "Failed")
    assert found is not None
    assert (found.reason, "kubedl.io/enable-elastic-training" in found.message) == ("Unsupported", True)
    assert made(decided) == []


def test_a_blocked_job_that_ends_is_blocked_no_more() -> None:
    """What stood in its way does not matter any more."""
    blocked: JobBuilder = JOB.said("Blocked")
    assert "Blocked" not in truths(decide(blocked, *RUNNING[:1], pod(JOB, "Worker").succeeded()))
    assert "Blocked" not in truths(decide(blocked.suspended()))


def _fields(decided: Plan) -> dict[str, object]:
    return {name: getattr(decided.status, name) for name in decided.status.__struct_fields__}


def test_a_job_that_has_all_its_pods_is_not_blocked_any_more() -> None:
    """The last one was created, and the answer was an error; but one that lacks a pod still is."""
    job = tf_job().workers(2).said("Blocked", reason="PodTimeout")
    pods = [pod(job, "Worker", index).running() for index in (0, 1)]
    assert not is_true(decide(job, *pods).status.conditions, "Blocked")
    assert is_true(decide(job, pods[0]).status.conditions, "Blocked")
