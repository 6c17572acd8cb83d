"""Resizing a running job in place: who comes, who goes, what is said, and what is never taken for a failure."""

from collections.abc import Callable

import msgspec
import pytest

from kubedl.api.conditions import find, is_true
from kubedl.api.elastic import ElasticStatus
from kubedl.training.elastic.leaving import hold_until_saved
from kubedl.training.elastic.resizing import hold_size
from kubedl.training.gang.assignment import chosen
from kubedl.training.kueue import admission
from kubedl.training.observed import Settings
from kubedl.training.plan import Plan
from kubedl.training.policies.legacy_annotations import unsupported
from tests.training_builders import NOW, JobBuilder, PodBuilder, decide, observed, pod, torch_job

CLOSED = "Traceback …\ntorch.distributed.elastic.rendezvous.api.RendezvousClosedError"


def elastic(workers: int, *, size: int | None = None, **status: object) -> JobBuilder:
    """A running job with one to four workers, that was last given `size`."""
    known = ElasticStatus(size=workers if size is None else size, **status)  # type: ignore[arg-type]
    job = torch_job("bert").workers(workers).with_spec(elastic={"minReplicas": 1, "maxReplicas": 4})
    job = job.with_status(start_time=NOW, elastic=known).said("Running")
    return job.counted("Worker", active=known.size, ready=known.size)


def running(job: JobBuilder, *indexes: int) -> list[PodBuilder]:
    """The pods of these workers."""
    return [pod(job, "Worker", index).running() for index in indexes]


def written(job: JobBuilder, decided: Plan) -> JobBuilder:
    """The job after the plan's status was written."""
    return job.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})


def made(decided: Plan) -> list[tuple[int, int]]:
    """Index and attempt of the pods that a plan creates."""
    return [(one.replica.index, one.attempt) for one in decided.creations]


def removed(decided: Plan) -> list[str]:
    """The pods that a plan deletes."""
    return [one.pod.metadata.name for one in decided.deletions]


def test_a_job_that_grows_gets_the_missing_pods_and_nobody_restarts() -> None:
    """And says so, once."""
    job = elastic(4, size=2)
    decided = decide(job, *running(job, 0, 1))
    assert (made(decided), removed(decided)) == ([(2, 0), (3, 0)], [])
    assert (decided.status.attempt, decided.status.retries) == (0, 0)
    assert [(one.reason, one.message) for one in decided.events] == [
        ("ReplicasAdded", "Worker is resized from 2 to 4: 2 pods are added, the others go on")
    ]
    assert is_true(decided.status.conditions, "Resizing")
    again = decide(written(job, decided), *running(job, 0, 1), pod(job, "Worker", 2), pod(job, "Worker", 3))
    assert (made(again), again.events, again.status.elastic) == ([], (), decided.status.elastic)


def test_a_job_that_shrinks_gives_up_the_highest_indexes() -> None:
    """In the status before the pods are deleted: no plan after it takes their end for a failure."""
    job = elastic(2, size=4)
    decided = decide(job, *running(job, 0, 1, 2, 3))
    assert (made(decided), removed(decided)) == ([], ["bert-worker-2", "bert-worker-3"])
    assert decided.status.replica_statuses["Worker"].attempts == {"2": 1, "3": 1}
    assert decided.status.elastic == ElasticStatus(
        size=2,
        members="0-1",
        leaving="2-3",
        changes=1,
        shrunk_in_attempt=0,
        selector="training.kubedl.io/job-name=bert,training.kubedl.io/replica-type=worker",
    )
    assert [one.message for one in decided.events] == [
        "Worker is resized from 4 to 2: 2 pods are removed, the others go on"
    ]
    condition = find(decided.status.conditions, "Resizing")
    assert condition is not None
    assert (condition.status, condition.reason) == ("True", "ReplicasRemoved")
    after = written(job, decided)
    gone = decide(after, *running(job, 0, 1), deleted=[pod(job, "Worker", 2).running().going(30)])
    assert (gone.status.attempt, gone.status.retries, made(gone), removed(gone)) == (0, 0, [], [])
    assert not is_true(gone.status.conditions, "Resizing")
    assert gone.forget == (pod(job, "Worker", 2).build().metadata.uid,)


