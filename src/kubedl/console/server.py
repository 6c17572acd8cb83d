"""The console over HTTP: routes, and what every answer has in common."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import msgspec
import structlog
from aiohttp import web

from kubedl.console import live_log, safety
from kubedl.console.access import Access
from kubedl.console.assets import Assets
from kubedl.console.log_pages import LOGS
from kubedl.console.open_streams import OpenStreams
from kubedl.console.pages import Pages
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError, from_api, signed_out
from kubedl.console.rights import Question
from kubedl.console.routes import ROUTES, Answer, key_of
from kubedl.console.stream import Stream
from kubedl.console.submit_routes import KINDS, SUBMISSIONS
from kubedl.console.wire import Alive, Session, SignIn
from kubedl.console.wire_base import Wire
from kubedl.console.write_routes import ACTIONS, WRITES
from kubedl.kube.errors import ApiError
from kubedl.kube.types.meta import ObjectKey

LARGEST_BODY = 512 * 1024  # a manifest has at most 64 KiB; each byte may be six in JSON
LARGEST_HEADER = 32 * 1024  # a proxy sends tokens and cookies of its own
COMPRESS_FROM = 4096  # bytes
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
REQUEST = web.RequestKey("request", str)

log = structlog.get_logger()


@dataclass(frozen=True)
class Console:
    """The parts of a console."""

    access: Access
    pages: Pages
    assets: Assets
    signs_of_life: Callable[[], Alive]
    cluster: str
    version: str
    loopback_only: bool = False
    path: str = ""  # under which browsers have the console, such as /kubedl; empty: the whole host
    open_streams: OpenStreams = field(default_factory=OpenStreams)

    def application(self) -> web.Application:
        """Return the routes, at the root and below the path: some proxies in front remove it, and others leave it."""
        application = web.Application(middlewares=[self._guarded], client_max_size=LARGEST_BODY)
        if self.path:
            application.router.add_get(self.path, self._page)
            below = web.Application()
            self._add_routes(below)
            application.add_subapp(self.path, below)
        self._add_routes(application)
        return application

    def _add_routes(self, application: web.Application) -> None:
        job = "/api/v1/jobs/{namespace}/{kind}/{name}"
        add = application.router
        add.add_get("/api/v1/session", self._session)
        add.add_post("/api/v1/session", self._sign_in)
        add.add_delete("/api/v1/session", self._sign_out)
        add.add_get("/api/v1/jobs", self._jobs)
        add.add_get("/api/v1/stream", self._stream)
        add.add_get(job, self._job)
        add.add_get(f"{job}/logs/{{pod}}", self._log)
        for path, answer in {**ROUTES, **ACTIONS, **KINDS}.items():
            add.add_get(f"/api/v1/{path}", partial(self._answer, answer))
        for path, answer in {**WRITES, **SUBMISSIONS}.items():
            add.add_post(f"/api/v1/{path}", partial(self._answer, answer))
        add.add_get("/assets/{name}", self._asset)
        add.add_get("/{path:.*}", self._page)

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check where a request comes from, and turn errors into answers. Headers are added before any byte is sent."""
        request[REQUEST] = secrets.token_hex(6)
        try:
            if self.loopback_only:
                safety.check_host(request.host, _port(request))
            safety.check_origin(request.method, request.host, request.headers)
            answer = await handler(request)
        except RefusalError as refusal:
            answer = _refused(request, refusal)
        except ApiError as error:
            log.warning("the API server failed", path=request.path, error=str(error), request=request[REQUEST])
            answer = _refused(request, from_api(error, "the request failed"))
        except web.HTTPException as error:
            step = "Send less." if error.status == 413 else "Check the address."
            answer = _refused(request, RefusalError(error.status, "request refused", error.reason, step))
        if not answer.prepared:
            answer.headers.update(safety.FIXED)
        return answer

    async def _session(self, request: web.Request) -> web.Response:
        caller = await self.access.caller(request)
        return _json(request, self._session_of(caller))

    def _session_of(self, caller: Caller | None) -> Session:
        name, groups = (caller.person.name, caller.person.groups) if caller is not None else ("", ())
        return Session(mode=self.access.mode, user=name, groups=groups, cluster=self.cluster, version=self.version)

    async def _sign_in(self, request: web.Request) -> web.Response:
        try:
            proof = msgspec.json.decode(await request.read(), type=SignIn)
        except msgspec.MsgspecError as error:
            raise RefusalError(
                400, "not signed in", f"the request has no token or code: {error}", "Sign in again."
            ) from None
        answer = web.Response(status=204)
        person = await self.access.sign_in(request, proof, answer)
        log.info("signed in", user=person.name, mode=self.access.mode)
        return answer

    async def _sign_out(self, request: web.Request) -> web.Response:
        answer = web.Response(status=204)
        self.access.sign_out(answer)
        return answer

    async def _jobs(self, request: web.Request) -> web.Response:
        return _json(request, await self.pages.jobs(await self._caller(request)))

    async def _job(self, request: web.Request) -> web.Response:
        caller = await self._caller(request)
        return _json(request, await self.pages.job(caller, request.match_info["kind"], key_of(request)))

    async def _answer(self, answer: Answer, request: web.Request) -> web.Response:
        return _json(request, await answer(self.pages, await self._caller(request), request))

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        # With a status: later only the stream itself can say that somebody is signed out.
        caller = await self._caller(request)
        stream = Stream(
            self.pages.feed,
            self.pages.rights,
            lambda: self.access.caller(request),
            self.signs_of_life,
            asyncio.get_running_loop().time,
        )
        with self.open_streams.one_of(caller.person):
            events = stream.events(request.headers.get("Last-Event-ID", ""))
            return await _streamed(request, "text/event-stream", events)

    async def _log(self, request: web.Request) -> web.StreamResponse:
        caller, kind, key = await self._caller(request), request.match_info["kind"], key_of(request)
        job = await self.pages.visible_job(caller, kind, key)
        name, query = request.match_info["pod"], request.query
        pod = next((one for one in self.pages.pods_of(job) if one.metadata.name == name), None)
        # The same words for a pod that is not there and for one of another job; the API server judges the right to it.
        if pod is None:
            raise RefusalError(404, f"no log of {name}", f"{key} has no such pod now", "Load the page again.")
        known = pod.spec.names()
        container = query.get("container") or known[0]
        params = live_log.parameters(container, known, query.get("since", ""), query.get("lines", "1000"))
        question = Question("get", "", LOGS, key.namespace)
        # If not, a role may name the pod, which only the API server knows.
        granted = await self.pages.rights.may(caller, question)

        async def still() -> bool:
            again = await self.access.caller(request)
            return again is not None and (not granted or await self.pages.rights.may(again, question))

        with self.open_streams.one_of(caller.person):
            async with live_log.follow(caller, ObjectKey(key.namespace, name), params) as parts:
                allowed = live_log.while_allowed(parts, still, asyncio.get_running_loop().time)
                return await _streamed(request, "text/plain", allowed)

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        return self.assets.file(request.match_info["name"], request.headers.get("Accept-Encoding", ""))

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if request.match_info.get("path", "").startswith("api/"):
            raise RefusalError(404, f"no {request.path}", "the console has no such address", "Check the address.")
        return self.assets.page(self.path)

    async def _caller(self, request: web.Request) -> Caller:
        caller = await self.access.caller(request)
        if caller is None:
            raise signed_out()
        return caller


