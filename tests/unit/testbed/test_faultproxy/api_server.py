"""A stand-in API server that remembers what reached it and streams what a test tells it to."""

import asyncio
import ssl
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

DEADLINE = 60


@dataclass(frozen=True)
class Received:
    """A call as the API server saw it."""

    method: str
    target: str
    headers: "Mapping[str, str]"
    body: bytes
    certificate_name: str | None


class ApiServer:
    """Accepts every write, but for the names `refused` (409) and `broken` (connection closed unanswered)."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self.received: list[Received] = []
        self._tls = tls
        self._streams: set[asyncio.Queue[bytes | None]] = set()
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        listening: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(listening)))
        self._thread.start()
        self._loop, self._stopping, port = listening.result(DEADLINE)
        self.url = f"https://127.0.0.1:{port}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(DEADLINE)

    def emit(self, chunk: bytes | None) -> None:
        """Send bytes on every open stream; None ends the streams."""

        def put() -> None:
            for stream in self._streams:
                stream.put_nowait(chunk)

        self._loop.call_soon_threadsafe(put)

    def break_streams(self) -> None:
        """Cut every open stream in the middle."""
        self.emit(b"")

    def wait_received(self, count: int) -> None:
        """Wait until so many calls have arrived."""
        self._wait(lambda: len(self.received) >= count, f"{count} calls; got {self.received}")

    def wait_streams(self, count: int) -> None:
        """Wait until so many streams are open."""
        self._wait(lambda: len(self._streams) == count, f"{count} streams; open are {len(self._streams)}")

    def _wait(self, condition: "Callable[[], bool]", what: str) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, DEADLINE), f"waited for {what}"

    async def _serve(self, listening: "Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]]") -> None:
        stopping = asyncio.Event()
        application = web.Application(client_max_size=0)
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.05, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls).start()
        listening.set_result((asyncio.get_running_loop(), stopping, runner.addresses[0][1]))
        await stopping.wait()
        for connection in runner.server.connections if runner.server else ():
            if connection.transport is not None:
                connection.transport.abort()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        with self._changed:
            self.received.append(_describe(request, body))
            self._changed.notify_all()
        if "watch" in request.query or "follow" in request.query:
            return await self._stream(request)
        if request.path.endswith("/broken"):
            assert request.transport is not None
            request.transport.abort()
        status = 409 if request.path.endswith("/refused") else 200 if request.method == "GET" else 201
        response = web.json_response({"path": request.path}, status=status)
        response.headers.update({"Audit-Id": "audit-1", "Retry-After": "7", "Keep-Alive": "timeout=5"})
        response.headers.extend([("Warning", "first"), ("Warning", "second")])
        return response

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        content_type = "application/json" if "watch" in request.query else "text/plain"
        response = web.StreamResponse(headers={"Content-Type": content_type, "Audit-Id": "audit-2"})
        await response.prepare(request)
        stream: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._count_stream(lambda: self._streams.add(stream))
        try:
            while (chunk := await stream.get()) is not None:
                if not chunk:
                    assert request.transport is not None
                    request.transport.abort()
                await response.write(chunk)
        finally:
            self._count_stream(lambda: self._streams.discard(stream))
        return response

    def _count_stream(self, change: "Callable[[], None]") -> None:
        with self._changed:
            change()
            self._changed.notify_all()


def _describe(request: web.Request, body: bytes) -> Received:
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert")
    name = certificate["subject"][0][0][1] if certificate else None
    return Received(request.method, request.raw_path, request.headers, body, name)
