"""Events against a server that keeps them in a dictionary."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from kubedl.kube import codec
from kubedl.kube.client import Client
from kubedl.kube.errors import (
    AlreadyExistsError,
    ForbiddenError,
    NamespaceTerminatingError,
    NotFoundError,
    UnknownOutcomeError,
)
from kubedl.kube.types.core import Event
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.events import BURST, LONGEST, REFILL_SECONDS, TRIES, WAITING, EventRecorder, ObjectReference

JOB = ObjectReference("training.kubedl.io/v1alpha1", "TFJob", "team", "job", "uid-1")
pytestmark = pytest.mark.looptime(noop_cycles=0)


class Events(Client):
    """The server's events, as JSON, and the errors that it will give next."""

    def __init__(self) -> None:
        self.kept: dict[ObjectKey, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.errors: list[Exception | None] = []

    async def get(self, _: Any, key: ObjectKey) -> Any:  # noqa: ANN401
        self._call("get", key)
        return self._event(key)

    async def create(self, _: Any, namespace: str, body: Any) -> Any:  # noqa: ANN401
        key = ObjectKey(namespace, body["metadata"]["name"])
        lost = self._call("create", key)
        if key in self.kept:
            raise AlreadyExistsError(409, "AlreadyExists", "there")
        self.kept[key] = codec.plain(body)
        if lost:
            raise lost
        return self._event(key)

    async def patch(self, _: Any, key: ObjectKey, body: Any, *__: Any) -> Any:  # noqa: ANN401
        self._call("patch", key)
        if key not in self.kept:
            raise NotFoundError(404, "NotFound", "not there")
        self.kept[key] |= body
        return self._event(key)

    def _event(self, key: ObjectKey) -> Event:
        return Event(count=self.kept[key]["count"])

    def _call(self, verb: str, _: ObjectKey) -> Exception | None:
        self.calls.append(verb)
        error = self.errors.pop(0) if self.errors else None
        if isinstance(error, UnknownOutcomeError) and error.code == 504:
            return error  # it is done, and nobody is told
        if error is not None:
            raise error
        return None

    @property
    def counts(self) -> dict[str, int]:
        return {event["message"]: event["count"] for event in self.kept.values()}


class Recorded:
    """A recorder, its server, its clock, and how many events it has given up."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self.now = 0.0
        self.dropped = 0
        self.recorder = EventRecorder(events, instance="pod-1", dropped=self._drop, clock=lambda: self.now)

    def say(self, message: str, *, about: ObjectReference = JOB, warning: bool = False, reason: str = "Reason") -> None:
        self.recorder.event(about, "Warning" if warning else "Normal", reason, message)

    async def sent(self) -> None:
        """Virtual time passes only when there is nothing to do."""
        await asyncio.sleep(60)

    def _drop(self) -> None:
        self.dropped += 1


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
async def recorded(events: Events) -> AsyncIterator[Recorded]:
    one = Recorded(events)
    task = asyncio.ensure_future(one.recorder.run())
    yield one
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_an_event_is_written_as_describe_reads_it(recorded: Recorded) -> None:
    recorded.say("created pod job-worker-0")
    await recorded.sent()
    [(key, event)] = recorded.events.kept.items()
    assert key.namespace == "team"
    assert key.name.startswith("job.")
    assert event["involvedObject"] == {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "TFJob",
        "namespace": "team",
        "name": "job",
        "uid": "uid-1",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Normal", "Reason", "created pod job-worker-0")
    assert (event["count"], event["source"]) == (1, {"component": "kubedl"})
    assert (event["reportingComponent"], event["reportingInstance"]) == ("kubedl", "pod-1")
    assert event["firstTimestamp"] == event["lastTimestamp"]


async def test_the_same_words_count_up(recorded: Recorded) -> None:
    for _ in range(3):
        recorded.say("again")
        await recorded.sent()
    assert recorded.events.counts == {"again": 3}
    assert recorded.events.calls == ["create", "patch", "patch"]


async def test_what_waits_together_is_written_together(recorded: Recorded) -> None:
    for _ in range(500):
        recorded.say("again")
    await recorded.sent()
    assert (recorded.events.counts, recorded.events.calls, recorded.dropped) == ({"again": 500}, ["create"], 0)


async def test_other_words_objects_and_reasons_are_other_events(recorded: Recorded) -> None:
    recorded.say("one")
    recorded.say("two")
    recorded.say("one", reason="Other")
    recorded.say("one", warning=True)
    recorded.say("one", about=ObjectReference("v1", "Pod", "team", "job", "uid-2"))  # the same name, made again
    await recorded.sent()
    assert len(recorded.events.kept) == 5


async def test_a_restarted_operator_goes_on_counting(recorded: Recorded, events: Events) -> None:
    """Otherwise every restart would double what `kubectl describe` shows."""
    recorded.say("again")
    recorded.say("again")
    await recorded.sent()
    restarted = Recorded(events)
    task = asyncio.ensure_future(restarted.recorder.run())
    restarted.say("again")
    await restarted.sent()
    task.cancel()
    assert events.counts == {"again": 3}


async def test_an_expired_event_is_made_anew(recorded: Recorded) -> None:
    """The server keeps events for an hour."""
    recorded.say("again")
    await recorded.sent()
    recorded.events.kept.clear()
    recorded.say("again")
    await recorded.sent()
    assert recorded.events.counts == {"again": 1}


async def test_many_messages_with_one_reason_are_folded(recorded: Recorded) -> None:
    for number in range(64):
        recorded.say(f"created pod {number}")
    await recorded.sent()
    counts = recorded.events.counts
    assert [counts[f"created pod {number}"] for number in range(10)] == [1] * 10
    assert counts["(combined from similar events): created pod 63"] == 54
    assert len(counts) == 11


async def test_after_ten_minutes_folding_ends(recorded: Recorded) -> None:
    for number in range(12):
        recorded.say(f"message {number}")
    recorded.now = 601
    recorded.say("and another")
    await recorded.sent()
    assert recorded.events.counts["and another"] == 1


async def test_an_object_may_not_cause_a_flood(recorded: Recorded) -> None:
    """And what was held back is in the next count."""
    for _ in range(BURST + 10):
        recorded.say("again")
        await recorded.sent()
    assert (len(recorded.events.calls), recorded.dropped) == (BURST, 10)
    recorded.now += REFILL_SECONDS
    recorded.say("again")
    await recorded.sent()
    assert recorded.events.counts == {"again": BURST + 11}


async def test_a_flood_hides_neither_warnings_nor_other_objects(recorded: Recorded) -> None:
    for _ in range(BURST + 1):
        recorded.say("again")
        await recorded.sent()
    recorded.say("it failed", warning=True)
    recorded.say("hello", about=ObjectReference("v1", "Pod", "team", "other", "uid-9"))
    await recorded.sent()
    assert recorded.events.counts.keys() == {"again", "it failed", "hello"}


async def test_a_full_queue_drops_and_counts(events: Events) -> None:
    """Nobody sends yet, and nobody who reports waits."""
    recorded = Recorded(events)
    for number in range(WAITING + 5):
        recorded.say("hello", about=ObjectReference("v1", "Pod", "team", f"pod-{number}", f"uid-{number}"))
    assert recorded.dropped == 5


async def test_a_server_in_trouble_is_asked_a_few_times(recorded: Recorded) -> None:
    recorded.events.errors = [UnknownOutcomeError(500, "", "trouble")] * (TRIES - 1)
    recorded.say("patience")
    await recorded.sent()
    assert (recorded.events.counts, recorded.dropped) == ({"patience": 1}, 0)
    recorded.events.errors = [UnknownOutcomeError(500, "", "trouble")] * TRIES
    recorded.say("patience")
    await recorded.sent()
    assert (recorded.events.counts, recorded.dropped) == ({"patience": 1}, 1)
    recorded.say("patience")
    await recorded.sent()
    assert recorded.events.counts == {"patience": 3}


async def test_a_create_that_went_unanswered_is_recognised(recorded: Recorded) -> None:
    recorded.events.errors = [UnknownOutcomeError(504, "", "done, but lost")]
    recorded.say("hello")
    await recorded.sent()
    assert len(recorded.events.kept) == 1


@pytest.mark.parametrize("error", [ForbiddenError(403, "Forbidden", "namespace is going"), RuntimeError("a bug")])
async def test_one_refusal_does_not_end_the_recorder(recorded: Recorded, error: Exception) -> None:
    recorded.events.errors = [error]
    recorded.say("refused")
    recorded.say("taken")
    await recorded.sent()
    assert (recorded.events.counts, recorded.dropped) == ({"taken": 1}, 1)


@pytest.mark.parametrize("message", ["é" * 5000, "\ud800 half a character", "", "x" * 10_000_000])
async def test_any_message_can_be_sent(recorded: Recorded, message: str) -> None:
    recorded.say(message)
    await recorded.sent()
    [event] = recorded.events.kept.values()
    assert len(event["message"].encode()) <= LONGEST


async def test_a_cluster_wide_object_has_its_events_in_default(recorded: Recorded) -> None:
    recorded.say("hello", about=ObjectReference("v1", "Node", "", "n" * 253, "uid-3"))
    await recorded.sent()
    [key] = recorded.events.kept
    assert key.namespace == "default"
    assert len(key.name) <= 253


async def test_memory_is_bounded(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubedl.runtime.events.REMEMBERED", 100)
    for number in range(1000):
        recorded.say("hello", about=ObjectReference("v1", "Pod", "team", f"pod-{number}", f"uid-{number}"))
    memories = (recorded.recorder._series, recorded.recorder._messages, recorded.recorder._full_at)  # noqa: SLF001
    assert [len(memory) for memory in memories] == [100, 100, 100]


async def test_a_namespace_that_is_being_deleted_is_no_reason_to_warn(recorded: Recorded) -> None:
    """Its events have no place any more, and nobody will look for them."""
    recorded.events.errors = [NamespaceTerminatingError(403, "Forbidden", "being terminated")]
    with capture_logs() as logged:
        recorded.say("hello")
        await recorded.sent()
    assert [entry["log_level"] for entry in logged] == ["debug"]
