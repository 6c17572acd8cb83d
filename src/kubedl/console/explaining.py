"""Why a job waits or failed, by the rules of `kubedl why`, read with the person's own token.

Rules block while they ask for evidence, so they run in a thread; its requests are sent by the console's event loop.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from kubedl.client.parallel import run_all
from kubedl.console.own_calls import OwnCalls
from kubedl.console.people import Caller, Person
from kubedl.console.problems import RefusalError
from kubedl.console.shared_answers import SharedAnswers
from kubedl.console.wire_why import WhyFact, WhyPage, WhyTry
from kubedl.kube import codec
from kubedl.kube.errors import UnknownOutcomeError
from kubedl.kube.types.meta import Object, ObjectKey, Resource
from kubedl.why.collecting import Collector
from kubedl.why.evidence import Evidence
from kubedl.why.failures import FAILING, first_death
from kubedl.why.judging import Diagnosis, judge
from kubedl.why.redaction import clean
from kubedl.why.report import remarks, to_plain
from kubedl.why.rules import ALL

AT_ONCE = 3  # threads
MOST_ASKED, MOST_KNOWN = 50, 1_000  # pages: asked for at a time, and remembered
MOST_OF_ONE = 10  # asked for by one person at a time
FRESH_SECONDS = 5.0
REQUEST_SECONDS = 5.0  # the API server waits much longer for the log of a node that is gone
PATIENCE_SECONDS = 20.0  # of a page


class Asked(NamedTuple):
    """A question of one person: about one state of one job, since another state may have another cause."""

    person: Person
    kind: str
    key: ObjectKey
    uid: str
    resource_version: str


class Bridge:
    """Requests of a thread, sent by an event loop."""

    def __init__(self, calls: OwnCalls, loop: asyncio.AbstractEventLoop) -> None:
        self._calls, self._loop = calls, loop

    def call(self, method: str, path: str, *, params: Mapping[str, str]) -> bytes:
        """Send a request and return the body of a successful response; raises ApiError otherwise.

        Without an answer in time it is given up, so that the rules go on with what else is known.
        """
        sent = asyncio.run_coroutine_threadsafe(self._calls.call(method, path, params=params), self._loop)
        try:
            return sent.result(REQUEST_SECONDS)
        except TimeoutError:
            sent.cancel()
            raise UnknownOutcomeError(0, "", f"no answer in {REQUEST_SECONDS:g} seconds") from None


@dataclass
class Explaining:
    """Answers for all viewers, with a short memory."""

    clock: Callable[[], float]
    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _answers: SharedAnswers[Asked, WhyPage] = field(init=False)

    def __post_init__(self) -> None:
        busy = "why is asked about too many jobs at the moment"
        bounds = FRESH_SECONDS, MOST_ASKED, MOST_KNOWN
        # By name: each token of a service account makes another person of it.
        self._answers = SharedAnswers(self.clock, *bounds, busy, lambda asked: asked.person.name, MOST_OF_ONE)

    async def why(self, caller: Caller, resource: Resource[Any], job: Object) -> WhyPage:
        """Return why a job is as it is. Raises ApiError if the job itself cannot be read."""
        meta = job.metadata
        asked = Asked(caller.person, resource.kind, meta.key, meta.uid, meta.resource_version)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._answers.get(asked, partial(self._ask, caller, resource, meta.key))
        except TimeoutError:
            why = f"the API server took longer than {PATIENCE_SECONDS:.0f} seconds"
            raise RefusalError(504, "no answer in time", why, "Try again.") from None

    async def _ask(self, caller: Caller, resource: Resource[Any], key: ObjectKey) -> WhyPage:
        async with self._turn:
            calls = OwnCalls(caller.credentials)
            try:
                found = codec.decode(await calls.call("GET", resource.path(key.namespace, key.name)), dict)
                bridge = Bridge(calls, asyncio.get_running_loop())
                manifest = clean({**found, "kind": resource.kind})
                evidence = Evidence(datetime.now(UTC), manifest, Collector(bridge, run_all))
                diagnosis, pod = await asyncio.to_thread(_judged, evidence)
            finally:
                await calls.close()
        plain = to_plain(diagnosis, evidence)
        return WhyPage(
            first=plain["first"],
            pod=pod,
            rule=plain["rule"],
            known=plain["known"],
            facts=[WhyFact(**one) for one in plain["supporting"]],
            tries=[WhyTry(**one) for one in plain["tries"]],
            unread=remarks(diagnosis),
        )


def _judged(evidence: Evidence) -> tuple[Diagnosis, str]:
    """Return why, and the pod that failed first. What is looked at is read then, so this is not for the event loop."""
    diagnosis = judge(evidence, ALL)
    death = first_death(evidence) if evidence.state in FAILING else None
    return diagnosis, death.pod if death is not None else ""
