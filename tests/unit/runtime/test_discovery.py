"""Kinds that a cluster does not have: found by discovery, looked for again, and said once."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest
from structlog.testing import capture_logs

from kubedl.kube import codec
from kubedl.kube.errors import ApiError, ForbiddenError, NotFoundError, UnknownOutcomeError
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import Resource
from kubedl.runtime.discovery import FRESH, Discovery
from kubedl.runtime.manager import Manager
from tests.unit.runtime.background import running
from tests.unit.runtime.fake_server import Server

if TYPE_CHECKING:
    from kubedl.kube.client import Client

pytestmark = pytest.mark.looptime(noop_cycles=0)

DATASETS = Resource(Pod, "Dataset", "datasets", "v1alpha1", "data.fluid.io")
RUNTIMES = Resource(Pod, "Runtime", "runtimes", "v1alpha1", "data.fluid.io")


class Asked:
    """A server that answers questions of discovery."""

    def __init__(self, answer: ApiError | list[str]) -> None:
        self.answer = answer
        self.paths: list[str] = []

    async def call(self, _: str, __: object, path: str, **___: object) -> bytes:
        self.paths.append(path)
        if isinstance(self.answer, ApiError):
            raise self.answer
        return codec.encode({"resources": [{"name": name} for name in self.answer]})

    def discovery(self) -> Discovery:
        return Discovery(cast("Client", self))


async def test_one_question_tells_of_all_kinds_of_a_group() -> None:
    asked = Asked(["datasets"])
    discovery = asked.discovery()
    found = await asyncio.gather(discovery.serves(DATASETS), discovery.serves(RUNTIMES))
    assert list(found) == [True, False]
    assert asked.paths == ["/apis/data.fluid.io/v1alpha1"]
    asked.answer = ["datasets", "runtimes"]
    await asyncio.sleep(FRESH + 1)
    assert await discovery.serves(RUNTIMES)


@pytest.mark.parametrize(
    ("error", "served"),
    [
        (NotFoundError(404, "NotFound", "no such group"), False),
        (ForbiddenError(403, "Forbidden", "no right to discovery"), True),
        (UnknownOutcomeError(0, "", "cut"), True),
    ],
)
async def test_what_cannot_be_known_is_left_to_the_watch(error: ApiError, served: bool) -> None:
    """Which says why it is refused, where it is."""
    assert await Asked(error).discovery().serves(DATASETS) is served


async def test_a_missing_kind_makes_no_warning_and_is_found_when_it_comes(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For an hour; then it is installed. Nobody waits for it meanwhile, and its objects are not asked for."""
    asked = Asked(NotFoundError(404, "NotFound", "no such group"))
    monkeypatch.setattr(Server, "call", _call(asked), raising=False)
    manager = Manager(server.client)
    store = manager.informer(DATASETS).store

    async def elect(_: object) -> None:
        await asyncio.Event().wait()

    with capture_logs() as logs:
        async with running(manager.run(elect)):
            await asyncio.sleep(3600)
            assert manager.unsynced() == []
            assert not server.calls
            assert 90 <= len(asked.paths) <= 181
            asked.answer = ["datasets"]
            await asyncio.sleep(60)
            assert len(store) == len(server.readable()) > 0
    assert [entry for entry in logs if entry["log_level"] != "info"] == []
    assert [entry["event"] for entry in logs].count(
        "the cluster does not serve this kind, checking again periodically"
    ) == 1


def _call(asked: Asked) -> Callable[..., Any]:
    async def call(_: object, verb: str, resource: object, path: str, **named: object) -> bytes:
        return await asked.call(verb, resource, path, **named)

    return call
