"""What is decided about the scalers of a job: one write at a time, in an order that survives a crash."""

from dataclasses import replace

import msgspec
import pytest

from kubedl.api.scaling import ScaledReplicas
from kubedl.api.spot import SpotStatus, SpotSuspension
from kubedl.training.kinds.pytorch import PyTorch
from kubedl.training.scaling.plan import Observed, Plan, plan
from kubedl.training.scaling.scaler import Scaler, listed
from tests.training_builders import NOW, JobBuilder, after, pod, torch_job
from tests.unit.training.scaling.builders import (
    JOB,
    begun,
    claimed,
    decide,
    elastic,
    running,
    said,
    scale_in,
    scale_out,
    target,
    written,
)


class OtherTorch(PyTorch):
    """Another kind that can be elastic, as a package may bring it."""

    kind = "OtherJob"
    plural = "otherjobs"


def steps(decided: Plan) -> list[tuple[str, str]]:
    """Type and status of the conditions that a plan writes."""
    assert decided.status is not None
    return [(one.type, one.status) for one in decided.status.conditions]


def test_without_scalers_there_is_nothing_to_do() -> None:
    assert decide(job=elastic(4)) == Plan()


def test_a_scale_in_goes_step_by_step() -> None:
    """Pods in the status, size of the job, start, end: each is written alone, over what the one before left."""
    job, scaler = elastic(4), scale_in(toDelete={"count": 2})
    first = decide(scaler, job=job)
    assert steps(first) == [("Created", "True"), ("Scaling", "True")]
    assert said(first) == ("Scaling", "ScalingIn", "removes bert-worker-2, bert-worker-3")
    assert first.resize is None
    scaler = written(first)
    assert scaler.pods == ("bert-worker-2", "bert-worker-3")
    assert scaler.status.start_time is None
    second = decide(scaler, job=job)
    assert (second.status, second.resize and second.resize.replicas) == (None, 2)
    smaller = elastic(2, generation=2, seen=4)
    third = decide(scaler, job=smaller, pods=running(job, 0, 1, 2, 3), now=1)
    assert (third.resize, third.status and third.status.start_time) == (None, after(1))
    scaler = written(third)
    waits = decide(scaler, job=smaller, pods=running(job, 0, 1, 2, 3), now=2)
    assert (waits.status, waits.resize, waits.wake_at) == (None, None, after(61))
    last = decide(scaler, job=elastic(2, generation=2), pods=running(job, 0, 1), now=3)
    assert said(last) == ("ScaleSucceeded", "ScalingInSucceeded", "PyTorchJob bert was resized from 4 to 2")
    assert steps(last) == [("Created", "True"), ("Scaling", "False"), ("ScaleSucceeded", "True")]
    assert last.status is not None
    assert (last.status.completion_time, last.status.last_reconcile_time) == (after(3), after(3))
    assert decide(written(last), job=job, pods=running(job, 0, 1, 2, 3)) == Plan()


def test_a_scale_out_ends_when_its_pods_run() -> None:
    job, larger = elastic(2), elastic(4, generation=2)
    first = decide(scale_out(toAdd={"count": 2}), job=job)
    assert said(first) == ("Scaling", "ScalingOut", "adds bert-worker-2, bert-worker-3")
    assert written(first).pods == ("bert-worker-2", "bert-worker-3")
    second = decide(written(first), job=job)
    assert second.resize is not None
    assert second.resize.replicas == 4
    scaler = begun(scale_out(toAdd={"count": 2}), job, larger)
    for pods in (running(larger, 0, 1, 2), [*running(larger, 2), pod(larger, "Worker", 3)]):
        assert decide(scaler, job=larger, pods=pods).wake_at == after(60)
    leaving = [*running(larger, 2), pod(larger, "Worker", 3).running().going()]
    assert decide(scaler, job=larger, pods=leaving).status is None
    done = [*running(larger, 2), pod(larger, "Worker", 3).succeeded()]
    assert said(decide(scaler, job=larger, pods=done))[0] == "ScaleSucceeded"
    last = decide(scaler, job=larger, pods=running(larger, 0, 1, 2, 3))
    assert said(last) == ("ScaleSucceeded", "ScalingOutSucceeded", "PyTorchJob bert was resized from 2 to 4")


