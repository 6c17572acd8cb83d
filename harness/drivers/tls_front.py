"""A TLS front before the API server, with certificates of its own, which may be replaced while clients are connected.

It passes bytes on, so a client's token reaches the API server as it is. A client without one is who the front's
certificate says that it is, as behind a proxy that authenticates its users.
"""

import asyncio
import socket
import ssl
import threading
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Self

from harness.drivers.operator_process import kubeconfig_of
from testbed.cluster import Cluster

CHUNK = 65_536
DEADLINE = 10.0  # seconds
POLITE = 1.0  # seconds that the end of a connection may take
HANDSHAKE = 5.0
API_SERVER = 6443


class TLSFront:
    """`with TLSFront(cluster, context) as front:` listens at one port, which stays the same."""

    def __init__(self, cluster: Cluster, shown: ssl.SSLContext, *, host: str = "127.0.0.1", user: str = "") -> None:
        """`shown` has the certificate for clients, and whose certificates it takes; `user` is who they are upstream."""
        self._shown = shown
        self._host, self.port = host, 0
        self._upstream_host = cluster.instance.gateway
        self._upstream = ssl.create_default_context(cafile=cluster.authority.certificate)
        if user:
            kubeconfig_of(cluster, user)
            self._upstream.load_cert_chain(*cluster.authority.files(user))
        self._turn = 0  # grows with each certificate
        self._clients: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live(ready)), name="tls-front", daemon=True)
        self._thread.start()
        self._loop = ready.result(DEADLINE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(DEADLINE)

    @property
    def url(self) -> str:
        """The address that stands in for the API server's."""
        return f"https://{self._host}:{self.port}"

    def show(self, shown: ssl.SSLContext) -> None:
        """Show this certificate from now on; whoever is connected is cut off, as when an API server is restarted."""
        asyncio.run_coroutine_threadsafe(self._show(shown), self._loop).result(DEADLINE)

    async def _live(self, ready: "Future[asyncio.AbstractEventLoop]") -> None:
        self._over, loop = asyncio.Event(), asyncio.get_running_loop()
        try:
            listening = socket.create_server((self._host, 0), backlog=128)
        except BaseException as error:
            ready.set_exception(error)
            raise
        with listening:
            listening.setblocking(False)
            self.port = listening.getsockname()[1]
            accepting = asyncio.ensure_future(self._accept(listening))
            ready.set_result(loop)
            await self._over.wait()
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
        self._cut()
        await asyncio.gather(*self._serving)

    async def _show(self, shown: ssl.SSLContext) -> None:
        self._shown = shown
        self._cut()

    def _cut(self) -> None:
        """Nothing is cancelled: who is still on the way to the API server finds its client gone."""
        self._turn += 1
        for client in self._clients:
            client.transport.abort()

    async def _accept(self, listening: socket.socket) -> None:
        """For as long as the front lives. A server that is closed and opened anew loses connections, silently."""
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(listening)
            serving = asyncio.ensure_future(self._serve(connection, self._turn))
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)

    async def _serve(self, connection: socket.socket, turn: int) -> None:
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self._shown, ssl_handshake_timeout=HANDSHAKE
            )
        except OSError:
            return  # they do not trust each other
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        if turn != self._turn:  # shook hands with the certificate of before
            transport.abort()
            return
        self._clients.add(writer)
        await self._relay(reader, writer)
        self._clients.discard(writer)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until one side ends; what was received is sent before."""
        try:
            far_reader, far_writer = await asyncio.open_connection(self._upstream_host, API_SERVER, ssl=self._upstream)
        except OSError:
            writer.transport.abort()
            return
        ways = [asyncio.ensure_future(_pump(reader, far_writer)), asyncio.ensure_future(_pump(far_reader, writer))]
        _, left = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in left:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        await asyncio.gather(_end(writer), _end(far_writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()


async def _end(writer: asyncio.StreamWriter) -> None:
    """Send what is left, and break a connection whose other side does not end it too."""
    writer.close()
    try:
        async with asyncio.timeout(POLITE):
            await writer.wait_closed()
    except OSError:  # TimeoutError too
        writer.transport.abort()
