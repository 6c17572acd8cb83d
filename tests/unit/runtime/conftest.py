"""A model server with three pods, a store of them, and the reflector between the two."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.watch import ListOptions
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from tests.unit.runtime.fake_server import NAMESPACE, Server


@pytest.fixture
def server() -> Server:
    server = Server()
    for name in ("a", "b", "c"):
        server.put(name)
    return server


@pytest.fixture
def store() -> Store[Pod]:
    return Store()


@pytest.fixture
async def reflector(server: Server, store: Store[Pod]) -> Reflector[Pod]:
    return Reflector(server.client, PODS, store, ListOptions(NAMESPACE), jitter=lambda: 0.5)


@pytest.fixture(params=[True, False], ids=["WatchList", "pages"])
def both_ways(request: pytest.FixtureRequest, server: Server) -> None:
    """With a server that has WatchList, and with one that has not."""
    server.watch_list = request.param


@pytest.fixture
def logs() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged, instead of printing it: tracebacks are printed slowly."""
    with capture_logs() as captured:
        yield captured
