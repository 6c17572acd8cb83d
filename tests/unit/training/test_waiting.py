"""What a job says while it waits: the first cause, bounded texts, and few writes."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.api.conditions import Condition, find
from kubedl.kube.types.core import PODS, ContainerState, ContainerStatus, PodStatus, Waiting
from kubedl.training.addons.git_sync_status import CONTAINER
from kubedl.training.formatting import LONGEST_LINE, headline
from kubedl.training.plan import Plan
from kubedl.training.waiting import LONGEST, PAUSE, PODS_READY
from tests.hypothesis_settings import tried
from tests.training_builders import NOW, JobBuilder, PodBuilder, decide, mpi_job, pod, tf_job
from tests.unit.training.api_model import ApiModel, with_status
from tests.unit.training.operator_model import OperatorModel
from tests.unit.training.test_pod_diagnostics import statuses
from tests.unit.training.world_model import World

JOB = tf_job().workers(3).scope("Replica")
NOT_FOUND = 'Back-off pulling image "r/x:1": r/x:1: not found'
NO_NODE = "0/2 nodes are available: 2 Insufficient cpu."


def said(decided: Plan) -> Condition:
    """What the job waits for."""
    found = find(decided.status.conditions, PODS_READY)
    assert found is not None
    return found


def written(job: JobBuilder, decided: Plan) -> JobBuilder:
    """The job after the plan's status was written."""
    return job.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})


def stuck(index: int, reason: str, message: str, job: JobBuilder = JOB) -> PodBuilder:
    """A worker whose container waits."""
    made = pod(job, "Worker", index).on("node1")
    status = ContainerStatus(name="tensorflow", state=ContainerState(waiting=Waiting(reason=reason, message=message)))
    return made._status(container_statuses=(status,))  # noqa: SLF001 - a word that only these tests need


def unschedulable(index: int, message: str = NO_NODE, job: JobBuilder = JOB) -> PodBuilder:
    """A worker that no node takes."""
    return pod(job, "Worker", index).condition("PodScheduled", "False", "Unschedulable", message)


def test_how_many_pods_which_and_why_since_when() -> None:
    """In the condition; and in one line for `kubectl get`."""
    decided = decide(JOB, pod(JOB, "Worker", 0).running(), *(stuck(one, "ErrImagePull", NOT_FOUND) for one in (1, 2)))
    condition = said(decided)
    assert (condition.status, condition.reason) == ("False", "ImagePullBackOff")
    assert condition.message == (
        f"2 of 3 pods are not running; mnist-worker-1 and 1 more: ImagePullBackOff: {NOT_FOUND} "
        "(since 2026-01-01T12:00:00Z)"
    )
    assert (decided.status.state, decided.status.reason) == ("Created", "ImagePullBackOff")
    assert decided.status.message == f"ImagePullBackOff: {NOT_FOUND}"
    assert (decided.status.ready, decided.status.restarts) == ("1/3", 0)


def test_the_cause_that_takes_effect_first_is_told() -> None:
    """A pod without a node has no image yet."""
    decided = decide(JOB, stuck(0, "ErrImagePull", NOT_FOUND), unschedulable(1), stuck(2, "CreateContainerError", "x"))
    assert said(decided).reason == "Unschedulable"
    assert said(decided).message.startswith("3 of 3 pods are not running; mnist-worker-1: Unschedulable: 0/2 nodes")


def test_a_job_that_only_starts_says_so_and_then_that_its_pods_are_ready() -> None:
    """Each in a status that is written anyhow."""
    starting = decide(JOB)
    assert (said(starting).reason, said(starting).message) == ("WaitingForPods", "3 of 3 pods are not running")
    assert starting.status.message == "WaitingForPods"
    running = decide(written(JOB, starting), *(pod(JOB, "Worker", index).running() for index in range(3)))
    assert (said(running).status, said(running).message) == ("True", "all 3 pods are ready")
    assert (running.status.state, running.status.reason, running.status.message) == ("Running", "JobRunning", "")


def test_a_job_from_before_is_not_written_for_the_condition() -> None:
    """An upgrade of the operator among many running jobs costs no writes."""
    job = JOB.with_status(start_time=NOW).said("Running")
    pods = [pod(JOB, "Worker", index).running() for index in range(3)]
    decided = decide(job, *pods)
    assert find(decided.status.conditions, PODS_READY) is None
    assert decided.status.restarts is None


def test_a_job_that_never_waited_says_that_its_pods_are_ready() -> None:
    """As one whose operator died before the first status, and came back when all pods ran."""
    decided = decide(JOB, *(pod(JOB, "Worker", index).running() for index in range(3)))
    assert (said(decided).status, said(decided).message) == ("True", "all 3 pods are ready")


