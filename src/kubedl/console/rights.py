"""What a person may see, asked of the API server and remembered for a minute at most.

A row leaves the console only if the API server says that the person may `list` its resource in its namespace. Answers
are remembered by person, never by group: a RoleBinding may name a user. An answer that cannot be had is not a yes.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from kubedl.console.journal import Place
from kubedl.console.people import Caller, Person
from kubedl.kube.bounded_regex import BoundedPattern

YES_SECONDS = 55.0  # a stream asks its memory every five seconds, so a right that is taken away ends within a minute
NO_SECONDS = 10.0
MOST_ANSWERS = 200_000
AT_ONCE = 16  # questions of one person
NAMESPACE = BoundedPattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", 63)


class Question(NamedTuple):
    """May somebody do this there? An empty namespace means all of them."""

    verb: str
    group: str
    resource: str  # pods, or pods/log
    namespace: str


Review = Callable[[Caller, Question], Awaitable[bool]]


@dataclass(frozen=True)
class View:
    """What one person may see now: whole resources, and single places."""

    everywhere: frozenset[str] = frozenset()
    places: frozenset[Place] = frozenset()
    hidden: frozenset[Place] = frozenset()

    def shows(self, place: Place) -> bool:
        """Return whether rows of a place may be sent."""
        return place.resource in self.everywhere or place in self.places

    def decides(self, place: Place) -> bool:
        """Return whether it is known if rows of a place may be sent."""
        return self.shows(place) or place in self.hidden

    def differs(self, before: "View") -> bool:
        """Return whether a place was hidden or revealed. A place that had no jobs before makes no difference."""
        return any(self.shows(place) for place in before.hidden) or any(before.shows(place) for place in self.hidden)

    def hidden_namespaces(self, resources: Collection[str]) -> int:
        """Return how many namespaces have objects of these resources of which none is shown."""
        shown = {place.namespace for place in self.places if place.resource in resources}
        return len({place.namespace for place in self.hidden if place.resource in resources} - shown)

    @property
    def digest(self) -> str:
        """Return a short name of this view, to notice that it changed."""
        parts = [*sorted(self.everywhere), *(f"{one.resource}/{one.namespace}" for one in sorted(self.places))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


@dataclass
class _Answer:
    allowed: bool
    until: float


@dataclass
class Rights:
    """Answers of the API server, with a short memory."""

    review: Review
    clock: Callable[[], float]
    yes_seconds: float = YES_SECONDS
    no_seconds: float = NO_SECONDS
    _answers: dict[tuple[Person, Question], _Answer] = field(default_factory=dict)
    _asking: dict[tuple[Person, Question], asyncio.Task[bool]] = field(default_factory=dict)

    async def may(self, caller: Caller, question: Question) -> bool:
        """Return whether a person may; callers that ask the same at the same time share one question."""
        key = caller.person, question
        known = self._answers.get(key)
        if known is not None and self.clock() < known.until:
            return known.allowed
        if question.namespace and NAMESPACE.fullmatch(question.namespace) is None:
            return False  # there is none of that name; addresses have texts of any length, which would be remembered
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.ensure_future(self._ask(caller, question))
            task.add_done_callback(partial(self._answered, key))
        return await asyncio.shield(task)

    async def list_in(self, caller: Caller, name: str, namespace: str) -> bool:
        """Return whether a person may list a resource, `pods` or `tfjobs.training.kubedl.io`, in a namespace."""
        plural, _, group = name.partition(".")
        if await self.may(caller, Question("list", group, plural, "")):
            return True
        return await self.may(caller, Question("list", group, plural, namespace))

    async def view(self, caller: Caller, places: Mapping[str, Iterable[str]]) -> View:
        """Return what a person may see of these places: namespaces by resource."""
        room = asyncio.Semaphore(AT_ONCE)

        async def asked(name: str, namespace: str) -> bool:
            plural, _, group = name.partition(".")
            async with room:
                return await self.may(caller, Question("list", group, plural, namespace))

        names = list(places)
        whole = await asyncio.gather(*(asked(name, "") for name in names))
        everywhere = frozenset(name for name, yes in zip(names, whole, strict=True) if yes)
        single = [Place(name, one) for name in names if name not in everywhere for one in places[name]]
        answers = await asyncio.gather(*(asked(*place) for place in single))
        shown = frozenset(place for place, yes in zip(single, answers, strict=True) if yes)
        return View(everywhere, shown, frozenset(single) - shown)

    async def _ask(self, caller: Caller, question: Question) -> bool:
        asked_at = self.clock()  # an answer is as old as its question
        allowed = await self.review(caller, question)
        if len(self._answers) >= MOST_ANSWERS:
            self._forget()
        until = asked_at + (self.yes_seconds if allowed else min(self.no_seconds, self.yes_seconds))
        self._answers[caller.person, question] = _Answer(allowed, until)
        return allowed

    def _answered(self, key: tuple[Person, Question], task: "asyncio.Task[bool]") -> None:
        self._asking.pop(key, None)
        if not task.cancelled():
            task.exception()  # whoever still waits raises it; if nobody does, it is no bug

    def _forget(self) -> None:
        """Drop what is out of date; if that is not enough, everything."""
        now = self.clock()
        self._answers = {key: answer for key, answer in self._answers.items() if now < answer.until}
        if len(self._answers) >= MOST_ANSWERS:
            self._answers.clear()
