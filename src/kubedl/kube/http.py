"""Minimal HTTP/1.1 client for one server.

A request is sent in one piece and exactly once: this module never retries, and reports a missing response to the
caller. That, and half the CPU time of a general client, is the reason for this module (docs/architecture.md).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from socket import socket
from typing import Protocol
from urllib.parse import urlsplit

from kubedl.kube.fair_semaphore import FairSemaphore
from kubedl.kube.http_parser import LARGEST_HEAD, Body, ConnectionBrokenError, Head, parse_head
from kubedl.kube.keep_alive import keep_alive

Render = Callable[[], bytes]  # the body of a request, rendered when the request can be sent
Dial = Callable[[], socket]  # opens a connection by another way, such as a proxy; may block
Permit = Callable[[], None]  # called right before the request is sent; raises if it must not be sent

UNREAD = 1 << 20  # bytes of a stream that wait for their reader, before the server is made to wait
IDLE = 50.0  # seconds; shorter than the idle timeout of load balancers, which drop connections silently


class TLSSource(Protocol):
    """Where the SSL context for new connections comes from."""

    server_name: str | None

    async def context(self) -> ssl.SSLContext:
        """Return the current context."""

    def suspect(self) -> None:
        """Look for other certificates at the next use."""


class Pool:
    """Connection pool for one server, shared fairly by all namespaces."""

    def __init__(
        self, server: str, tls: TLSSource | None, headers: str, sockets: int, dial: Dial | None = None
    ) -> None:
        address = urlsplit(server)
        self._host = address.hostname or ""
        self._port = address.port or (443 if tls else 80)
        self._tls = tls
        self._dial = dial
        self._path = address.path.rstrip("/")
        self._headers = f"Host: {address.netloc}\r\n{headers}"
        self._room = FairSemaphore(sockets)
        self._idle: list[_Connection] = []

    async def call(
        self, method: str, target: str, headers: str, body: Render | None, seconds: float, permit: Permit
    ) -> tuple[Head, bytes]:
        """Return the whole response. The timeout starts when a connection is available; the body is rendered then."""
        await self._room.acquire(_namespace(target))
        try:
            data = body() if body is not None else None
            async with asyncio.timeout(seconds):
                return await self._exchange(method, target, headers, data, permit)
        finally:
            self._room.release()

    async def _exchange(
        self, method: str, target: str, headers: str, body: bytes | None, permit: Permit
    ) -> tuple[Head, bytes]:
        connection = await self._connection()
        try:
            permit()
            head = await connection.send(self._request(method, target, headers, body))
            answer = await connection.body()
        except BaseException as error:
            connection.drop()  # the response may still arrive, and would be taken for that of the next request
            if self._tls is not None and isinstance(error, OSError):
                self._tls.suspect()  # TLS 1.3 reports a rejected client certificate only now
            raise
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)
        return head, answer

    @asynccontextmanager
    async def stream(
        self, target: str, headers: str, silence: float | None, opening: float | None = None
    ) -> AsyncIterator[tuple[Head, AsyncIterator[bytes]]]:
        """Stream a response on a separate connection; raises TimeoutError after a period without data.

        `opening` is the time for the response to begin, by default the same. Without a limit for silence, the kernel
        finds out that the server is gone.
        """
        async with asyncio.timeout(opening if opening is not None else silence) as patience:
            connection = await self._open()
            try:
                head = await connection.send(self._request("GET", target, headers, None))
                patience.reschedule(None)
                if silence is None:
                    connection.keep_alive()
                yield head, connection.parts(silence)
            finally:
                connection.drop()

    def close(self) -> None:
        """Close idle connections; active calls close their own."""
        while self._idle:
            self._idle.pop().drop()

    async def _connection(self) -> "_Connection":
        context = await self._context()
        while self._idle:
            connection = self._idle.pop()
            fresh = asyncio.get_running_loop().time() - connection.idle_since < IDLE
            if connection.reusable and fresh and connection.context is context:
                return connection
            connection.drop()
        return await self._open()

    async def _context(self) -> ssl.SSLContext | None:
        return await self._tls.context() if self._tls is not None else None

    async def _open(self) -> "_Connection":
        context = await self._context()
        try:
            return await self._connect(context)
        except ssl.SSLError:
            if self._tls is None:
                raise
            self._tls.suspect()
            if (renewed := await self._tls.context()) is context:
                raise
            return await self._connect(renewed)  # nothing was sent on the stale one

    async def _connect(self, context: ssl.SSLContext | None) -> "_Connection":
        loop, name = asyncio.get_running_loop(), self._tls.server_name if self._tls is not None else None
        made = partial(_Connection, context)
        if self._dial is not None:
            opened = await asyncio.to_thread(self._dial)
            opened.setblocking(False)
            return (await loop.create_connection(made, sock=opened, ssl=context, server_hostname=name or self._host))[1]
        return (await loop.create_connection(made, self._host, self._port, ssl=context, server_hostname=name))[1]

    def _request(self, method: str, target: str, headers: str, body: bytes | None) -> bytes:
        if " " in target or not target.isprintable():
            raise ValueError(f"{target!r} is not a path")  # would allow request smuggling
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        head = f"{method} {self._path}{target} HTTP/1.1\r\n{self._headers}{headers}{length}\r\n"
        return head.encode() + (body or b"")


class _Connection(asyncio.Protocol):
    """A connection with one response at a time. Received data is buffered until its reader takes all of it."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context  # connections with old certificates are not reused
        self.idle_since = 0.0
        self._arrived = bytearray()
        self._reader: asyncio.Future[None] | None = None
        self._body = Body(0)
        self._ended = False  # by the server, now or after this response
        self._is_stream = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        if self._is_stream and len(self._arrived) > UNREAD:
            self._transport.pause_reading()
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        self._ended = True
        self.data_received(b"")

    @property
    def reusable(self) -> bool:
        """Return whether the connection can be reused: the response was read completely, and no data follows it."""
        return self._body.complete and not self._ended and not self._arrived

    async def send(self, request: bytes) -> Head:
        """Send a request and return the status line and headers of the response."""
        self._transport.write(request)
        while True:
            while (end := self._arrived.find(b"\r\n\r\n")) < 0:
                if len(self._arrived) > LARGEST_HEAD:
                    raise ConnectionBrokenError("the server's headers do not end")
                await self._more()
            head = parse_head(bytes(self._arrived[:end]))
            del self._arrived[: end + 4]
            self._ended |= head.is_last
            if head.status >= 200:  # 1xx are interim responses
                break
        self._body = Body.announced(head)
        return head

    async def body(self) -> bytes:
        """Return the whole body, without a timer per chunk: the call has one timeout."""
        parts = [self._body.take(self._arrived)]
        while not self._body.complete:
            await self._more()
            parts.append(self._body.take(self._arrived))
        return b"".join(parts)

    def keep_alive(self) -> None:
        """Let the kernel ask after a server that has been silent."""
        keep_alive(self._transport.get_extra_info("socket"))

    async def parts(self, silence: float | None) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. A reader that is slow makes the server wait."""
        self._is_stream = True
        while True:
            if part := self._body.take(self._arrived):
                yield part
                continue  # more may have arrived since, and the server may have closed the connection after it
            if self._body.complete:
                return
            async with asyncio.timeout(silence):
                await self._more()

    def drop(self) -> None:
        """Close without a TLS shutdown, which could block on a silent server."""
        if not self._transport.is_closing():
            self._transport.abort()

    async def _more(self) -> None:
        if self._transport.is_closing():
            raise ConnectionBrokenError("the server closed the connection")
        if self._is_stream:
            self._transport.resume_reading()
        self._reader = asyncio.get_running_loop().create_future()
        await self._reader


def _namespace(target: str) -> str:
    """Return the namespace of a path, as the group for fairness; a path without namespace is a group of its own."""
    return target.partition("/namespaces/")[2].partition("?")[0].partition("/")[0]
