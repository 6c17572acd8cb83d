"""Figures about requests: asked once for all viewers, bounded, and never for long of a source that is down."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from kubedl.console import measuring
from kubedl.console.measuring import (
    AT_ONCE,
    FAILURES,
    FRESH_SECONDS,
    KEPT_SECONDS,
    LATE,
    NOT_SET,
    ONE_NAMESPACE,
    Measured,
    Measuring,
    Question,
    nobody,
    opened,
)
from kubedl.serving.rollout.analysis import WINDOW, Metrics
from kubedl.serving.rollout.prometheus import MetricsUnavailableError
from kubedl.serving.rollout.promql import ISTIO, TRAEFIK, Target
from tests.unit.console.world import NOW, Clock

pytestmark = pytest.mark.looptime
TEN = Measured(Metrics(10, 1), NOW)


@dataclass
class Source:
    """A Prometheus that answers after a time, or fails."""

    takes: float = 0.0
    error: str = ""
    asked: list[tuple[Target, datetime, datetime]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def metrics(self, target: Target, since: datetime, now: datetime) -> Metrics:
        """Answer with ten requests."""
        self.asked.append((target, since, now))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.takes)
        self.at_once -= 1
        if self.error:
            raise MetricsUnavailableError(self.error)
        return Metrics(10, 1)


def question(number: int = 0) -> Question:
    """A question about one of many Services."""
    return Question(Target("nlp", f"chat-{number}", 8080))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def made(source: Source, clock: Clock) -> Measuring:
    return Measuring(lambda: NOW, clock, source, "")


async def test_viewers_share_a_question_and_its_answer_for_some_seconds(
    made: Measuring, source: Source, clock: Clock
) -> None:
    source.takes = 1
    both = await asyncio.gather(made.about([question()]), made.about([question()]))
    assert [one[question()] for one in both] == [TEN] * 2
    clock.now += FRESH_SECONDS - 1
    await made.about([question()])
    assert len(source.asked) == 1
    clock.now += 1
    await made.about([question()])
    assert len(source.asked) == 2


async def test_the_last_minutes_are_those_of_the_operator(made: Measuring, source: Source) -> None:
    """And a step is asked about since it began."""
    since = NOW - timedelta(hours=1)
    await made.about([question(), Question(question().target, since)])
    assert [(begin, end) for _, begin, end in source.asked] == [(NOW - WINDOW, NOW), (since, NOW)]


async def test_only_some_are_asked_at_a_time(made: Measuring, source: Source) -> None:
    source.takes = 0.1
    answers = await made.about([question(number) for number in range(50)])
    assert (source.most_at_once, len(source.asked)) == (AT_ONCE, 50)
    assert set(map(type, answers.values())) == {Measured}


async def test_a_page_does_not_wait_for_long_and_the_answer_is_there_for_the_next(
    made: Measuring, source: Source
) -> None:
    source.takes = 5
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await made.about([question()]) == {question(): LATE}
    assert loop.time() - began == pytest.approx(measuring.PATIENCE_SECONDS)
    assert await made.about([question()]) == {question(): TEN}
    assert len(source.asked) == 1


async def test_the_last_figures_are_shown_while_the_next_are_late(
    made: Measuring, source: Source, clock: Clock
) -> None:
    """Of a source that is always slow: every page would find the last answer too old, and the next one not there."""
    source.takes = 4.5
    assert await made.about([question()]) == {question(): LATE}
    await asyncio.sleep(1)
    for _ in range(3):
        clock.now += FRESH_SECONDS + 9
        assert await made.about([question()]) == {question(): TEN}
        await asyncio.sleep(1)
    assert len(source.asked) == 4
    source.takes = 100
    clock.now += KEPT_SECONDS - 1
    assert await made.about([question()]) == {question(): TEN}
    clock.now += 1
    assert await made.about([question()]) == {question(): LATE}


async def test_a_failure_is_not_shown_for_longer_than_it_is_fresh(
    made: Measuring, source: Source, clock: Clock
) -> None:
    source.error = "the metrics request failed"
    await made.about([question()])
    source.takes = 5
    clock.now += FRESH_SECONDS
    assert await made.about([question()]) == {question(): LATE}


async def test_figures_are_shown_while_too_much_is_asked(
    made: Measuring, source: Source, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made.about([question()])
    monkeypatch.setattr(measuring, "MOST_WAITING", 0)
    clock.now += FRESH_SECONDS
    assert await made.about([question(), question(1)]) == {question(): TEN, question(1): measuring.BUSY}
    assert len(source.asked) == 1


async def test_a_source_that_is_down_is_left_alone_for_some_seconds(
    made: Measuring, source: Source, clock: Clock
) -> None:
    """Everybody is told why; afterwards it is asked again."""
    source.error, source.takes = "the metrics request failed", 0.5
    answers = await made.about([question(number) for number in range(100)])
    assert set(answers.values()) == {"the metrics request failed"}
    assert len(source.asked) <= AT_ONCE + FAILURES
    source.error = ""
    assert await made.about([question(200)]) == {question(200): "the metrics request failed"}
    clock.now += FRESH_SECONDS
    assert await made.about([question(200)]) == {question(200): TEN}


async def test_one_failure_is_that_of_one_service(made: Measuring, source: Source) -> None:
    source.error = "the response of Prometheus is not a number"
    await made.about([question(1)])
    source.error = ""
    answers = await made.about([question(1), question(2)])
    assert (answers[question(1)], answers[question(2)]) == (
        "the response of Prometheus is not a number",
        TEN,
    )


async def test_questions_that_wait_are_bounded(
    made: Measuring, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "MOST_WAITING", 20)
    source.takes = 1
    answers = await made.about([question(number) for number in range(30)])
    assert list(answers.values()).count(measuring.BUSY) == 10


async def test_what_is_kept_is_bounded(
    made: Measuring, source: Source, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "MOST_KEPT", 5)
    await made.about([question(number) for number in range(9)])
    await made.about([question(0)])
    assert len(source.asked) == 9  # the first five are kept
    await made.about([question(8)])
    assert len(source.asked) == 10
    clock.now += FRESH_SECONDS
    await made.about([question(8)])
    await made.about([question(8)])
    assert len(source.asked) == 11


async def test_an_error_of_our_own_is_not_the_end(
    made: Measuring, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> Metrics:
        raise ZeroDivisionError

    monkeypatch.setattr(source, "metrics", broken)
    assert await made.about([question()]) == {question(): "the question failed"}


async def test_without_a_source_it_says_so() -> None:
    assert await nobody().about([question()]) == {question(): NOT_SET}
    async with opened("", "", "") as nothing:
        assert (nothing.source, nothing.problem) == (None, NOT_SET)
    async with opened("http://prometheus:9090", "/no/such/file", "") as broken:
        assert (broken.source, "queries" in broken.problem) == (None, True)


async def test_names_of_services_are_shared_only_with_traefik() -> None:
    assert (TRAEFIK.by_backend, ISTIO.by_backend) == (True, False)
    url = "http://prometheus:9090"
    async with opened(url, "", "") as traefik, opened(url, "istio", "") as istio:
        assert (traefik.by_backend, istio.by_backend) == (True, False)
        assert traefik.source is not None


async def test_a_console_of_one_namespace_cannot_tell_whose_figures_traefik_has() -> None:
    """A Service of a namespace that it does not see may have the same name there; with Istio none has."""
    url = "http://prometheus:9090"
    async with opened(url, "traefik", "nlp") as traefik, opened(url, "istio", "nlp") as istio:
        assert (traefik.source, traefik.problem) == (None, ONE_NAMESPACE)
        assert (istio.source is not None, istio.problem) == (True, "")
