"""A stand-in API server on the test's own loop: answers what it was told, in order, and remembers who asked."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from kubedl.kube import codec

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Received:
    """A call as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any

    @property
    def bearer(self) -> str:
        """The token that came with it."""
        return self.headers.get("Authorization", "").removeprefix("Bearer ")


class Script:
    """What the server answers: the planned answers first, then the usual one for ever."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.planned: deque[Handler] = deque()
        self.usual: Handler = answer(200, {"metadata": {"name": "usual", "uid": "u"}})

    def plan(self, *handlers: Handler) -> None:
        """Answer the next calls like this."""
        self.planned.extend(handlers)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One call."""
        assert isinstance(request, web.BaseRequest)
        raw = await request.read()
        body = codec.decode(raw, dict) if raw else None
        self.received.append(Received(request.method, request.path, dict(request.query), request.headers, body))
        handler = self.planned.popleft() if self.planned else self.usual
        return await handler(request)  # type: ignore[arg-type]


def answer(status: int, body: object = None, **headers: str) -> Handler:
    """A whole answer; bytes are sent as they are, anything else as JSON."""

    async def handle(_: web.Request) -> web.StreamResponse:
        content = body if isinstance(body, bytes) else codec.encode(body)
        return web.Response(status=status, body=content, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return handle


def status(code: int, reason: str, message: str = "no", **headers: str) -> Handler:
    """A refusal as the API server words it."""
    return answer(code, {"kind": "Status", "code": code, "reason": reason, "message": message}, **headers)


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Break the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def stay_silent(_: web.Request) -> web.StreamResponse:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def stream(chunks: Iterable[bytes], *, then: Handler | None = None) -> Handler:
    """A watch that brings these bytes and ends, or does `then`."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if then is not None:
            await then(request)
        return response

    return handle