def test_a_role_that_waits_names_both_roles_and_why_the_other_one_does_not_run() -> None:
    """The cause is the other role's; without one, the wait itself is."""
    job = tf_job().ps(1).workers(1)
    waiting = decide(job)
    assert said(waiting).reason == "WaitingForRole"
    assert "Worker waits for PS to be Running (dependsOn; 0 of 1 so far)" in said(waiting).message
    later = tf_job().ps(1).workers(1, dependsOn=[{"upstream": "PS", "phase": "Ready"}])
    unready = decide(later, pod(later, "PS").running(ready=False))
    assert said(unready).reason == "WaitingForRole"
    first = pod(job, "PS").condition("PodScheduled", "False", "Unschedulable", NO_NODE)
    assert said(decide(job, first)).reason == "Unschedulable"


def test_others_wait_for_the_commit_that_the_first_fetches() -> None:
    """One alone is created until the commit is known."""
    job = tf_job().workers(3).with_spec(codeSource={"repository": "https://git.example/a.git"})
    fetching = pod(job, "Worker").on("node1")._status(init_container_statuses=(ContainerStatus(name=CONTAINER),))  # noqa: SLF001
    decided = decide(job, fetching)
    assert said(decided).reason == "WaitingForCode"
    assert "the other pods wait for the commit that mnist-worker-0 fetches" in said(decided).message


def test_a_running_job_whose_pod_waits_again_says_why() -> None:
    """After a restart in place, or with a probe that fails."""
    job = JOB.said("Running").said(PODS_READY).with_status(state="Running", start_time=NOW)
    others = [pod(JOB, "Worker", index).running() for index in (0, 1)]
    crashed = decide(job, *others, stuck(2, "CrashLoopBackOff", "back-off 10s").restarted(2))
    assert (crashed.status.state, said(crashed).reason, crashed.status.restarts) == ("Running", "CrashLoopBackOff", 2)
    unready = decide(job, *others, pod(JOB, "Worker", 2).running(ready=False))
    assert said(unready).reason == "PodsNotReady"
    assert said(unready).message.startswith("1 of 3 pods is not ready; mnist-worker-2: PodsNotReady")


def test_after_a_failure_its_text_is_what_the_job_says_until_a_pod_says_more() -> None:
    """Replacements start and nobody complains."""
    first = decide(JOB, *(pod(JOB, "Worker", index).running() for index in (1, 2)), pod(JOB, "Worker", 0).failed(137))
    assert said(first).reason == "ReplicaReplaced"
    assert "mnist-worker-0 failed with exit code 137" in said(first).message
    assert first.status.restarts == 1


def test_an_ended_or_suspended_job_has_no_ready_pods() -> None:
    """With the reason of that."""
    job = JOB.said(PODS_READY).with_status(start_time=NOW)
    done = decide(job, *(pod(JOB, "Worker", index).succeeded() for index in range(3)), now=41)
    assert (said(done).status, said(done).reason) == ("False", "JobSucceeded")
    assert done.status.message == "3 of 3 replicas succeeded after 41 s"
    assert said(decide(job.suspended())).reason == "JobSuspended"


@pytest.mark.parametrize("scope", ["Job", "Replica"])
def test_the_failure_that_was_one_too_many_is_told(scope: str) -> None:
    """The replica, its exit code and the kubelet's reason."""
    job = tf_job().workers(2).scope(scope).with_spec(backoffLimit=0)
    dead = pod(job, "Worker", 1).failed(137, why="OOMKilled", at=-99)
    decided = decide(job, pod(job, "Worker", 0).failed(137, at=-99), dead)
    failed = find(decided.status.conditions, "Failed")
    assert failed is not None
    assert failed.reason == "BackoffLimitExceeded"
    assert failed.message == "backoffLimit (0) reached: mnist-worker-0 failed with exit code 137"
    assert decided.status.message == f"BackoffLimitExceeded: {failed.message}"


def test_restarts_by_the_kubelet_that_were_too_many_are_told() -> None:
    """Whose, how many, and after which exit code."""
    job = tf_job().workers(1, restartPolicy="OnFailure").scope("Replica").with_spec(backoffLimit=2)
    decided = decide(job, stuck(0, "CrashLoopBackOff", "", job).restarted(3))
    failed = find(decided.status.conditions, "Failed")
    assert failed is not None
    assert failed.message == "backoffLimit (2) reached: mnist-worker-0 was restarted 3 times by its kubelet"


