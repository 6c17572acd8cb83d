"""HTTP/1.1 to one server, as little of it as an API server speaks.

A request leaves in one piece and exactly once: nothing here sends it again, and whoever made it is told when its
answer did not come. That, and half the processor time of a general client, is why this exists (docs/architecture.md).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

from kubedl.kube.certificates import TLSConfig
from kubedl.kube.fairness import FairSemaphore

Render = Callable[[], bytes]  # the body of a request, made when the request can go out
Permit = Callable[[], None]  # asked when nothing is left to be waited for; raises if the request must not go out

IDLE = 50.0  # seconds; a load balancer drops a silent connection later, and says nothing


class BrokenError(ConnectionError):
    """A connection that ended too early, or that does not speak HTTP."""


class Head(NamedTuple):
    """How an answer begins. Names of headers are in lower case."""

    status: int
    headers: Mapping[bytes, bytes]


class Pool:
    """Connections to one server, kept for the next call. Calls of all namespaces share them fairly."""

    def __init__(self, server: str, tls: TLSConfig | None, headers: str, sockets: int) -> None:
        address = urlsplit(server)
        self._host = address.hostname or ""
        self._port = address.port or (443 if tls else 80)
        self._tls = tls
        self._path = address.path.rstrip("/")
        self._headers = f"Host: {address.netloc}\r\n{headers}"
        self._room = FairSemaphore(sockets)
        self._idle: list[_Connection] = []

    async def call(
        self, method: str, target: str, headers: str, body: Render | None, seconds: float, permit: Permit
    ) -> tuple[Head, bytes]:
        """The whole answer. TimeoutError so many seconds after its turn has come; the body is rendered then."""
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
            answer = b"".join([part async for part in connection.parts()])
        except BaseException as error:
            connection.drop()  # the answer may still come, and would be taken for the next one's
            if self._tls is not None and isinstance(error, OSError):
                self._tls.suspect()  # TLS 1.3 says only now that a client's certificate is not taken
            raise
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)
        return head, answer

    @asynccontextmanager
    async def stream(
        self, target: str, headers: str, silence: float
    ) -> AsyncIterator[tuple[Head, AsyncIterator[bytes]]]:
        """An answer that goes on, on a connection of its own; TimeoutError when nothing comes for so long."""
        async with asyncio.timeout(silence) as patience:
            connection = await self._open()
            try:
                head = await connection.send(self._request("GET", target, headers, None))
                patience.reschedule(None)
                yield head, connection.parts(silence)
            finally:
                connection.drop()

    def close(self) -> None:
        """End what is idle; calls under way end theirs."""
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
            return await self._connect(renewed)  # nothing was sent on the other one

    async def _connect(self, context: ssl.SSLContext | None) -> "_Connection":
        loop, name = asyncio.get_running_loop(), self._tls.server_name if self._tls is not None else None
        made = partial(_Connection, context)
        return (await loop.create_connection(made, self._host, self._port, ssl=context, server_hostname=name))[1]

    def _request(self, method: str, target: str, headers: str, body: bytes | None) -> bytes:
        if " " in target or not target.isprintable():
            raise ValueError(f"{target!r} is no path")  # it could smuggle in a second request
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        head = f"{method} {self._path}{target} HTTP/1.1\r\n{self._headers}{headers}{length}\r\n"
        return head.encode() + (body or b"")


class _Connection(asyncio.Protocol):
    """One answer at a time. What arrives waits for its reader, which takes all of it before more can come."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context  # one that was made with certificates of old is not used again
        self.idle_since = 0.0
        self._arrived = bytearray()
        self._reader: asyncio.Future[None] | None = None
        self._body = _Body(0)
        self._ended = False  # by the server, or will be after this answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        self._ended = True
        self.data_received(b"")

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent: the answer was read to its end, and nothing came after it."""
        return self._body.complete and not self._ended and not self._arrived

    async def send(self, request: bytes) -> Head:
        """Send a request and return how its answer begins."""
        self._transport.write(request)
        status = 100
        while status < 200:  # those are announcements
            while (end := self._arrived.find(b"\r\n\r\n")) < 0:
                await self._more()
            status, headers = head = _parse(bytes(self._arrived[:end]))
            del self._arrived[: end + 4]
        self._body = _Body.announced(head)
        self._ended |= headers.get(b"connection", b"").lower() == b"close"
        return head

    async def parts(self, silence: float | None = None) -> AsyncIterator[bytes]:
        """The body as it comes: each time, all that has arrived."""
        while True:
            if part := self._body.take(self._arrived):
                yield part
            if self._body.complete:
                return
            async with asyncio.timeout(silence):
                await self._more()

    def drop(self) -> None:
        """End it without a farewell, for which a silent server would let us wait."""
        if not self._transport.is_closing():
            self._transport.abort()

    async def _more(self) -> None:
        if self._transport.is_closing():
            raise BrokenError("the server ended the connection")
        self._reader = asyncio.get_running_loop().create_future()
        await self._reader


class _Body:
    """How much of what arrives belongs to an answer: a size that was announced, or pieces until an empty one.

    A piece is its size in hexadecimal, a line end, its bytes and a line end.
    """

    def __init__(self, size: int | None) -> None:
        self._left = size or 0  # of all, or of this piece
        self._last = size is not None
        self._begun = False  # a piece, whose line end is to come
        self.complete = size == 0

    @classmethod
    def announced(cls, head: Head) -> "_Body":
        """As the headers say."""
        if head.headers.get(b"transfer-encoding") == b"chunked":
            return cls(None)
        length = head.headers.get(b"content-length", b"0" if head.status in {204, 304} else b"")
        if not length.isdigit():
            raise BrokenError("the server does not say how long its answer is")
        return cls(int(length))

    def take(self, arrived: bytearray) -> bytes:
        """Remove from what has arrived all that belongs to the answer."""
        parts = []
        while not self.complete:
            parts.append(bytes(arrived[: self._left]))
            del arrived[: len(parts[-1])]
            self._left -= len(parts[-1])
            if self._left or not (self._last or self._next_piece(arrived)):
                break
            self.complete = self._last and not self._left
        return b"".join(parts)

    def _next_piece(self, arrived: bytearray) -> bool:
        """Read the size of the next piece, if all of that line is here; after the last one comes an empty line."""
        line = arrived.find(b"\r\n", 2 if self._begun else 0)  # after the line end of the piece before
        if line < 0:
            return False
        try:
            size = int(arrived[:line], 16)
        except ValueError as error:
            raise BrokenError(f"the server's answer is not in pieces: {error}") from error
        end = line + (2 if size else 4)
        if len(arrived) < end:
            return False
        del arrived[:end]
        self._left, self._last, self._begun = size, size == 0, True
        return True


def _namespace(target: str) -> str:
    """In which a call is made; what is in none is a group of its own."""
    return target.partition("/namespaces/")[2].partition("?")[0].partition("/")[0]


def _parse(data: bytes) -> Head:
    first, *rest = data.split(b"\r\n")
    if not (first.startswith(b"HTTP/1.1 ") and first[9:12].isdigit()):
        raise BrokenError(f"the server does not speak HTTP/1.1: {first[:60]!r}")
    pairs = [line.partition(b":") for line in rest]
    return Head(int(first[9:12]), {name.lower(): value.strip() for name, _, value in pairs})
