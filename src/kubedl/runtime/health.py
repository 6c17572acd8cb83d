"""Probes and metrics over HTTP. Served from the main event loop, so a blocked loop fails the liveness probe."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

ADDRESS = "127.0.0.1:8080"  # kubelets probe a pod from outside: * binds all addresses, IPv4 and IPv6

Complaints = Callable[[], Sequence[str]]


@asynccontextmanager
async def serve(
    address: str, *, dead: Complaints, missing: Complaints, metrics: Callable[[], bytes]
) -> AsyncIterator[str]:
    """Serve at `host:port` while the block runs; yields the address, with the actual port if 0 was given.

    `dead` returns failures that need a restart (/healthz), `missing` caches that are not synced yet (/readyz).
    """

    async def page(_: web.Request) -> web.Response:
        return web.Response(body=metrics(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    application = web.Application()
    application.router.add_get("/healthz", _probe(dead, "dead"))
    application.router.add_get("/readyz", _probe(missing, "missing"))
    application.router.add_get("/metrics", page)
    host, _, port = address.rpartition(":")
    host = host or "127.0.0.1"
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, None if host == "*" else host.strip("[]"), int(port)).start()
        yield f"{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _probe(complaints: Complaints, what: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        names = complaints()
        return web.Response(status=503 if names else 200, text="".join(f"{what}: {name}\n" for name in names) or "ok\n")

    return answer