@pytest.mark.parametrize(
    ("last", "is_over"),
    [
        (lambda made: made, False),
        (lambda made: made.running(), True),
        (lambda made: made.failed(1), True),
        (lambda made: made.running().going(30), False),
    ],
    ids=["pending", "running", "failed", "going"],
)
def test_a_resize_is_over_when_the_last_one_has_started(
    last: Callable[[PodBuilder], PodBuilder], is_over: bool
) -> None:
    """What becomes of it then is another story."""
    job = elastic(3).said("Resizing").with_spec(successPolicy="AnyWorker").workers(3, failurePolicy="FailReplica")
    decided = decide(job, *running(job, 0, 1), last(pod(job, "Worker", 2)))
    assert is_true(decided.status.conditions, "Resizing") is not is_over


def test_one_pod_is_not_two() -> None:
    """In words."""
    job = elastic(3, size=2)
    assert "1 pod is added" in decide(job, *running(job, 0, 1)).events[0].message


def test_a_replica_that_comes_back_waits_for_its_old_pod_and_is_another_one() -> None:
    """The old pod is neither its pod nor its failure."""
    small = elastic(2, size=4)
    shrunk = written(small, decide(small, *running(small, 0, 1, 2, 3)))
    grown = shrunk.workers(3)
    leaving = pod(small, "Worker", 2).running().going(30)
    waiting = decide(grown, *running(small, 0, 1), leaving)
    assert (made(waiting), removed(waiting), waiting.status.attempt) == ([], [], 0)
    begun = decide(written(grown, waiting), *running(small, 0, 1), deleted=[leaving])
    assert made(begun) == [(2, 1)]
    assert (begun.status.attempt, begun.status.retries) == (0, 0)


def test_an_operator_that_died_before_the_deletions_goes_on_with_them() -> None:
    """The status has the new size already: nothing is told twice, nothing is counted."""
    job = elastic(2, size=4)
    after = written(job, decide(job, *running(job, 0, 1, 2, 3)))
    decided = decide(after, *running(job, 0, 1, 2, 3))
    assert removed(decided) == ["bert-worker-2", "bert-worker-3"]
    assert (decided.events, decided.status) == ((), after.status)


def test_a_new_attempt_is_later_than_every_removed_pod() -> None:
    """One that still ends must not be taken for a pod of the new attempt."""
    job = elastic(2).counted("Worker", active=2, attempts={"2": 3})
    decided = decide(job, pod(job, "Worker").failed(1, at=-600), pod(job, "Worker", 1).running(), now=600)
    assert (decided.status.attempt, decided.status.retries) == (4, 1)


def test_who_was_a_member_and_has_no_pod_was_deleted() -> None:
    """Although the job is not complete while it grows: a lone new pod would not find the others."""
    job = elastic(4, size=4, members="0-1").counted("Worker", active=3)
    decided = decide(job, *running(job, 1, 2))
    assert decided.status.attempt == 1
    assert decided.confirm == ("bert-worker-0",)


@pytest.mark.parametrize("phase", ["Suspended", "Failed"])
def test_who_is_suspended_or_ends_has_no_members(phase: str) -> None:
    """The size stays."""
    job = elastic(2, members="0-1", leaving="2")
    job = job.suspended() if phase == "Suspended" else job.with_spec(activeDeadlineSeconds=1)
    decided = decide(job, *running(job, 0, 1), now=60)
    assert decided.status.state == phase
    assert decided.status.elastic == ElasticStatus(size=2)


def test_a_size_that_was_changed_while_suspended_is_no_resize() -> None:
    """There was nobody to go on."""
    job = elastic(4, size=2).with_status(start_time=None)
    decided = decide(job)
    assert decided.events == ()
    assert decided.status.elastic is not None
    assert (decided.status.elastic.size, decided.status.elastic.changes) == (4, 0)


def test_a_closed_rendezvous_restarts_all_and_counts_nothing() -> None:
    """An agent that was removed closed it: torchrun before PyTorch 2.8."""
    job = elastic(2, shrunk_in_attempt=0).with_spec(backoffLimit=0)
    failed = pod(job, "Worker").failed(1, message=CLOSED)
    decided = decide(job, failed, pod(job, "Worker", 1).running())
    assert (decided.status.attempt, decided.status.retries) == (1, 0)
    assert [one.reason for one in decided.events] == ["RendezvousClosed"]
    assert removed(decided) == ["bert-worker-0", "bert-worker-1"]
    second = written(job, decided)
    again = decide(second, pod(job, "Worker").attempt(1).failed(1, message=CLOSED), now=60)
    assert again.status.reason == "BackoffLimitExceeded"


