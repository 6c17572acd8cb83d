"""Figures are asked for beside: what is said at once, when somebody is asked, who is woken, what is forgotten."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.rollout import analysis_runner
from kubedl.serving.rollout.analysis import PENDING, Metrics, Thresholds
from kubedl.serving.rollout.analysis_runner import AT_ONCE, STALE, AnalysisRunner
from kubedl.serving.rollout.prometheus import MetricsUnavailableError
from kubedl.serving.rollout.promql import Target
from kubedl.serving.rollout.state_machine import LOOK

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SINCE = NOW - timedelta(days=1)
KEY, OTHER = ObjectKey("team", "hello"), ObjectKey("team", "other")
TARGET = Target("team", "hello-a-next", 8080)
BOUNDS = Thresholds(error_rate=0.02, min_requests=10)


class Played:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.answers: list[Metrics | Exception] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asked: list[datetime] = []

    async def metrics(self, target: Target, since: datetime, now: datetime) -> Metrics:
        assert (target, since <= now) == (TARGET, True)
        self.asked.append(now)
        await self.may_answer.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def answered() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def outcome(measured: AnalysisRunner, now: datetime = NOW, since: datetime = SINCE) -> tuple[str, str]:
    found = measured.result(KEY, BOUNDS, TARGET, since, now)
    return found.outcome, found.reason


async def test_an_answer_is_not_waited_for_and_wakes() -> None:
    source, woken = Played(), list[ObjectKey]()
    source.answers = [Metrics(100, 5)]
    measured = AnalysisRunner(source, woken.append)
    assert (measured.result(KEY, BOUNDS, TARGET, SINCE, NOW), woken) == (PENDING, [])
    await answered()
    assert (outcome(measured), woken) == (("Bad", "ErrorRate"), [KEY])


async def test_nobody_is_asked_twice_at_once_nor_again_too_soon() -> None:
    source = Played()
    source.answers = [Metrics(3, 0)] * 3
    source.may_answer.clear()
    measured = AnalysisRunner(source, lambda _: None)
    for seconds in (0, 5, 60):  # there is no answer yet
        outcome(measured, NOW + timedelta(seconds=seconds))
        await answered()
    assert source.asked == [NOW]
    source.may_answer.set()
    await answered()
    for late in (timedelta(), LOOK / 2, LOOK, LOOK + LOOK / 2, -timedelta(hours=1)):  # the last by a clock set back
        outcome(measured, NOW + late)
        await answered()
    assert source.asked == [NOW, NOW + LOOK, NOW - timedelta(hours=1)]


async def test_the_same_answer_wakes_nobody() -> None:
    source, woken = Played(), list[ObjectKey]()
    source.answers = [Metrics(3, 0), Metrics(3, 0), Metrics(4, 0)]
    measured = AnalysisRunner(source, woken.append)
    for number, expected in enumerate((1, 1, 2)):
        outcome(measured, NOW + number * LOOK)
        await answered()
        assert len(woken) == expected


async def test_an_old_answer_counts_for_nothing() -> None:
    source, woken = Played(), list[ObjectKey]()
    source.answers = [Metrics(100, 0), Metrics(100, 0)]
    measured = AnalysisRunner(source, woken.append)
    outcome(measured)
    await answered()
    assert outcome(measured, NOW + LOOK / 2) == ("Good", "WithinBounds")
    later = NOW + STALE + LOOK
    assert outcome(measured, later) == ("Unknown", "")
    await answered()
    assert (outcome(measured, later), len(woken)) == (("Good", "WithinBounds"), 2)


async def test_an_answer_that_waited_for_its_turn_is_not_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are many canaries, or the source is slow to fail."""
    moment = 0.0
    monkeypatch.setattr(analysis_runner, "monotonic", lambda: moment)
    source = Played()
    source.may_answer.clear()
    source.answers = [Metrics(100, 5)] * (AT_ONCE + 2)
    measured = AnalysisRunner(source, lambda _: None)
    for number in range(AT_ONCE):
        measured.result(ObjectKey("team", f"other-{number}"), BOUNDS, TARGET, SINCE, NOW)
    outcome(measured)
    await answered()
    assert source.asked == [NOW] * AT_ONCE
    moment = 60.0
    source.may_answer.set()
    for _ in range(3):
        await answered()
    later = NOW + timedelta(seconds=60)
    assert source.asked == [*[NOW] * AT_ONCE, later]
    assert outcome(measured, later) == ("Bad", "ErrorRate")


async def test_another_step_is_asked_about_anew() -> None:
    """And an answer about the step before is not taken for one about it."""
    source = Played()
    source.answers = [Metrics(100, 5), Metrics(100, 0)]
    source.may_answer.clear()
    measured = AnalysisRunner(source, lambda _: None)
    outcome(measured)
    await answered()
    step = NOW + LOOK
    assert outcome(measured, step, since=step) == ("Unknown", "")
    source.answers.pop(0)
    source.may_answer.set()
    await answered()
    assert outcome(measured, step, since=step) == ("Good", "WithinBounds")


@pytest.mark.parametrize("error", [MetricsUnavailableError("nobody answers"), RuntimeError("a mistake")])
async def test_not_knowing_is_a_verdict_too(error: Exception) -> None:
    """Whatever goes wrong, it is asked again."""
    source = Played()
    source.answers = [error, Metrics(100, 0)]
    measured = AnalysisRunner(source, lambda _: None)
    outcome(measured)
    await answered()
    assert outcome(measured) == ("Unknown", "NoMetrics")
    outcome(measured, NOW + LOOK)
    await answered()
    assert outcome(measured, NOW + LOOK) == ("Good", "WithinBounds")


async def test_what_is_not_on_trial_is_forgotten() -> None:
    source = Played()
    source.answers = [Metrics(100, 0)] * 2
    measured = AnalysisRunner(source, lambda _: None)
    outcome(measured)
    await answered()
    measured.keep(KEY, [TARGET])
    measured.keep(OTHER, ())
    assert outcome(measured) == ("Good", "WithinBounds")
    measured.keep(KEY, ())
    assert outcome(measured) == ("Unknown", "")


async def test_questions_end_with_the_operator() -> None:
    source, woken = Played(), list[ObjectKey]()
    source.may_answer.clear()
    measured = AnalysisRunner(source, woken.append)
    running = asyncio.create_task(measured.run())
    outcome(measured)
    await answered()
    running.cancel()
    await answered()
    source.may_answer.set()
    await answered()
    assert (woken, asyncio.all_tasks()) == ([], {asyncio.current_task()})


async def test_without_bounds_nobody_is_asked() -> None:
    source = Played()
    measured = AnalysisRunner(source, lambda _: None)
    assert (measured.result(KEY, None, TARGET, NOW, NOW).outcome, source.asked) == ("Good", [])


async def test_without_anybody_to_ask_nothing_is_known() -> None:
    assert outcome(AnalysisRunner(None, lambda _: None)) == ("Unknown", "NoMetrics")
