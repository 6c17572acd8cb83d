"""A job whose objects are refused: what people read, how often it is tried, and that all others notice nothing."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.conditions import Condition, find, is_true
from kubedl.kube import codec
from kubedl.kube.errors import ApiError, error_from_response
from kubedl.kube.types.core import PODS
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.training import labels
from tests.training_builders import tf_job
from tests.unit.training.test_controller import JOB, Stage

ANSWERS = {
    "webhook": (500, "InternalError", 'failed calling webhook "a": connection refused'),
    "contention": (409, "Conflict", 'Operation cannot be fulfilled on resourcequotas "q"'),
    "busy": (429, "TooManyRequests", "the server has received too many requests"),
    "unavailable": (503, "ServiceUnavailable", "the server is unable to handle the request"),
    "quota": (403, "Forbidden", "exceeded quota: q"),
}


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as made:
        yield made


def answer(name: str, words: str = "") -> ApiError:
    """As the API server words it."""
    code, reason, message = ANSWERS[name]
    return error_from_response(code, codec.encode({"code": code, "reason": reason, "message": words or message}))


def refuse_pods(stage: Stage, name: str) -> None:
    """From now on every pod is refused, with words that differ each time."""

    def refused(resource: Resource[Any], _: object) -> ApiError | None:
        return answer(name, f"{ANSWERS[name][2]} ({stage.operator.client.refused})") if resource is PODS else None

    stage.operator.client.refusal = refused


def said(stage: Stage) -> Condition:
    """What the job says."""
    found = find(stage.job.status.conditions, "Blocked")
    assert found is not None
    return found


@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_the_server_says_is_in_the_status(runner: asyncio.Runner, name: str) -> None:
    """With the moment from which deadlines count, a state, and an event."""
    stage = Stage(JOB, runner)
    refuse_pods(stage, name)
    stage.look()
    status = stage.job.status
    assert status.start_time is not None
    assert (status.state, said(stage).status, said(stage).reason) == ("Created", "True", f"Pod{ANSWERS[name][1]}")
    assert ANSWERS[name][2] in said(stage).message
    assert status.replica_statuses["Worker"].active == 0
    assert [event for event in stage.operator.recorder.events if ANSWERS[name][2] in event]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_blocked_jobs_deadline_comes(runner: asyncio.Runner, name: str) -> None:
    """The time counts from its start, whether it has pods or not."""
    stage = Stage(JOB.with_spec(activeDeadlineSeconds=5), runner)
    refuse_pods(stage, name)
    stage.look()
    stage.wait(6)
    stage.look()
    assert stage.job.status.reason == "DeadlineExceeded"


def test_a_blocked_job_is_tried_once_a_minute(runner: asyncio.Runner) -> None:
    """After five attempts; neither its own status nor what happens to its pods is a reason to try earlier."""
    stage = Stage(tf_job("mnist").workers(1).scope("Replica"), runner)
    refuse_pods(stage, "quota")
    attempts = []
    for second in range(600):
        before = stage.operator.client.refused
        for _ in range(3):  # its own writes come back through the watch
            stage.look()
        attempts += [second] * (stage.operator.client.refused - before)
        stage.wait(1)
    assert attempts[:3] == [0, attempts[1], attempts[2]]
    assert attempts[1] <= 3
    late = attempts[5:]
    assert late
    assert all(sum(start <= at < start + 60 for at in late) <= 1 for start in late)


def test_words_that_change_are_not_written_each_time(runner: asyncio.Runner) -> None:
    """A webhook puts the number of the request into them: what is read stays for a minute."""
    stage = Stage(JOB, runner)
    refuse_pods(stage, "webhook")
    stage.look()
    first = said(stage).message
    for _ in range(20):
        stage.wait(2)
        stage.look()
    assert stage.operator.client.refused > 2
    assert said(stage).message == first
    stage.wait(200)
    stage.look()
    assert said(stage).message != first
    assert len(stage.operator.recorder.events) == 1


def test_an_edit_is_tried_at_once(runner: asyncio.Runner) -> None:
    """Somebody has mended the job."""
    stage = Stage(JOB, runner)
    refuse_pods(stage, "quota")
    stage.look()
    before = stage.operator.client.refused
    stage.world.set_suspend(True)
    stage.look()
    stage.world.set_suspend(False)
    stage.look()
    stage.look()
    assert stage.operator.client.refused > before


def test_a_pod_that_lost_its_label_stops_nothing(runner: asyncio.Runner) -> None:
    """The job names it, replaces others, and counts what becomes of it; nobody makes a second pod of that name."""
    stage = Stage(JOB.with_spec(successPolicy="AllWorkers"), runner)
    stage.look()
    stage.run_pods()
    hidden, other = sorted(stage.world.pods(), key=lambda pod: pod.metadata.name)
    bare = {name: value for name, value in hidden.metadata.labels.items() if name != labels.JOB_NAME}
    stage.world.api.put(PODS, with_metadata(hidden, labels=bare))
    stage.operator.deliver_all()
    stage.operator.pods.remove(hidden.metadata.key, with_metadata(hidden, labels=bare))
    stage.operator.reconcile(runner)
    assert (said(stage).status, said(stage).reason) == ("True", "PodHidden")
    assert hidden.metadata.name in said(stage).message
    assert [event for event in stage.operator.recorder.events if "PodHidden" in event]
    assert stage.operator.due is not None
    asked = stage.operator.client.reads
    stage.world.api.delete(PODS, other.metadata.key, other.metadata.uid, 0)
    for _ in range(5):
        stage.look()
        stage.operator.pods.remove(hidden.metadata.key)
    assert {pod.metadata.name for pod in stage.world.pods()} == {hidden.metadata.name, other.metadata.name}
    assert stage.job.status.replica_statuses["Worker"].attempts == {"1": 1}
    assert stage.operator.client.reads - asked <= 3


def test_two_thousand_missing_pods_are_asked_for_side_by_side(runner: asyncio.Runner) -> None:
    """Not one after the other, and not all at once."""
    stage = Stage(tf_job("mnist").workers(200).scope("Replica"), runner)
    stage.look()
    for pod in stage.world.pods():
        stage.world.api.drop(PODS, pod.metadata.key)
    stage.restart()
    at_once, most, plain = 0, 0, stage.operator.client.get

    async def counted(resource: Resource[Any], key: ObjectKey) -> Any:  # noqa: ANN401 - as the client does it
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return await plain(resource, key)

    stage.operator.client.get = counted  # type: ignore[method-assign]
    stage.look()
    assert most == 32
    assert not is_true(stage.job.status.conditions, "Blocked")


def test_after_a_refusal_one_pod_is_tried_before_all_others(runner: asyncio.Runner) -> None:
    """A quota is not run into sixteen times with each attempt; when it has room, all is made at once."""
    stage = Stage(tf_job("mnist").workers(40), runner)
    refuse_pods(stage, "quota")
    stage.look()
    first = stage.operator.client.refused
    for attempt in range(1, 4):
        stage.wait(200)
        stage.look()
        assert stage.operator.client.refused == first + attempt
    stage.operator.client.refusal = lambda *_: None
    stage.wait(200)
    assert sum(write.startswith("create pods") for write in stage.look()) == 40


def test_nothing_is_tried_or_written_in_a_namespace_that_is_being_deleted(runner: asyncio.Runner) -> None:
    """After the first refusal, which is no news for anybody; a job of the next namespace of that name is tried."""
    stage = Stage(JOB, runner)
    cause = {"reason": "NamespaceTerminating", "field": "metadata.namespace"}
    body = {"code": 403, "reason": "Forbidden", "message": "is being terminated", "details": {"causes": [cause]}}
    stage.operator.client.refusal = lambda *_: error_from_response(403, codec.encode(body))
    stage.look()
    assert find(stage.job.status.conditions, "Blocked") is None
    first, told = stage.operator.client.refused, len(stage.operator.recorder.events)
    for _ in range(30):
        stage.wait(1)
        assert stage.look() == []
    assert (stage.operator.client.refused, len(stage.operator.recorder.events)) == (first, told)
    assert stage.operator.due is not None
    holds, now = stage.operator.controller._backoff, stage.world.api.now  # noqa: SLF001
    assert holds.terminating_until(stage.job.metadata, now) is not None
    assert holds.terminating_until(with_metadata(stage.job, creation_timestamp=now).metadata, now) is None