@pytest.mark.parametrize(
    ("attempt", "message"), [(None, CLOSED), (0, "RuntimeError: out of ideas")], ids=["not shrunk", "another error"]
)
def test_other_failures_count(attempt: int | None, message: str) -> None:
    """Whatever the program says if nobody was removed, and every other error."""
    job = elastic(2, shrunk_in_attempt=attempt)
    decided = decide(job, pod(job, "Worker").failed(1, message=message), pod(job, "Worker", 1).running(), now=600)
    assert (decided.status.attempt, decided.status.retries) == (1, 1)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_job_does_not_grow_once_a_replica_has_succeeded(recorded: bool) -> None:
    """A new pod would wait for members that have left."""
    builder = elastic(4, size=2)
    if recorded:
        builder = builder.counted("Worker", active=1, succeeded_indexes="0")
    known = observed(builder, pod(builder, "Worker").succeeded(), pod(builder, "Worker", 1).running())
    hold_size(known.kind, known.job, () if recorded else known.pods)
    assert known.job.count("Worker") == 2


def test_a_success_of_an_earlier_attempt_holds_nothing() -> None:
    """Those replicas run again."""
    builder = elastic(4, size=2).with_status(attempt=1)
    known = observed(builder, pod(builder, "Worker").succeeded())
    hold_size(known.kind, known.job, known.pods)
    assert known.job.count("Worker") == 4


def test_a_role_that_the_job_does_not_have_is_not_held() -> None:
    """A status may hold anything."""
    builder = elastic(2).with_status(attempt=0)
    known = observed(builder, pod(builder, "Worker").succeeded())
    del known.job.roles["Worker"]
    hold_size(known.kind, known.job, known.pods)
    assert known.job.count("Worker") == 0


@pytest.mark.parametrize(("size", "kept"), [(2**62, 4), (-(2**62), 3)])
@pytest.mark.parametrize("resize", ["InPlace", "Restart"])
def test_a_size_that_somebody_has_edited_costs_no_more_than_the_largest_job(size: int, kept: int, resize: str) -> None:
    """Also where an earlier size is kept: no pod is counted that the job can never have."""
    bounds = {"minReplicas": 1, "maxReplicas": 4, "resize": resize, "checkpoint": {}}
    builder = elastic(3, size=size).with_spec(elastic=bounds)
    for first in (pod(builder, "Worker").succeeded(), pod(builder, "Worker").running()):
        known = observed(builder, first, *running(builder, 1, 2, 3))
        hold_size(known.kind, known.job, known.pods)
        hold_until_saved(known.kind, known.job, known.pods)
        assert known.job.count("Worker") in (3, 4)
    assert known.job.count("Worker") == kept


def test_a_job_that_is_not_elastic_has_nothing_of_it() -> None:
    """Neither in the status nor in conditions."""
    job = torch_job("bert").workers(2).with_status(start_time=NOW)
    decided = decide(job, *running(job, 0, 1))
    assert decided.status.elastic is None
    assert find(decided.status.conditions, "Resizing") is None
    assert "elastic" not in msgspec.to_builtins(decided.status)


def test_a_gang_scheduler_of_the_administrator_is_not_for_elastic_jobs() -> None:
    """The number of pods in a group is fixed."""
    fixed, settings = torch_job("bert").workers(2), Settings(gang_scheduler="volcano", gang_schedulers={})
    assert chosen(fixed.kind.job(fixed.build()), settings) is not None
    job = elastic(2)
    assert chosen(job.kind.job(job.build()), settings) is None


def test_what_fixes_the_number_of_pods_is_refused() -> None:
    """A queue, whose quota is for a number of pods; and host ports, which every pod knows of the others."""
    job = elastic(2)
    assert "cannot wait in a queue" in (admission.refusal(job.kind.job(job.build())) or "")
    noted = job.with_metadata(annotations={"kubedl.io/network-mode": "host"}).build()
    assert "an elastic job cannot use the host network" in (unsupported(noted, job.kind) or "")