def test_a_limit_that_was_used_up_by_replicas_that_are_gone_ends_the_job() -> None:
    """No replica is asked for any more, so none can be named."""
    decided = decide(mpi_job().workers(0).with_spec(backoffLimit=0).with_status(retries=1))
    failed = find(decided.status.conditions, "Failed")
    assert failed is not None
    assert failed.message == "backoffLimit (0) reached: no more failures are allowed"


def test_a_deadline_names_its_field() -> None:
    """And how many pods were ready when it passed."""
    job = JOB.with_spec(activeDeadlineSeconds=5).with_status(start_time=NOW, ready="1/3")
    failed = find(decide(job, unschedulable(0), now=9).status.conditions, "Failed")
    assert failed is not None
    assert failed.message == "activeDeadlineSeconds (5) exceeded at 2026-01-01T12:00:05Z; 1/3 pods were ready"


@given(status=statuses, message=st.text(max_size=4000))
@tried(100)
def test_any_status_of_a_pod_makes_a_bounded_text(status: PodStatus, message: str) -> None:
    """One line, whatever the kubelet or a container wrote."""
    broken = pod(JOB, "Worker", 0)._status(  # noqa: SLF001 - as above
        **{name: getattr(status, name) for name in status.__struct_fields__}
    )
    decided = decide(JOB, broken, unschedulable(1, message or "?"), pod(JOB, "Worker", 2))
    found = find(decided.status.conditions, PODS_READY)
    if found is not None and decided.status.completion_time is None:
        assert len(found.message) <= LONGEST
        assert len(decided.status.message) <= LONGEST_LINE


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as made:
        yield made


class Stage:
    """A world with one operator that looks whenever it has a reason, second by second."""

    def __init__(self, runner: asyncio.Runner, job: JobBuilder = JOB) -> None:
        self.world = World(job.kind, job.build(), ApiModel(NOW))
        self.writes = 0
        self._runner = runner
        self.operator = OperatorModel(self.world.api, job.kind, job.build().metadata.key, self._write)

    def look(self) -> Condition:
        for _ in range(5):
            self.operator.deliver_all()
            if self.operator.has_reason():
                self.operator.reconcile(self._runner)
        assert self.world.job is not None
        found = find(self.world.job.status.conditions, PODS_READY)
        assert found is not None
        return found

    def pods_say(self, reason: str, message: str) -> None:
        state = ContainerState(waiting=Waiting(reason=reason, message=message))
        for made in self.world.pods():
            status = ContainerStatus(name="tensorflow", state=state)
            self.world.api.put(PODS, with_status(made, container_statuses=(status,)))

    def pass_time(self, seconds: float) -> None:
        self.world.api.now += timedelta(seconds=seconds)

    def _write(self, _: object, verb: str, *_rest: object) -> None:
        self.writes += verb == "patch"


def bound(stage: Stage) -> None:
    """All pods have a node."""
    stage.look()
    while stage.world.bind(0, 0):
        pass


@given(said=st.lists(st.sampled_from(["ErrImagePull", "ImagePullBackOff", "CreateContainerError", ""]), max_size=30))
@tried(30)
def test_a_pod_that_changes_its_mind_every_second_costs_few_writes(said: list[str]) -> None:
    """One per pause at most, whatever it says, and the last word is told in the end."""
    with asyncio.Runner() as runner:
        stage = Stage(runner)
        bound(stage)
        stage.writes = 0
        for number, reason in enumerate(said):
            stage.pods_say(reason, f"message {number} {reason}")
            stage.look()
            stage.pass_time(1)
        assert stage.writes <= 2 + len(said) / PAUSE.total_seconds()
        stage.pods_say("InvalidImageName", "the last word")
        stage.look()
        stage.pass_time(PAUSE.total_seconds())
        assert stage.look().reason == "InvalidImageName"


def test_pods_that_wait_from_the_start_are_told_in_the_first_status(runner: asyncio.Runner) -> None:
    """The server's answers to their creation say so; a second write would be one more for each job."""
    gated = JOB.template()
    gated["spec"]["schedulingGates"] = [{"name": "example.com/queue"}]
    stage = Stage(runner, tf_job().workers(3, template=gated))
    condition = stage.look()
    assert (condition.status, condition.reason) == ("False", "SchedulingGated")
    assert condition.message == (
        "3 of 3 pods are not running; mnist-worker-0 and 2 more: SchedulingGated: "
        "Scheduling is blocked due to non-empty scheduling gates"
    )
    assert stage.world.job is not None
    assert stage.world.job.status.replica_statuses["Worker"].active == 3
    assert stage.world.job.status.message.startswith("SchedulingGated: Scheduling is blocked")
    assert stage.writes == 1


