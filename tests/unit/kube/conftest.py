"""A client and the stand-in server that it talks to, over a real socket."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from aiohttp.test_utils import RawTestServer

from kubedl.kube.client import Client
from kubedl.kube.credentials import Credentials
from testbed.instance import Instance
from testbed.pki import Authority
from tests.unit.kube.server import Script


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def server(script: Script) -> AsyncIterator[str]:
    """Its address."""
    async with RawTestServer(script.handle, handler_cancellation=True) as running:
        yield str(running.make_url("")).rstrip("/")


@pytest.fixture
async def connect(server: str) -> AsyncIterator[Callable[..., Client]]:
    """Makes clients of the server; arguments are the client's, and `token`."""
    clients: list[Client] = []

    def make(**options: object) -> Client:
        credentials = Credentials(server, None, options.pop("token", None))  # type: ignore[arg-type]
        clients.append(Client(credentials, **options))  # type: ignore[arg-type]
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


@pytest.fixture
async def client(connect: Callable[..., Client]) -> Client:
    return connect()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    """Certificates of a server on loopback and of an administrator."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBEDL_TESTBED_HOME", str(tmp_path_factory.mktemp("authority")))
        yield Authority.create(Instance(0))
