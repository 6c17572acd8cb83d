"""Answers that are asked once for all who wait."""

import asyncio
from dataclasses import dataclass, field

import pytest

from kubedl.console.problems import RefusalError
from kubedl.console.shared_answers import SharedAnswers
from tests.unit.console.world import Clock


@dataclass
class Source:
    """Answers with a number, once it is let go; or fails."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0
    fails: bool = False

    async def ask(self) -> int:
        """Wait, and answer."""
        self.asked += 1
        number = self.asked
        await self.go.wait()
        if self.fails:
            raise RefusalError(503, "down", "it does not answer", "Try again.")
        return number


@pytest.fixture
def source() -> Source:
    return Source()


def shared(clock: Clock, *, most_asked: int = 10, most_known: int = 10) -> SharedAnswers[str, int]:
    """Answers that are known for five seconds."""
    return SharedAnswers(clock, 5.0, most_asked, most_known, "too many ask")


async def test_all_who_wait_share_one_question(source: Source) -> None:
    answers = shared(Clock())
    waiting = [asyncio.create_task(answers.get("a", source.ask)) for _ in range(5)]
    await asyncio.sleep(0)
    source.go.set()
    assert await asyncio.gather(*waiting) == [1] * 5
    assert source.asked == 1


async def test_one_of_many_does_not_take_all_places(source: Source) -> None:
    """What another one asks is asked nevertheless; what is asked already may be waited for by all."""
    answers = SharedAnswers[str, int](Clock(), 5.0, 10, 10, "too many ask", lambda question: question[0], 2)
    waiting = [asyncio.create_task(answers.get(question, source.ask)) for question in ("a1", "a2", "b1")]
    await asyncio.sleep(0)
    with pytest.raises(RefusalError):
        await answers.get("a3", source.ask)
    waiting.append(asyncio.create_task(answers.get("a2", source.ask)))
    await asyncio.sleep(0)
    source.go.set()
    assert await asyncio.gather(*waiting) == [1, 2, 3, 2]


async def test_an_answer_is_remembered_for_some_seconds(source: Source) -> None:
    clock = Clock()
    answers = shared(clock)
    source.go.set()
    clock_began = clock.now
    assert [await answers.get("a", source.ask) for _ in range(2)] == [1, 1]
    clock.now = clock_began + 5.0
    assert await answers.get("a", source.ask) == 2


async def test_a_failure_is_told_and_not_remembered(source: Source) -> None:
    answers = shared(Clock())
    source.go.set()
    source.fails = True
    with pytest.raises(RefusalError):
        await answers.get("a", source.ask)
    source.fails = False
    assert await answers.get("a", source.ask) == 2


async def test_a_question_goes_on_without_its_caller(source: Source) -> None:
    answers = shared(Clock())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(answers.get("a", source.ask), 0.01)
    source.go.set()
    assert await answers.get("a", source.ask) == 1
    assert source.asked == 1


async def test_questions_are_bounded_and_the_same_one_is_still_answered(source: Source) -> None:
    answers = shared(Clock(), most_asked=1)
    first = asyncio.create_task(answers.get("a", source.ask))
    await asyncio.sleep(0)
    with pytest.raises(RefusalError) as refused:
        await answers.get("b", source.ask)
    assert (refused.value.status, "too many ask" in str(refused.value)) == (503, True)
    same = asyncio.create_task(answers.get("a", source.ask))
    source.go.set()
    assert list(await asyncio.gather(first, same)) == [1, 1]


async def test_what_is_remembered_is_bounded(source: Source) -> None:
    """Who asks about ever new things is answered, and costs no more memory; what is out of date makes room."""
    clock = Clock()
    answers = shared(clock, most_known=2)
    source.go.set()
    for name in ("a", "b", "c"):
        await answers.get(name, source.ask)
    assert [await answers.get(name, source.ask) for name in ("a", "b", "c")] == [1, 2, 4]
    clock.now += 5.0
    assert [await answers.get("c", source.ask) for _ in range(2)] == [5, 5]
