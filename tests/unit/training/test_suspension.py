"""suspend and resume."""

from kubedl.api.conditions import is_true
from tests.training_builders import NOW, decide, pod, tf_job

JOB = tf_job().ps(1).workers(2).with_status(start_time=NOW).said("Running")
SUSPENDED = JOB.suspended().said("Suspended").with_status(start_time=None)
RESUMED = JOB.said("Suspended").with_status(start_time=None)


def test_a_job_that_is_made_suspended_makes_nothing() -> None:
    """No pod and no Service."""
    decided = decide(tf_job().workers(1).suspended(), has_service=False)
    assert (decided.creations, decided.create_service) == ((), False)
    assert (decided.status.state, decided.status.start_time) == ("Suspended", None)


def test_suspending_deletes_what_runs_and_keeps_what_has_ended() -> None:
    """And its clock stands still."""
    decided = decide(JOB.suspended(), pod(JOB, "PS").running(), pod(JOB, "Worker").failed(1), pod(JOB, "Worker", 1))
    assert [one.pod.metadata.name for one in decided.deletions] == ["mnist-ps-0", "mnist-worker-1"]
    assert is_true(decided.status.conditions, "Suspended")
    assert not is_true(decided.status.conditions, "Running")
    assert decided.status.start_time is None
    assert [event.reason for event in decided.events] == ["JobSuspended"]


def test_who_had_succeeded_stays_so() -> None:
    """Its pod may go meanwhile."""
    decided = decide(JOB.suspended(), pod(JOB, "Worker", 1).succeeded())
    assert decided.status.replica_statuses["Worker"].succeeded_indexes == "1"


def test_whoever_ends_well_because_it_was_told_to_go_has_not_succeeded() -> None:
    """A training that saves its state and exits with 0 goes on after the resume."""
    decided = decide(
        SUSPENDED, pod(JOB, "PS").succeeded().going(30), deleted=[pod(JOB, "Worker").succeeded().going(30)]
    )
    assert [status.succeeded_indexes for status in decided.status.replica_statuses.values()] == ["", ""]


def test_it_is_resumed_only_when_the_last_one_is_gone() -> None:
    """Also one that has ended but is not removed yet: no two runs mix."""
    for leaving in (pod(JOB, "PS").running().going(30), pod(JOB, "PS").failed(143).going(30)):
        waiting = decide(RESUMED, leaving)
        assert is_true(waiting.status.conditions, "Suspended")
        assert waiting.creations == ()


def test_a_resumed_job_starts_anew_and_its_clock_too() -> None:
    """First it says so, then it starts."""
    decided = decide(RESUMED, now=50)
    assert not is_true(decided.status.conditions, "Suspended")
    assert [event.reason for event in decided.events] == ["JobResumed"]
    fields = {name: getattr(decided.status, name) for name in decided.status.__struct_fields__}
    started = decide(JOB.with_status(**fields), now=51)
    assert [one.replica.role for one in started.creations] == ["PS"]
    assert started.status.start_time is not None
    assert started.status.start_time > NOW


def test_deletions_by_the_suspension_count_as_nothing_afterwards() -> None:
    """What is remembered of deleted pods is forgotten with them."""
    gone = pod(JOB, "Worker").running().going(30)
    decided = decide(SUSPENDED, deleted=[gone])
    assert decided.forget == (gone.build().metadata.uid,)
    assert decided.status.retries == 0


def test_a_suspended_job_whose_node_is_lost_is_looked_at_again() -> None:
    """Nobody else would: the pod is hurried when the node has had its time."""
    stuck = pod(JOB, "PS").running().going(30).on("node1")
    early = decide(SUSPENDED, stuck, lost_nodes={"node1": 0}, now=10)
    assert (early.deletions, early.wake_at is not None) == ((), True)
    late = decide(SUSPENDED, stuck, lost_nodes={"node1": 0}, now=60)
    assert [one.force for one in late.deletions] == [True]
