"""The proxy ends while the API server is too busy to answer calls or to end connections."""

import gc
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from testbed.faultproxy import FaultProxy
from testbed.waiting import until
from tests.unit.testbed.test_faultproxy.api_server import DEADLINE
from tests.unit.testbed.test_faultproxy.conftest import Certificates


@dataclass
class SilentServer:
    """Takes calls, answers none, and never closes a connection."""

    tls: ssl.SSLContext
    opened: list[ssl.SSLSocket] = field(default_factory=list)

    def accept(self, listener: socket.socket) -> None:
        connection = self.tls.wrap_socket(listener.accept()[0], server_side=True)
        connection.recv(65536)
        self.opened.append(connection)


@pytest.fixture
def silent_server(certificates: Certificates) -> Iterator[SilentServer]:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificates.server, certificates.server_key)
    server = SilentServer(tls)
    yield server
    for connection in server.opened:
        connection.close()


def test_no_connection_outlives_the_proxy(
    silent_server: SilentServer,
    make_proxy: Callable[[str], FaultProxy],
    connect: Callable[[FaultProxy], http.client.HTTPSConnection],
) -> None:
    """A watch that its client gave up before the answer began is the one that ends TLS politely."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=silent_server.accept, args=(listener,))
        accepting.start()
        with make_proxy(f"https://127.0.0.1:{listener.getsockname()[1]}") as proxy:
            client = connect(proxy)
            client.request("GET", "/api/v1/pods?watch=true")
            until("the watch to arrive", lambda: bool(silent_server.opened), deadline=DEADLINE)
            client.close()
            silent_server.opened[0].settimeout(DEADLINE)
            assert silent_server.opened[0].recv(1) == b""  # the proxy has asked for the end of TLS
        accepting.join()

    assert "fault-proxy" not in {thread.name for thread in threading.enumerate()}
    gc.collect()  # a connection that was left open warns now, and a warning is an error
