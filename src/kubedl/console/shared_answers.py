"""Answers that many viewers want: asked once for all who wait, remembered for some seconds, and bounded."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from kubedl.console.problems import RefusalError

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


@dataclass
class SharedAnswers(Generic[Question, Answer]):
    """Answers by question. A failure is told to all who wait for it, and not remembered."""

    clock: Callable[[], float]
    known_seconds: float
    most_asked: int  # at a time
    most_known: int
    busy: str  # what is told to those who ask when that many are asked already
    whose: Callable[[Question], object] | None = None  # who asks, if one of them may not take all places
    most_of_one: int = 0
    _known: dict[Question, tuple[Answer, float]] = field(default_factory=dict)
    _asking: dict[Question, asyncio.Task[Answer]] = field(default_factory=dict)

    async def get(self, question: Question, ask: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """Return the answer. A question goes on if its caller no longer waits: the next one who asks has the answer."""
        known = self._known.get(question)
        if known is not None and self.clock() < known[1]:
            return known[0]
        task = self._asking.get(question)
        if task is None:
            if len(self._asking) >= self.most_asked or self._takes_too_many(question):
                raise RefusalError(503, "no answer now", self.busy, "Try again.")
            task = self._asking[question] = asyncio.create_task(ask())
            task.add_done_callback(partial(self._answered, question))
        return await asyncio.shield(task)

    def _takes_too_many(self, question: Question) -> bool:
        whose = self.whose
        return whose is not None and sum(whose(one) == whose(question) for one in self._asking) >= self.most_of_one

    def _answered(self, question: Question, task: "asyncio.Task[Answer]") -> None:
        self._asking.pop(question, None)
        now = self.clock()
        self._known = {one: value for one, value in self._known.items() if now < value[1]}
        # Asking for the exception says that it was noticed, also if nobody waits for it any more.
        if not task.cancelled() and task.exception() is None and len(self._known) < self.most_known:
            self._known[question] = task.result(), now + self.known_seconds