@asynccontextmanager
async def serve(console: Console, address: str) -> AsyncIterator[str]:
    """Serve at `host:port` while the block runs; yields the address, with the actual port if 0 was given."""
    host, _, port = address.rpartition(":")
    host = host or "127.0.0.1"
    runner = web.AppRunner(
        console.application(),
        access_log=None,  # it would have addresses of people, and nothing that is not in the API server's audit log
        shutdown_timeout=1,
        handle_signals=False,
        handler_cancellation=True,  # a stream ends with its browser
        max_field_size=LARGEST_HEADER,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, None if host == "*" else host.strip("[]"), int(port)).start()
        yield f"{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _streamed(request: web.Request, content_type: str, parts: AsyncIterator[bytes]) -> web.StreamResponse:
    headers = {**safety.FIXED, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    answer = web.StreamResponse(headers=headers)
    answer.content_type, answer.charset = content_type, "utf-8"
    await answer.prepare(request)
    try:
        async for part in parts:
            await answer.write(part)
    except ApiError as error:  # the head is sent: the browser sees the end and comes again
        log.warning("a stream was cut", path=request.path, error=str(error), request=request[REQUEST])
    return answer


def _json(request: web.Request, value: Wire) -> web.Response:
    body = msgspec.json.encode(value)
    answer = web.Response(body=body, content_type="application/json", headers={"Cache-Control": "no-store"})
    if len(body) >= COMPRESS_FROM:
        answer.enable_compression()
    return answer


def _refused(request: web.Request, refusal: RefusalError) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    body = refusal.body(request[REQUEST])
    return web.Response(status=refusal.status, body=body, content_type="application/json", headers=headers)


def _port(request: web.Request) -> int:
    transport = request.transport
    return int(transport.get_extra_info("sockname")[1]) if transport is not None else 0