def test_numbers_alone_are_not_written_for_a_while(runner: asyncio.Runner) -> None:
    """A scheduler counts nodes all day."""
    stage = Stage(runner)
    bound(stage)
    stage.pods_say("ErrImagePull", "tried 1 times")
    before = stage.look()
    stage.writes = 0
    for number in range(20):
        stage.pods_say("ErrImagePull", f"tried {number} times")
        stage.look()
        stage.pass_time(10)
    assert (stage.writes, stage.look()) == (0, before)
    stage.pass_time(300)
    assert "tried 19 times" in stage.look().message


def test_events_are_read_for_one_pod_and_more_and_more_seldom(runner: asyncio.Runner) -> None:
    """A volume that cannot be mounted is told nowhere else."""
    stage = Stage(runner)
    bound(stage)
    stage.pods_say("ContainerCreating", "")
    stage.look()
    assert stage.operator.client.questions == 0
    first = stage.world.pods()[0]
    event = {"type": "Warning", "reason": "FailedMount", "message": 'configmap "data" not found'}
    stage.operator.client.events = [
        {**event, "lastTimestamp": "2026-01-01T12:00:01Z", "involvedObject": {"uid": first.metadata.uid}}
    ]
    stage.pass_time(5)
    condition = stage.look()
    assert condition.reason == "FailedMount"
    assert 'mnist-worker-0: FailedMount: configmap "data" not found' in condition.message
    for _ in range(600):
        stage.pass_time(1)
        stage.look()
    assert stage.operator.client.questions <= 9
    while stage.world.start(0):
        pass
    assert stage.look().status == "True"


def test_what_the_api_server_refuses_is_what_the_job_waits_for(runner: asyncio.Runner) -> None:
    """In its own words, in the condition and in the line; and no longer when it is accepted."""
    stage = Stage(runner)
    stage.operator.deliver_all()
    stage.operator.reconcile(runner, (1, "refused"))
    assert stage.world.job is not None
    status = stage.world.job.status
    condition = find(status.conditions, PODS_READY)
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "PodForbidden")
    assert condition.message == "exceeded quota (since 2026-01-01T12:00:00Z)"
    assert (status.reason, status.message) == ("PodForbidden", "PodForbidden: exceeded quota")
    stage.pass_time(60)  # a refusal is not tried again at once
    stage.look()
    while stage.world.bind(0, 0) or stage.world.start(0):
        pass
    assert stage.look().status == "True"


@pytest.mark.parametrize(
    ("reason", "words", "line"),
    [
        ("PodForbidden", 'pods "a" is forbidden: exceeded quota: none', "PodForbidden: exceeded quota: none"),
        ("PodForbidden", "exceeded quota", "PodForbidden: exceeded quota"),
        (
            "PodInternalError",
            'Internal error occurred: failed calling webhook "a.b": failed to call webhook: Post "https://c/": refused',
            'PodInternalError: failed calling webhook "a.b": Post "https://c/": refused',
        ),
        (
            "ImagePullBackOff",
            "rpc error: code = NotFound desc = failed to pull a: not found",
            "ImagePullBackOff: failed to pull a: not found",
        ),
        (
            "Unschedulable",
            "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes.",
            "Unschedulable: 0/2 nodes are available: 2 Insufficient cpu.",
        ),
        (
            "Unschedulable",
            'persistentvolumeclaim "a" not found. not found',
            'Unschedulable: persistentvolumeclaim "a" not found.',
        ),
        ("FailedMount", 'configmap "a" not found', 'FailedMount: configmap "a" not found'),
    ],
)
def test_the_line_leaves_out_what_is_the_same_each_time(reason: str, words: str, line: str) -> None:
    """The cause keeps its own words."""
    assert headline(reason, words) == line


def test_a_scheduler_that_does_not_exist_is_noticed_without_any_event(runner: asyncio.Runner) -> None:
    """The operator looks again by itself."""
    stage = Stage(runner)
    stage.look()
    assert stage.operator.due is not None
    stage.world.api.now = stage.operator.due
    assert stage.look().reason == "NotScheduled"


def test_a_job_that_is_gone_or_runs_is_not_remembered(runner: asyncio.Runner) -> None:
    """The memory is of those that wait."""
    stage = Stage(runner)
    bound(stage)
    stage.pods_say("ErrImagePull", "x")
    stage.look()
    memory = stage.operator.controller._waiting_memory  # noqa: SLF001 - nobody else can see it
    assert len(memory) == 1
    stage.world.delete_job()
    stage.operator.deliver_all()
    assert len(memory) == 0
