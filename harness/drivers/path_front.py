"""A reverse proxy with several programs on one host: the one below a path is passed on, and streamed as it comes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, web

HOPS = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "te", "trailer"})


@dataclass
class PathFront:
    """Passes on what is below a path, with it or without it."""

    to: str  # the address of the program
    path: str
    strips: bool  # whether the program gets addresses without the path
    outside: list[str] = field(default_factory=list)  # addresses that were asked of other programs

    async def answer(self, session: ClientSession, request: web.Request) -> web.StreamResponse:
        """Pass one request on."""
        asked = request.path_qs
        if not (asked + "/").startswith(f"{self.path}/") and not asked.startswith(f"{self.path}?"):
            self.outside.append(asked)
            return web.Response(status=404, text="another program")
        address = asked.removeprefix(self.path) or "/" if self.strips else asked
        body = await request.read()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOPS}
        async with session.request(
            request.method, self.to + address, headers=headers, data=body or None, allow_redirects=False
        ) as given:
            ours = web.StreamResponse(status=given.status)
            for name, value in given.headers.items():
                if name.lower() not in HOPS:
                    ours.headers.add(name, value)
            await ours.prepare(request)
            with suppress(ConnectionError):  # the browser has left
                async for part in given.content.iter_any():
                    await ours.write(part)
            return ours


@asynccontextmanager
async def fronted(to: str, path: str, *, strips: bool) -> AsyncIterator[tuple[PathFront, str]]:
    """The proxy, and the address below which browsers have the program."""
    front = PathFront(to, path, strips)
    async with ClientSession(
        auto_decompress=False, cookie_jar=DummyCookieJar(), timeout=ClientTimeout(total=None)
    ) as session:

        async def answer(request: web.Request) -> web.StreamResponse:
            return await front.answer(session, request)

        application = web.Application()
        application.router.add_route("*", "/{anything:.*}", answer)
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield front, f"http://127.0.0.1:{runner.addresses[0][1]}{path}"
        finally:
            await runner.cleanup()
