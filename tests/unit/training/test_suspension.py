"""suspend and resume."""

from kubedl.api.conditions import is_true
from kubedl.training.plan import Plan
from tests.training_builders import NOW, JobBuilder, decide, pod, tf_job, torch_job

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


GANG = torch_job().master().workers(2).with_spec(successPolicy="AllReplicas").with_status(start_time=NOW)
RESUMED_GANG = GANG.said("Suspended").with_status(start_time=None)


def test_a_collective_of_which_some_had_succeeded_is_resumed_as_a_new_attempt() -> None:
    """The others would wait at the rendezvous for a master that never comes."""
    job = RESUMED_GANG.counted("Master", succeeded=1, succeeded_indexes="0")
    resumed = decide(job, pod(job, "Master").succeeded())
    assert (resumed.status.attempt, resumed.creations) == (1, ())
    assert [status.succeeded_indexes for status in resumed.status.replica_statuses.values()] == ["", ""]
    assert not is_true(resumed.status.conditions, "Suspended")
    going = written(job, resumed)
    cleaned = decide(going, pod(job, "Master").succeeded())
    assert [one.pod.metadata.name for one in cleaned.deletions] == ["resnet-master-0"]
    begun = decide(written(job, cleaned))
    assert [(one.replica.role, one.attempt) for one in begun.creations] == [("Master", 1)]


def test_a_collective_is_resumed_in_the_same_attempt_where_nobody_was_done() -> None:
    """Nothing is restarted that had not begun to end."""
    assert decide(RESUMED_GANG).status.attempt == 0


def test_a_resumed_job_that_is_done_is_not_started_again() -> None:
    """All had succeeded in the moment of its suspension."""
    job = RESUMED_GANG.counted("Master", succeeded_indexes="0").counted("Worker", succeeded_indexes="0-1")
    resumed = decide(job)
    assert resumed.status.attempt == 0
    assert decide(written(job, resumed)).status.state == "Succeeded"


def test_a_failure_from_before_the_suspension_is_judged_after_the_resume() -> None:
    """A new attempt would make it unseen: here it is the job's, or counted."""
    job = RESUMED_GANG.counted("Master", succeeded=1, succeeded_indexes="0")
    for made, state, retries in (
        (pod(job, "Worker").failed(1), "Restarting", 1),  # under OnFailure, which is a Worker's policy
        (pod(job, "Worker").refused("Strange"), "Failed", 0),
    ):
        resumed = decide(job, made)
        assert resumed.status.attempt == 0
        decided = decide(written(job, resumed), made)
        assert (decided.status.state, decided.status.retries) == (state, retries)


def test_beside_parameter_servers_who_had_succeeded_stays_so() -> None:
    """They are on their own there."""
    job = RESUMED.counted("Worker", succeeded=1, succeeded_indexes="1")
    resumed = decide(job, pod(job, "Worker", 1).succeeded())
    assert resumed.status.replica_statuses["Worker"].succeeded_indexes == "1"
    assert resumed.status.attempt == 0


def written(job: JobBuilder, decided: Plan) -> JobBuilder:
    """The job after the plan's status was written."""
    return job.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})
