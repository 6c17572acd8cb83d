"""Why a job waits: the rules of `kubedl why`, read with the person's own token, shared with nobody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from kubedl.client.async_client import AsyncTrainingClient
from kubedl.console import explaining
from kubedl.console.explaining import FRESH_SECONDS, REQUEST_SECONDS, Explaining
from kubedl.console.kinds import job_resources
from kubedl.console.people import Caller, Person
from kubedl.console.problems import RefusalError
from kubedl.history.observed import RecordedJob
from kubedl.kube import codec
from kubedl.kube.credentials import Credentials
from kubedl.kube.errors import ForbiddenError
from kubedl.kube.types.meta import ObjectKey
from tests.unit.console.world import Clock, World
from tests.unit.why.building import ended, restarting, running

PYTORCH = job_resources()["pytorchjob"]
JOB: dict[str, Any] = {
    "apiVersion": "training.kubedl.io/v1alpha1",
    "kind": "PyTorchJob",
    "metadata": {
        "name": "bert",
        "namespace": "nlp",
        "uid": "uid-bert",
        "creationTimestamp": "2026-11-18T11:00:00Z",
    },
    "spec": {"suspend": True, "pytorchReplicaSpecs": {"Worker": {"replicas": 1}}},
    "status": {"state": "Suspended", "conditions": [{"type": "Suspended", "status": "True"}]},
}
SEEN: RecordedJob = codec.decode(codec.encode(JOB), PYTORCH.type)  # as the console's cache has it


@dataclass
class Api:
    """An API server with one job, which Ada may read."""

    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)  # whose token, which path
    held: asyncio.Event | None = None  # nothing is answered before
    holds: str = ""  # only what has this in its path is held
    job: dict[str, Any] = field(default_factory=lambda: JOB)
    pods: list[dict[str, Any]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """Answer as a server with nothing but the job."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.asked.append((token, request.path))
        if self.held is not None and self.holds in request.path:
            await self.held.wait()
        if token != "token-of-ada":  # noqa: S105
            return _status(403, "Forbidden")
        if request.path.endswith("/pytorchjobs/bert"):
            return web.json_response(self.job)
        if request.path.endswith("/pods"):
            return web.json_response({"kind": "PodList", "items": self.pods})
        if request.path.endswith("/v1alpha1"):
            names = [{"name": "pytorchjobs", "kind": "PyTorchJob", "namespaced": True, "verbs": ["get"]}]
            return web.json_response({"kind": "APIResourceList", "resources": names})
        return _status(404, "NotFound")

    def caller(self, name: str) -> Caller:
        """Somebody with a token of their own."""
        return Caller(Person(name), Credentials(self.url, None).with_token(f"token-of-{name}"))


def _status(code: int, reason: str) -> web.Response:
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}
    return web.json_response(body, status=code)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with _serving() as made:
        yield made


@asynccontextmanager
async def _serving() -> AsyncIterator[Api]:
    made, application = Api(), web.Application()
    application.router.add_get("/{path:.*}", made.answer)
    server = TestServer(application)
    await server.start_server()
    made.url = str(server.make_url("")).rstrip("/")
    yield made
    if made.held is not None:
        made.held.set()
    await server.close()


async def test_the_answer_is_that_of_the_client_which_is_that_of_the_command(api: Api) -> None:
    """The same sentence, facts and commands, of the same requests; each with the person's token."""
    async with asyncio.timeout(REQUEST_SECONDS / 2):  # a request that keeps the event loop waiting is never answered
        found = await Explaining(Clock()).why(api.caller("ada"), PYTORCH, SEEN)
    by_console = {path for _, path in api.asked}
    assert {token for token, _ in api.asked} == {"token-of-ada"}
    api.asked.clear()
    async with AsyncTrainingClient(server=api.url, token="token-of-ada", namespace="nlp") as client:  # noqa: S106
        diagnosis = await client.why("pytorchjob/bert")
    assert (found.first, found.rule) == (diagnosis.first, diagnosis.rule)
    assert found.rule
    assert [(one.label, one.text) for one in found.facts] == list(diagnosis.supporting)
    assert [one.command for one in found.tries] == [one.command for one in diagnosis.tries]
    assert by_console <= {path for _, path in api.asked}


