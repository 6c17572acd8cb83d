"""Why one pod does not run: the words of the scheduler and the kubelet, and which of them counts."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube.types.core import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Terminated,
    Waiting,
)
from kubedl.kube.types.meta import ObjectMeta
from kubedl.training.pod_diagnostics import ASK_AFTER, UNSEEN, KubeletEvent, Rank, asks, diagnose
from tests.hypothesis_settings import tried
from tests.training_builders import NOW, after

NOT_FOUND = 'Back-off pulling image "r/x:1": ErrImagePull: r/x:1: not found'
NO_NODE = "0/2 nodes are available: 2 Insufficient cpu."


def waiting(reason: str, message: str = "", **fields: object) -> ContainerStatus:
    """A container that does not run."""
    state = ContainerState(waiting=Waiting(reason=reason, message=message))
    return ContainerStatus(name="main", state=state, **fields)  # type: ignore[arg-type]


def pending(
    *containers: ContainerStatus, init: tuple[ContainerStatus, ...] = (), conditions: tuple[PodCondition, ...] = ()
) -> Pod:
    """A pod on a node that does not run yet."""
    status = PodStatus(
        phase="Pending",
        start_time=NOW,
        conditions=conditions,
        container_statuses=containers or (waiting("ContainerCreating"),),
        init_container_statuses=init,
    )
    meta = ObjectMeta(name="a-worker-0", uid="one", creation_timestamp=NOW)
    return Pod(metadata=meta, spec=PodSpec(node_name="node1"), status=status)


def ended(code: int, reason: str = "Error", message: str = "") -> ContainerState:
    """How a container came to its end."""
    return ContainerState(terminated=Terminated(exit_code=code, reason=reason, message=message))


UNSCHEDULABLE = Pod(
    metadata=ObjectMeta(name="a-worker-0", creation_timestamp=NOW),
    status=PodStatus(
        phase="Pending",
        conditions=(
            PodCondition(
                type="PodScheduled",
                status="False",
                reason="Unschedulable",
                message=NO_NODE,
                last_transition_time=after(3),
            ),
        ),
    ),
)
CASES = {
    "no node": (UNSCHEDULABLE, Rank.SCHEDULING, "Unschedulable", NO_NODE),
    "pull": (pending(waiting("ErrImagePull", NOT_FOUND)), Rank.IMAGE, "ImagePullBackOff", NOT_FOUND),
    "pull again": (pending(waiting("ImagePullBackOff", NOT_FOUND)), Rank.IMAGE, "ImagePullBackOff", NOT_FOUND),
    "name": (pending(waiting("InvalidImageName", "bad")), Rank.IMAGE, "InvalidImageName", "bad"),
    "config": (
        pending(waiting("CreateContainerConfigError", 'configmap "settings" not found')),
        Rank.CONFIG,
        "CreateContainerConfigError",
        'container main: configmap "settings" not found',
    ),
    "a reason of tomorrow": (pending(waiting("NoQubits")), Rank.CONFIG, "NoQubits", "container main: NoQubits"),
    "init": (
        pending(init=(waiting("CrashLoopBackOff", "back-off 10s", last_state=ended(42, message="no route")),)),
        Rank.INIT,
        "InitContainerFailed",
        "init container main failed with exit code 42: no route",
    ),
    "init runs again": (
        pending(init=(ContainerStatus(name="main", last_state=ended(137, "OOMKilled")),)),
        Rank.INIT,
        "InitContainerFailed",
        "init container main failed with exit code 137 (OOMKilled)",
    ),
    "init has failed this moment": (
        pending(init=(ContainerStatus(name="main", state=ended(1)),)),
        Rank.INIT,
        "InitContainerFailed",
        "init container main failed with exit code 1",
    ),
    "crash": (
        pending(waiting("CrashLoopBackOff", "back-off 20s", last_state=ended(3))),
        Rank.CRASH,
        "CrashLoopBackOff",
        "container main failed with exit code 3",
    ),
    "a crash nobody tells of": (
        pending(waiting("CrashLoopBackOff")),
        Rank.CRASH,
        "CrashLoopBackOff",
        "container main does not stay up",
    ),
    "init runs": (
        pending(init=(ContainerStatus(name="fetch"),)),
        Rank.STARTING,
        "PodInitializing",
        "init container fetch is running",
    ),
    "starting": (pending(), Rank.STARTING, "", ""),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_cause_is_in_the_words_of_whoever_refused(case: tuple[Pod, Rank, str, str]) -> None:
    """With a reason that does not change while the kubelet tries again."""
    pod, *expected = case
    cause = diagnose(pod, NOW)
    assert cause is not None
    assert [cause.rank, cause.reason, cause.message] == expected


def test_since_when() -> None:
    """The scheduler's word is dated; a container's is not, so its pod's readiness is."""
    cause = diagnose(UNSCHEDULABLE, after(60))
    assert cause is not None
    assert cause.since == after(3)
    unready = PodCondition(type="Ready", status="False", last_transition_time=after(7))
    later = diagnose(pending(waiting("ErrImagePull"), conditions=(unready,)), after(60))
    assert later is not None
    assert later.since == after(7)


def test_a_ready_pod_and_one_that_has_ended_have_no_cause() -> None:
    """What an ended one means is for repair to judge."""
    ready = PodCondition(type="Ready", status="True")
    assert diagnose(pending(conditions=(ready,)), NOW) is None
    assert diagnose(Pod(status=PodStatus(phase="Failed")), NOW) is None