def test_pods_that_do_not_run_in_time_are_taken_back() -> None:
    """That this is done is in the status before the job is changed, and after a restart it is not done again."""
    job, larger = elastic(2), elastic(3, generation=2)
    scaler = begun(scale_out(timeout=30), job, larger)
    assert decide(scaler, job=larger, now=29).wake_at == after(30)
    late = decide(scaler, job=larger, now=30)
    assert said(late) == ("Scaling", "TakingBack", "bert-worker-2 not running after 30 s")
    assert late.resize is None
    scaler = written(late)
    back = decide(scaler, job=larger, pods=running(larger, 2), now=31)
    assert (back.status, back.resize and back.resize.replicas) == (None, 2)
    last = decide(scaler, job=elastic(2, generation=3), now=32)
    words = "bert-worker-2 did not run in time; PyTorchJob bert has 2 replicas"
    assert said(last) == ("ScaleFailed", "ScalingOutFailed", words)
    overtaken = decide(scaler, job=elastic(5, generation=3), now=32)
    assert said(overtaken)[2].endswith("PyTorchJob bert has 5 replicas")


def test_a_job_that_ended_keeps_the_replicas_that_were_to_be_taken_back() -> None:
    larger = elastic(3, generation=2)
    scaler = written(decide(begun(scale_out(), elastic(2), larger), job=larger, now=60))
    assert said(decide(scaler, job=larger.said("Failed")))[0] == "ScaleFailed"


def test_pods_that_others_added_are_not_taken_back() -> None:
    scaler = begun(scale_out(), elastic(2), elastic(3, generation=2))
    late = decide(scaler, job=elastic(5, generation=3), now=60)
    assert said(late)[:2] == ("ScaleFailed", "ScalingOutFailed")
    assert "others changed PyTorchJob bert to 5 replicas" in said(late)[2]


def test_pods_may_use_their_grace_period() -> None:
    """The timeout of a ScaleIn counts from its end. The job is smaller all the same."""
    job, smaller = elastic(3), elastic(2, generation=2)
    scaler = begun(scale_in(timeout=20), job, smaller)
    leaving = [pod(job, "Worker", 2).running().going(100)]
    assert decide(scaler, job=smaller, pods=leaving, now=90).wake_at == after(120)
    late = decide(scaler, job=smaller, pods=leaving, now=120)
    words = "bert-worker-2 not gone after 20 s; PyTorchJob bert has 2 replicas all the same"
    assert said(late) == ("ScaleFailed", "ScalingInFailed", words)


def waited_in_vain(job: JobBuilder) -> JobBuilder:
    """The job after `onMaxWait: Suspend`: it has no pods, and its spec says nothing of it."""
    return job.with_status(spot=SpotStatus(suspended=SpotSuspension(at=NOW, max_wait_seconds=60)))


def test_pods_that_the_engine_has_not_made_yet_are_not_gone() -> None:
    """It has not seen the new size, so it may still make them."""
    job, smaller = elastic(3), elastic(2, generation=2, seen=3)
    scaler = begun(scale_in(), job, smaller)
    assert decide(scaler, job=smaller).status is None
    unseen = smaller.with_status(elastic=None)
    assert decide(scaler, job=unseen).status is None
    for ended in (smaller.said("Succeeded"), smaller.with_spec(suspend=True), waited_in_vain(smaller)):
        assert said(decide(scaler, job=ended))[0] == "ScaleSucceeded"


@pytest.mark.parametrize(
    ("scaler", "job", "reason", "words"),
    [
        (scale_in(script="a"), elastic(4), "ScriptNotSupported", "remove script and env"),
        (scale_out(env=[{"name": "A"}]), elastic(4), "ScriptNotSupported", "remove script and env"),
        (scale_in(), None, "JobNotFound", "there is no elastic job bert in the namespace"),
        (scale_in(), torch_job(JOB).workers(4), "NotElastic", "PyTorchJob bert keeps its size"),
        (scale_in(), elastic(4).said("Succeeded"), "JobFinished", "PyTorchJob bert has ended"),
        (scale_out(), elastic(4, suspend=True), "JobSuspended", "edit its replicas instead"),
        (scale_out(), waited_in_vain(elastic(4)), "JobSuspended", "edit its replicas instead"),
        (
            scale_in(toDelete={"count": 4}),
            elastic(4),
            "ScalingInFailed",
            ".spec.toDelete.count should be less than current replicas 4",
        ),
        (scale_in(toDelete={"count": 3}), elastic(4), "OutOfBounds", "would have 1 replicas; allowed are 2 to 6"),
        (scale_out(toAdd={"count": 3}), elastic(4), "OutOfBounds", "would have 7 replicas; allowed are 2 to 6"),
        (
            scale_in(toDelete={"podNames": ["bert-worker-1"]}),
            elastic(4),
            "PodsNotRemovable",
            "highest indexes can be removed: bert-worker-3, and not bert-worker-1",
        ),
        (
            scale_in(toDelete={"podNames": [f"bert-worker-{index}" for index in range(5)]}),
            elastic(4),
            "PodsNotRemovable",
            "not bert-worker-4",
        ),
    ],
)
def test_a_scaler_that_cannot_be_done_fails_at_once(
    scaler: Scaler, job: JobBuilder | None, reason: str, words: str
) -> None:
    """Before anything is changed, with the reason."""
    decided = decide(scaler, job=job)
    assert steps(decided) == [("Created", "True"), ("ScaleFailed", "True")]
    assert said(decided)[:2] == ("ScaleFailed", reason)
    assert words in said(decided)[2]
    assert decided.resize is None
    assert decide(written(decided), job=elastic(4)) == Plan()


