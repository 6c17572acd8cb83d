"""How a TensorBoard is asked for, what is refused, and when it is there."""

import json
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube import codec
from kubedl.kube.types.core import Pod, PodStatus, Service
from kubedl.kube.types.meta import ObjectMeta
from kubedl.training.addons import registry
from kubedl.training.tensorboard import spec as tensorboard
from kubedl.training.tensorboard.plan import DIGEST, Observed, Plan, digest, plan
from kubedl.training.tensorboard.spec import TensorBoardSpec
from tests.hypothesis_settings import tried
from tests.training_builders import NOW, JobBuilder, after, tf_job

PLAIN = tf_job("mnist").workers(1)
JOB = PLAIN.with_spec(tensorBoard={"logDir": "/logs", "ttlSecondsAfterFinished": 60})
ENDED = JOB.said("Succeeded").with_status(completion_time=NOW)
BOARD = TensorBoardSpec("/logs", "", 60)
RUNNING = Pod(
    metadata=ObjectMeta(name="mnist-tensorboard-0", creation_timestamp=NOW, annotations={DIGEST: digest(BOARD)}),
    status=PodStatus(phase="Running"),
)
SERVICE = Service(metadata=ObjectMeta(name="mnist-tensorboard-0"))


def annotated(config: object) -> JobBuilder:
    """A job of the first KubeDL."""
    text = config if isinstance(config, str) else json.dumps(config)
    return PLAIN.with_metadata(annotations={tensorboard.ANNOTATION: text})


def words(job: JobBuilder) -> str:
    """Why the job is refused; empty if it is not."""
    found = registry.refusal(job.build())
    assert found is None or found[0] == "TensorBoardInvalid"
    return found[1] if found is not None else ""


def look(job: JobBuilder, pod: Pod | None = RUNNING, service: Service | None = SERVICE, now: float = 0) -> Plan:
    """What is decided then."""
    return plan(Observed(job.build(), pod, service, after(now)))


def going(pod: Pod, at: float) -> Pod:
    """Told to go, with time until then."""
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=after(at)))


def failed(pod: Pod) -> Pod:
    """Evicted, for example."""
    return msgspec.structs.replace(pod, status=PodStatus(phase="Failed"))


def test_both_ways_to_ask_mean_the_same() -> None:
    """A field, and the annotation of the first KubeDL."""
    config = {"logDir": "/logs", "ttlSecondsAfterJobFinished": 60, "image": "tb:1", "updateTimestamp": None}
    field = PLAIN.with_spec(tensorBoard={"logDir": "/logs", "ttlSecondsAfterFinished": 60, "image": "tb:1"})
    expected = TensorBoardSpec("/logs", "tb:1", 60)
    assert [tensorboard.requested_tensorboard(job.build()) for job in (field, annotated(config), PLAIN)] == [
        expected,
        expected,
        None,
    ]
    assert tensorboard.requested_tensorboard(annotated({"logDir": "s3://x"}).build()) == TensorBoardSpec(
        "s3://x", "", 0
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("{", "annotation kubedl.io/tensorboard-config: Input data was truncated"),
        ({}, "logDir is required"),
        ({"logDir": 5}, "Expected `str | null`, got `int` - at `$.logDir`"),
        ({"logDir": "/logs", "port": 1}, "unknown field `port`"),
        ({"logDir": "/logs", "ingressSpec": {"host": "x"}}, "ingressSpec is not supported"),
        ({"logDir": "/logs", "ttlSecondsAfterJobFinished": -1}, "a number of seconds"),
        ({"logDir": "/logs", "updateTimestamp": "now"}, "at `$.updateTimestamp`"),
        ({"logDir": "/logs", "updateTimestamp": "2026-01-01T00:00:00"}, "at `$.updateTimestamp`"),
    ],
)
def test_what_cannot_be_honoured_is_refused(config: object, expected: str) -> None:
    """With the place and what to do."""
    assert expected in words(annotated(config))


def test_asked_for_twice_is_refused() -> None:
    """Nobody could say which holds."""
    assert "requested twice" in words(annotated({"logDir": "/x"}).with_spec(tensorBoard={"logDir": "/y"}))


@pytest.mark.parametrize(("length", "refused"), [(49, False), (50, True)])
def test_its_service_needs_a_name(length: int, refused: bool) -> None:
    """The job's name is part of it."""
    job = replace(annotated({"logDir": "/logs"}), name="a" * length)
    assert ("may have at most 49 characters" in words(job)) == refused