def test_a_running_pod_that_is_not_ready() -> None:
    """In the kubelet's words."""
    said = PodCondition(type="Ready", status="False", reason="ContainersNotReady", message="unready status: [main]")
    cause = diagnose(Pod(status=PodStatus(phase="Running", conditions=(said,))), NOW)
    assert cause is not None
    assert (cause.rank, cause.message) == (Rank.UNREADY, "unready status: [main]")


def test_a_sidecar_that_runs_again_is_no_cause() -> None:
    """It is ready, whatever happened to it before."""
    sidecar = ContainerStatus(name="proxy", ready=True, last_state=ended(1))
    cause = diagnose(pending(init=(sidecar,)), NOW)
    assert cause is not None
    assert cause.reason == ""


def test_a_pod_that_no_scheduler_looks_at_says_so_after_a_while() -> None:
    """A schedulerName that nobody answers to."""
    pod = Pod(metadata=ObjectMeta(creation_timestamp=NOW), status=PodStatus(phase="Pending"))
    young, old = diagnose(pod, NOW), diagnose(pod, NOW + UNSEEN)
    assert young is not None
    assert old is not None
    assert (young.reason, old.reason) == ("", "NotScheduled")


def test_a_lost_node_and_a_pod_that_does_not_end() -> None:
    """Both keep a replica from running, and no container says so."""
    lost = diagnose(pending(), after(60), lost_since=after(20))
    assert lost is not None
    assert (lost.reason, lost.message, lost.since) == ("NodeLost", "node node1 is unreachable", after(20))
    meta = ObjectMeta(name="a-worker-0", deletion_timestamp=NOW)
    going = Pod(metadata=meta, status=PodStatus(phase="Running"))
    young, old = diagnose(going, NOW), diagnose(going, NOW + UNSEEN)
    assert young is not None
    assert old is not None
    assert (young.reason, old.reason) == ("", "PodTerminating")


def test_events_tell_of_volumes_and_pulls() -> None:
    """Only about this very pod, and only where its status is silent."""
    failed = KubeletEvent("one", NOW, "FailedMount", 'configmap "data" not found', is_warning=True)
    cause = diagnose(pending(), NOW, heard=failed)
    assert cause is not None
    assert (cause.rank, cause.reason, cause.message) == (Rank.VOLUME, "FailedMount", 'configmap "data" not found')
    pulling = diagnose(pending(), NOW, heard=KubeletEvent("one", NOW, "Pulling", 'Pulling image "x"'))
    assert pulling is not None
    assert (pulling.rank, pulling.reason) == (Rank.STARTING, "PullingImage")
    another = diagnose(pending(), NOW, heard=KubeletEvent("two", NOW, "FailedMount", "x", is_warning=True))
    assert another is not None
    assert another.reason == ""
    clear = diagnose(pending(waiting("ErrImagePull", NOT_FOUND)), NOW, heard=failed)
    assert clear is not None
    assert clear.reason == "ImagePullBackOff"


def test_events_are_asked_for_only_where_the_status_is_silent() -> None:
    """A pod on a node that has had a moment to start."""

    def asked(pod: Pod) -> datetime | None:
        cause = diagnose(pod, NOW)
        return asks(pod, cause) if cause is not None else None

    assert asked(pending()) == NOW + ASK_AFTER
    assert asked(pending(waiting("ErrImagePull"))) is None
    assert asked(UNSCHEDULABLE) is None
    assert asked(Pod(status=PodStatus(phase="Pending"))) is None


texts = st.text(max_size=40) | st.sampled_from(["CrashLoopBackOff", "ErrImagePull", "ContainerCreating", "x" * 5000])
moments = st.none() | st.sampled_from([NOW, after(-1000), after(1000)])
states = st.builds(
    ContainerState,
    terminated=st.none() | st.builds(Terminated, exit_code=st.integers(-1, 300), reason=texts, message=texts),
    waiting=st.none() | st.builds(Waiting, reason=texts, message=texts),
)
containers = st.builds(
    ContainerStatus, name=texts, ready=st.booleans(), restart_count=st.integers(0, 9), state=states, last_state=states
)
conditions = st.builds(
    PodCondition,
    type=st.sampled_from(["Ready", "PodScheduled", "Initialized", "?"]),
    status=st.sampled_from(["True", "False", "Unknown", ""]),
    reason=texts,
    message=texts,
    last_transition_time=moments,
)
statuses = st.builds(
    PodStatus,
    phase=st.sampled_from(["Pending", "Running", "Unknown", "", "Failed", "Succeeded"]),
    start_time=moments,
    conditions=st.lists(conditions, max_size=3).map(tuple),
    init_container_statuses=st.lists(containers, max_size=2).map(tuple),
    container_statuses=st.lists(containers, max_size=2).map(tuple),
)


@given(
    status=statuses,
    deleted=moments,
    created=moments,
    lost=moments,
    heard=st.none() | st.builds(KubeletEvent, pod=st.just("one"), again=st.just(NOW), reason=texts, message=texts),
)
@tried(150)
def test_any_status_has_an_answer(
    status: PodStatus,
    deleted: datetime | None,
    created: datetime | None,
    lost: datetime | None,
    heard: KubeletEvent | None,
) -> None:
    """Whatever a kubelet or somebody else wrote."""
    meta = ObjectMeta(name="a-worker-0", uid="one", creation_timestamp=created, deletion_timestamp=deleted)
    pod = Pod(metadata=meta, spec=PodSpec(node_name="node1"), status=status)
    cause = diagnose(pod, NOW, lost, heard)
    if cause is None:
        return
    assert len(cause.reason) <= 64
    moment = asks(pod, cause)
    assert moment is None or moment >= after(-1000) - timedelta(days=1) or created is None