async def test_an_answer_is_used_for_some_seconds_by_the_same_person_alone(api: Api) -> None:
    clock = Clock()
    made = Explaining(clock)
    both = await asyncio.gather(*(made.why(api.caller("ada"), PYTORCH, SEEN) for _ in range(2)))
    count = len(api.asked)
    assert both[0] is both[1]
    await made.why(api.caller("ada"), PYTORCH, SEEN)
    assert len(api.asked) == count
    with pytest.raises(ForbiddenError):
        await made.why(api.caller("ben"), PYTORCH, SEEN)
    clock.now += FRESH_SECONDS
    await made.why(api.caller("ada"), PYTORCH, SEEN)
    assert len(api.asked) > count + 1


async def test_another_state_of_a_job_is_asked_about_at_once(world: World, api: Api) -> None:
    """And a job that was made anew; while nothing changes the answer is used."""
    world.reviewer.allow("ada", "nlp")

    async def asked() -> int:
        api.asked.clear()
        await world.pages.why(api.caller("ada"), "pytorchjob", ObjectKey("nlp", "bert"))
        return len(api.asked)

    world.put_job("nlp", "bert", state="Suspended")
    assert (await asked() > 0, await asked()) == (True, 0)
    world.put_job("nlp", "bert", state="Failed")
    assert await asked() > 0
    world.put_whole_job("nlp", "bert", {"uid": "another", "resourceVersion": "2"}, {}, {"state": "Failed"})
    assert await asked() > 0


async def test_those_who_wait_are_bounded(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "MOST_ASKED", 2)
    api.held, made = asyncio.Event(), Explaining(Clock())
    waiting = [asyncio.create_task(made.why(api.caller(name), PYTORCH, SEEN)) for name in ("ada", "ben")]
    await asyncio.sleep(0)
    with pytest.raises(RefusalError) as refused:
        await made.why(api.caller("cara"), PYTORCH, SEEN)
    assert refused.value.status == 503
    api.held.set()
    ada, ben = await asyncio.gather(*waiting, return_exceptions=True)
    assert (type(ada).__name__, type(ben)) == ("WhyPage", ForbiddenError)


async def test_one_person_does_not_take_all_places(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor by other tokens of the same account, each of which has another id."""
    monkeypatch.setattr(explaining, "MOST_OF_ONE", 2)
    api.held, made = asyncio.Event(), Explaining(Clock())
    tokens = [replace(api.caller("ada"), person=Person.of("ada", extra={"id": (str(n),)})) for n in range(3)]
    waiting = [asyncio.create_task(made.why(one, PYTORCH, SEEN)) for one in (*tokens[:2], api.caller("ben"))]
    await asyncio.sleep(0)
    with pytest.raises(RefusalError):
        await made.why(tokens[2], PYTORCH, SEEN)
    api.held.set()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(one).__name__ for one in found] == ["WhyPage", "WhyPage", "ForbiddenError"]


async def test_an_api_server_that_is_silent_does_not_hold_the_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "PATIENCE_SECONDS", 0.05)
    api.held = asyncio.Event()
    with pytest.raises(RefusalError) as refused:
        await Explaining(Clock()).why(api.caller("ada"), PYTORCH, SEEN)
    assert refused.value.status == 504


async def test_a_log_that_never_comes_does_not_hold_the_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a node that is gone: what is known without it is said, and no request is left behind."""
    monkeypatch.setattr(explaining, "REQUEST_SECONDS", 1.0)  # longer than a busy machine takes to answer
    api.job, api.pods = restarting(exitCode=1, reason="Error"), [ended(1), running()]
    api.held, api.holds = asyncio.Event(), "/log"
    before = asyncio.all_tasks()
    found = await asyncio.wait_for(Explaining(Clock()).why(api.caller("ada"), PYTORCH, SEEN), 60)
    assert any(path.endswith("/log") for _, path in api.asked)
    assert (found.rule, found.pod) == ("run.exit", "bert-worker-2")
    await asyncio.sleep(0)
    assert not [one for one in asyncio.all_tasks() - before if "OwnCalls.call" in repr(one.get_coro())]


@pytest.mark.parametrize("name", ["bert", "nothing"])
async def test_a_job_that_may_not_be_listed_is_refused_whether_it_exists_or_not(
    world: World, api: Api, name: str
) -> None:
    """Before anything is asked in anybody's name."""
    world.put_job("nlp", "bert")
    with pytest.raises(RefusalError) as refused:
        await world.pages.why(api.caller("ben"), "pytorchjob", ObjectKey("nlp", name))
    assert (refused.value.status, name in str(refused.value), api.asked) == (403, False, [])