def test_the_role_must_be_spelled_as_the_scale_subresource_has_it() -> None:
    job = torch_job(JOB).role("worker", 4).with_spec(elastic={"minReplicas": 2, "maxReplicas": 6})
    assert said(decide(scale_in(), job=job)) == (
        "ScaleFailed",
        "NotElastic",
        "the scale subresource needs a role Worker, spelled like this",
    )


def test_pods_by_name_have_precedence_over_a_count() -> None:
    """In any order, and twice the same is once."""
    names = ["bert-worker-3", "bert-worker-2", "bert-worker-3"]
    decided = decide(scale_in(toDelete={"count": 1, "podNames": names}), job=elastic(4))
    assert written(decided).pods == ("bert-worker-2", "bert-worker-3")


def test_a_job_is_looked_up_before_it_is_missed() -> None:
    """The cache may be behind."""
    decided = plan(Observed(JOB, (scale_in(),), (), NOW))
    assert (decided.inquire, decided.status) == (True, None)


def test_the_label_chooses_among_jobs_of_one_name() -> None:
    mine, other = target(elastic(4)), target(replace(elastic(5).with_metadata(uid="other"), kind=OtherTorch()))

    def decided(scaler: Scaler) -> Plan:
        return plan(Observed(JOB, (scaler,), (mine, other), NOW, inquired=True))

    words = "OtherJob bert and PyTorchJob bert have this name; name one in the label training.kubedl.io/kind"
    assert said(decided(scale_in())) == ("ScaleFailed", "Ambiguous", words)
    chosen = decided(scale_in(labels={"training.kubedl.io/kind": "OtherJob"}))
    assert written(chosen).pods == ("bert-worker-4",)
    wrong = decided(scale_in(labels={"training.kubedl.io/kind": "TFJob"}))
    assert said(wrong) == ("ScaleFailed", "JobNotFound", "there is no TFJob bert in the namespace")
    assert said(plan(Observed(JOB, (written(chosen),), (mine,), NOW, inquired=True)))[1] == "JobNotFound"
    edited = msgspec.structs.replace(written(chosen).body, metadata=scale_in().body.metadata)
    begun_with = plan(Observed(JOB, (Scaler(written(chosen).resource, edited),), (mine, other), NOW, inquired=True))
    assert begun_with.resize is not None
    assert begun_with.resize.target == other


def test_scalers_of_a_job_take_turns_by_creation_time() -> None:
    """The others say for whom they wait; one that has begun goes on, although an older one has come to light."""
    job = elastic(4)
    old, new = scale_out("z", created=1), scale_in("a", created=2)
    waits = decide(new, old, job=job)
    assert waits.scaler == new
    assert said(waits) == ("Created", "ScaleInCreated", "waits for ScaleOut z")
    turn = decide(written(waits), old, job=job)
    assert turn.scaler == old
    assert said(turn)[0] == "Scaling"
    late = decide(claimed(new, job), old, job=job)
    assert said(late) == ("Created", "ScaleOutCreated", "waits for ScaleIn a")
    goes_on = decide(claimed(new, job), written(late), job=job)
    assert (goes_on.scaler and goes_on.scaler.body.metadata.name, goes_on.resize is not None) == ("a", True)
    done = replace(old, body=written(decide(old, job=elastic(6))).body)
    assert done.is_finished
    assert said(decide(written(waits), done, job=job))[0] == "Scaling"


def test_a_scaler_names_the_one_whose_turn_it_is() -> None:
    """Itself, or the one that it waits for, also when turns change; nobody when it has ended."""
    job = elastic(4)
    first, second, third = scale_out("z", created=1), scale_in("a", created=2), scale_in("b", created=3)
    waits = written(decide(first, second, job=job))
    assert waits.status.current_scaler == "ScaleOut:team/z"
    turn = claimed(first, job)
    assert turn.status.current_scaler == "ScaleOut:team/z"
    also = written(decide(turn, waits, third, job=job))
    assert also.body.metadata.name == "b"
    assert decide(turn, waits, also, job=job).resize is not None
    done = written(decide(begun(first, job, elastic(5, generation=2)), job=elastic(5).said("Failed")))
    assert done.status.current_scaler == ""
    moved = decide(done, waits, also, job=job)
    assert (moved.scaler, said(moved)[2]) == (also, "waits for ScaleIn a")
    assert written(moved).status.current_scaler == "ScaleIn:team/a"
    assert decide(done, waits, written(moved), job=job).scaler == waits