def test_it_is_there_while_the_job_runs() -> None:
    """From the start."""
    assert look(JOB, None, None) == Plan(BOARD, create_pod=True, create_service=True)
    assert look(JOB) == Plan(BOARD)
    assert look(JOB, RUNNING, None) == Plan(BOARD, create_service=True)


@pytest.mark.parametrize(("now", "stays"), [(0, True), (59, True), (60, False), (99, False)])
def test_it_goes_by_timer_when_its_lifetime_is_over(now: float, stays: bool) -> None:
    """Counted from the end of the job, which is in its status: an operator that starts later knows it too."""
    expected = Plan(BOARD, wake_at=after(60)) if stays else Plan(delete_pod=True, delete_service=True)
    assert look(ENDED, now=now) == expected


def test_without_a_lifetime_it_goes_with_the_end() -> None:
    """As it did in the first KubeDL."""
    job = PLAIN.with_spec(tensorBoard={"logDir": "/logs"}).said("Failed").with_status(completion_time=NOW)
    assert look(job) == Plan(delete_pod=True, delete_service=True)
    assert look(job, None, None) == Plan()


def test_a_wish_after_the_end_lives_as_long() -> None:
    """Somebody wants to look at the logs of a job that ended yesterday."""
    config = {"logDir": "/logs", "ttlSecondsAfterJobFinished": 60, "updateTimestamp": codec.plain(after(1000))}
    job = annotated(config).said("Succeeded").with_status(completion_time=NOW)
    tensorboard = replace(BOARD, asked_at=after(1000))
    assert look(job, None, None, now=1010) == Plan(
        tensorboard, create_pod=True, create_service=True, wake_at=after(1060)
    )
    assert look(job, now=1060) == Plan(delete_pod=True, delete_service=True)


def test_nobody_asks_for_it_any_more() -> None:
    """The annotation was removed, or the job is suspended, or being deleted."""
    assert look(PLAIN) == Plan(delete_pod=True, delete_service=True)
    assert look(JOB.suspended()) == Plan(delete_pod=True, delete_service=True)
    assert look(JOB.with_metadata(deletionTimestamp="2026-01-01T12:00:00Z")) == Plan()


def test_an_edit_that_cannot_be_understood_is_told_and_leaves_none() -> None:
    """The job itself goes on."""
    decided = look(annotated("{"))
    assert (decided.delete_pod, decided.delete_service, "truncated" in decided.complaint) == (True, True, True)


def test_another_wish_makes_another_pod() -> None:
    """One that only lives longer does not."""
    other = PLAIN.with_spec(tensorBoard={"logDir": "/elsewhere"})
    assert look(other).delete_pod
    longer = PLAIN.with_spec(tensorBoard={"logDir": "/logs", "ttlSecondsAfterFinished": 600})
    assert not look(longer).delete_pod


def test_a_pod_that_ended_is_replaced_after_a_pause() -> None:
    """One that ends at once is not made without end."""
    assert look(JOB, failed(RUNNING), now=29) == Plan(BOARD, wake_at=after(30))
    assert look(JOB, failed(RUNNING), now=30) == Plan(BOARD, delete_pod=True)


def test_a_pod_that_does_not_go_is_taken_by_force() -> None:
    """Its node is lost; the name is needed, or nobody needs it any more."""
    assert look(JOB, going(RUNNING, 10), now=69) == Plan(BOARD, wake_at=after(70))
    assert look(JOB, going(RUNNING, 10), now=70) == Plan(BOARD, delete_pod=True, force=True)
    assert look(PLAIN, going(RUNNING, 10), None, now=70) == Plan(delete_pod=True, force=True)


@given(
    text=st.text(max_size=40)
    | st.dictionaries(
        st.sampled_from(["logDir", "image", "ttlSecondsAfterJobFinished", "ingressSpec", "updateTimestamp", "x"]),
        st.none()
        | st.integers()
        | st.text(max_size=5)
        | st.just("2026-01-01T00:00:00Z")
        | st.just("9999-12-31T23:59:59Z"),
    ).map(json.dumps),
    finished=st.booleans(),
)
@tried(200)
def test_no_annotation_is_an_error_of_ours(text: str, finished: bool) -> None:
    """Neither of the planner nor of the board's own loop."""
    job = annotated(text)
    words(job)
    look(job.said("Failed").with_status(completion_time=NOW) if finished else job)
