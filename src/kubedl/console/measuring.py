"""Figures about requests, from the source by which the operator judges canaries: asked once for all viewers.

Bounded: so many questions at a time, each with the source's own time limit; an answer is used for some seconds, and
longer while the next one is late. After a few failures in a row nothing is asked for some seconds, so a source that is
down costs nobody more than one time limit.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import NamedTuple

import aiohttp
import structlog

from kubedl.kube.tls import client_context
from kubedl.serving.rollout import promql
from kubedl.serving.rollout.analysis import WINDOW, Metrics
from kubedl.serving.rollout.prometheus import MetricsSource, MetricsUnavailableError, Prometheus
from kubedl.serving.rollout.promql import Target

FRESH_SECONDS = 10.0
KEPT_SECONDS = 60.0  # figures are shown again if the next ones are late: pages ask less often than an answer is fresh
PATIENCE_SECONDS = 4.0  # of a page; what comes later is there when the page asks again
AT_ONCE = 8  # questions, of three to six queries each
MOST_WAITING = 400
MOST_KEPT = 4_000
FAILURES = 3  # in a row
NOT_SET = (
    "this console has no Prometheus to ask; an administrator names the one by which the operator judges canaries, with "
    "operator.prometheus of the chart"
)
ONE_NAMESPACE = (
    "the gateway's metrics can have one name for Services of two namespaces, and this console sees one namespace only; "
    "queries by namespace and Service (--analysis-queries) can tell them apart"
)
LATE = f"Prometheus gave no answer in {PATIENCE_SECONDS:g} seconds"
BUSY = "too much is asked of Prometheus at the moment"

log = structlog.get_logger()


class Question(NamedTuple):
    """Requests of a Service since some time; None: of the last minutes."""

    target: Target
    since: datetime | None = None


class Measured(NamedTuple):
    """What was counted until some time."""

    metrics: Metrics
    until: datetime


Answer = Measured | str  # or why there are none


class _Kept(NamedTuple):
    """An answer, by the clock: until when nothing is asked, and until when it is better than none."""

    answer: Answer
    fresh_until: float
    kept_until: float


@dataclass
class Measuring:
    """The answers of a source, for all viewers."""

    now: Callable[[], datetime]
    clock: Callable[[], float]
    source: MetricsSource | None = None
    problem: str = NOT_SET  # why there is no source
    by_backend: bool = False  # Services of two namespaces may have the same name in the source
    _known: dict[Question, _Kept] = field(default_factory=dict)
    _asking: dict[Question, asyncio.Task[Answer]] = field(default_factory=dict)
    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _failures: int = 0
    _paused: tuple[str, float] = ("", 0.0)  # why nothing is asked, and until when

    async def about(self, questions: Sequence[Question]) -> Mapping[Question, Answer]:
        """Return an answer to each question, or why there is none, after some seconds at most."""
        if self.source is None:
            return dict.fromkeys(questions, self.problem)
        answers: dict[Question, Answer] = {}
        tasks: dict[Question, asyncio.Task[Answer]] = {}
        for question in questions:
            known = self._known.get(question)
            if known is not None and self.clock() < known.fresh_until:
                answers[question] = known.answer
            elif question in self._asking or len(self._asking) < MOST_WAITING:
                tasks[question] = self._task(self.source, question)
            else:
                answers[question] = self._last(question, BUSY)
        if tasks:
            await asyncio.wait(tasks.values(), timeout=PATIENCE_SECONDS)  # they go on, for whoever asks next
        return answers | {one: task.result() if task.done() else self._last(one, LATE) for one, task in tasks.items()}

    def _last(self, question: Question, otherwise: str) -> Answer:
        """Return the last answer if it is not too old."""
        known = self._known.get(question)
        return known.answer if known is not None and self.clock() < known.kept_until else otherwise

    def _task(self, source: MetricsSource, question: Question) -> "asyncio.Task[Answer]":
        task = self._asking.get(question)
        if task is None:
            task = self._asking[question] = asyncio.create_task(self._ask(source, question))
            task.add_done_callback(partial(self._forget, question))
        return task

    def _forget(self, question: Question, _: object) -> None:
        self._asking.pop(question, None)

    async def _ask(self, source: MetricsSource, question: Question) -> Answer:
        async with self._turn:
            why, until = self._paused
            if self.clock() < until:
                return why
            answer, now = await self._answer(source, question), self.clock()
        self._failures = self._failures + 1 if isinstance(answer, str) else 0
        if isinstance(answer, str) and self._failures >= FAILURES:
            self._paused = answer, now + FRESH_SECONDS
        self._keep(question, answer, now)
        return answer

    def _keep(self, question: Question, answer: Answer, now: float) -> None:
        """Remember an answer. Why there is none is not kept for longer than it is fresh."""
        if question not in self._known and len(self._known) >= MOST_KEPT:
            self._known = {one: kept for one, kept in self._known.items() if now < kept.kept_until}
        if question not in self._known and len(self._known) >= MOST_KEPT:
            self._known = {one: kept for one, kept in self._known.items() if now < kept.fresh_until}
        if question in self._known or len(self._known) < MOST_KEPT:
            seconds = FRESH_SECONDS if isinstance(answer, str) else KEPT_SECONDS
            self._known[question] = _Kept(answer, now + FRESH_SECONDS, now + seconds)

    async def _answer(self, source: MetricsSource, question: Question) -> Answer:
        now = self.now()
        try:
            return Measured(await source.metrics(question.target, question.since or now - WINDOW, now), now)
        except MetricsUnavailableError as error:
            return str(error)
        except Exception:
            log.exception("a question about metrics failed", service=question.target.service)
            return "the question failed"


def nobody(problem: str = NOT_SET) -> Measuring:
    """Return what has nobody to ask, and says why."""
    return Measuring(partial(datetime.now, UTC), monotonic, problem=problem)


@asynccontextmanager
async def opened(url: str, queries: str, only: str) -> AsyncIterator[Measuring]:
    """Yield what asks the Prometheus at an address; without one, what says so. `only`: the one namespace to be seen.

    Whatever is wrong with it, the console runs: the pages that need it say so.
    """
    if not url:
        yield nobody()
        return
    try:
        chosen = promql.chosen(queries) if queries else promql.TRAEFIK
    except ValueError as error:
        log.warning("the queries about metrics cannot be used", error=str(error))
        yield nobody("the queries of this console for Prometheus cannot be used")
        return
    if only and chosen.by_backend:  # a Service elsewhere may have the same name, and nobody here could tell
        yield nobody(ONE_NAMESPACE)
        return
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=client_context())) as session:
        source = Prometheus(session, url, chosen)
        yield Measuring(partial(datetime.now, UTC), monotonic, source, "", by_backend=chosen.by_backend)