def test_a_scaler_that_has_ended_says_which_pods_there_are() -> None:
    """Of the role that is resized, and only then."""
    job, smaller = elastic(4).master(), elastic(3, generation=2).master()
    there = [pod(job, "Master").running(), *running(job, 0), pod(job, "Worker", 1).failed(1)]
    there += [pod(job, "Worker", 2).succeeded(), pod(job, "Worker", 3).running().going(100)]
    scaler = begun(scale_in(timeout=1), job, smaller)
    assert (scaler.status.replica_statuses, decide(scaler, job=smaller, pods=there).status) == ({}, None)
    late = decide(scaler, job=smaller, pods=there, now=1000)
    assert said(late)[:2] == ("ScaleFailed", "ScalingInFailed")
    assert written(late).status.replica_statuses == {"Worker": ScaledReplicas(active=1, succeeded=1, failed=1)}
    left = decide(scaler, job=smaller, pods=[*there[:4], *running(job, 3)], now=1000)
    assert written(left).status.replica_statuses["Worker"].active == 2
    done = decide(scaler, job=smaller, pods=running(job, 0, 1, 2))
    assert written(done).status.replica_statuses == {"Worker": ScaledReplicas(active=3)}
    assert written(decide(scale_in())).status.replica_statuses == {}


def test_a_scaler_that_is_being_deleted_has_no_turn() -> None:
    scaler = scale_in()
    meta = msgspec.structs.replace(scaler.body.metadata, deletion_timestamp=NOW)
    going = Scaler(scaler.resource, msgspec.structs.replace(scaler.body, metadata=meta))
    assert decide(going, job=elastic(4)) == Plan()


def test_a_job_that_others_changed_before_the_write_is_looked_at_again() -> None:
    """One change that is not the own one: the pods are chosen anew, and what no longer fits fails."""
    scaler = claimed(scale_in(), elastic(4))
    again = decide(scaler, job=elastic(5, generation=2))
    assert again.resize is None
    assert written(again).pods == ("bert-worker-4",)
    assert written(again).sizes == (5, 4)
    assert steps(again) == [("Created", "True"), ("Scaling", "True")]
    assert said(decide(scaler, job=elastic(2, generation=2)))[1] == "OutOfBounds"
    bounds = torch_job(JOB).workers(5).with_metadata(generation=2)
    assert said(decide(scaler, job=bounds))[1:] == ("NotElastic", "PyTorchJob bert has no spec.elastic any more")


def test_a_job_is_never_resized_twice() -> None:
    """If the size is the wanted one it counts as done; if nobody can tell, the scaler fails."""
    scaler = claimed(scale_in(), elastic(4))
    assert written(decide(scaler, job=elastic(3, generation=9))).status.start_time == NOW
    words = "others changed PyTorchJob bert while it was resized; it has 4 replicas now"
    assert said(decide(scaler, job=elastic(4, generation=3))) == ("ScaleFailed", "Overtaken", words)


@pytest.mark.parametrize(("scaler", "resized", "found"), [(scale_in(), 3, 5), (scale_out(), 5, 3)])
def test_who_is_overtaken_says_so(scaler: Scaler, resized: int, found: int) -> None:
    scaler = begun(scaler, elastic(4), elastic(resized, generation=2))
    words = f"others changed PyTorchJob bert to {found} replicas, while it was resized from 4 to {resized}"
    assert said(decide(scaler, job=elastic(found, generation=3))) == ("ScaleFailed", "Overtaken", words)


def test_another_change_in_the_same_direction_does_not_overtake() -> None:
    job = elastic(5)
    less = begun(scale_in(), job, elastic(4, generation=2))
    assert said(decide(less, job=elastic(3, generation=3)))[0] == "ScaleSucceeded"
    more = begun(scale_out(), elastic(4), elastic(5, generation=2))
    assert said(decide(more, job=elastic(6, generation=3), pods=running(job, 4)))[0] == "ScaleSucceeded"


def test_a_job_that_ends_meanwhile_ends_its_scalers() -> None:
    larger = elastic(5, generation=2)
    scaler = begun(scale_out(), elastic(4), larger)
    assert said(decide(scaler, job=larger.said("Failed")))[:2] == ("ScaleFailed", "JobFinished")


def test_a_job_that_was_made_again_is_another_one() -> None:
    """It keeps its size, whether the first one was resized or not."""
    again = elastic(4).with_metadata(uid="another")
    for scaler in (claimed(scale_in(), elastic(4)), begun(scale_in(), elastic(4), elastic(3, generation=2))):
        decided = decide(scaler, job=again)
        assert said(decided) == ("ScaleFailed", "JobNotFound", "the job bert was deleted")


def test_messages_name_a_few_pods() -> None:
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
