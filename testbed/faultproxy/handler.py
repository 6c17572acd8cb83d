"""One call from a client, from its arrival to its answer or to the fault in place of one.

A call is on record before the client can know how it ended, so a test that saw an answer finds it there.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import aiohttp
from aiohttp import web

from testbed.faultproxy.faults import (
    AnswerAfterCommit,
    AnswerInstead,
    DelayRequest,
    DropAfterCommit,
    Freeze,
    KillClient,
    SendGone,
)
from testbed.faultproxy.kill_client import VictimNotFoundError, kill_peer
from testbed.faultproxy.relay import EventRelay, StreamBrokenError
from testbed.faultproxy.request import parse_request
from testbed.faultproxy.status import failure, gone_event
from testbed.faultproxy.upstream import (
    UpstreamDisconnectedError,
    UpstreamUnreachableError,
    abort,
    end_to_end,
    read_whole,
)
from testbed.faultproxy.watch import EventFaults

if TYPE_CHECKING:
    from testbed.faultproxy.rules import Rule, RuleBook
    from testbed.faultproxy.upstream import Upstream

_Result = TypeVar("_Result")


class Call(NamedTuple):
    """A call as it went: what the client was answered and what the API server answered, None for nothing."""

    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str
    status: int | None
    upstream_status: int | None


class Traffic:
    """What all calls share: the rules, the record, and what is under way."""

    def __init__(self, rules: "RuleBook") -> None:
        self.rules = rules
        self.calls: list[Call] = []
        self.relays: set[EventRelay] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def outlast_client(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Await work that goes on when the client goes away, as a packet does that has left."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def end(self) -> None:
        """Give up what outlasted its client."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # nobody else asks for it when the client is gone


class Exchange:
    """One call and its answer. Every path ends in `_record`, once."""

    def __init__(self, request: web.Request, traffic: Traffic, upstream: "Upstream") -> None:
        self._request = request
        self._traffic = traffic
        self._upstream = upstream
        self._call = parse_request(request.method, request.raw_path)
        self._upstream_status: int | None = None
        self._client_left = False

    async def run(self) -> web.StreamResponse:
        """Answer the call, or return a response to a connection that is closed by then."""
        if "Upgrade" in self._request.headers:
            return self._fail(501, "the fault proxy does not switch protocols: use the API server's own address")
        body = await self._request.read()
        rule = self._traffic.rules.due_for_call(self._call)
        if rule is not None and (faulty := await self._before_forwarding(rule)) is not None:
            return faulty
        try:
            return await (self._stream(rule) if self._call.streams else self._answer(rule, body))
        except UpstreamUnreachableError as error:
            return self._fail(502, str(error))
        except UpstreamDisconnectedError:
            self._record(None)
            return self._drop()
        except (StreamBrokenError, aiohttp.ClientPayloadError, ConnectionError):
            return self._drop()

    async def _before_forwarding(self, rule: "Rule") -> web.StreamResponse | None:
        match rule.fault:
            case AnswerInstead(status, retry_after):
                return self._fail(status, f"{rule}", retry_after, rule)
            case SendGone():
                self._record(200, rule)
                return web.Response(body=gone_event(), content_type="application/json")
            case Freeze(after_commit=False):
                return await self._freeze(rule)
            case KillClient(after_commit=False):
                return self._kill(rule)
            case _:
                return None

    async def _after_answer(self, rule: "Rule", upstream_status: int) -> web.StreamResponse | None:
        if upstream_status >= 400:
            return None
        match rule.fault:
            case AnswerAfterCommit(status):
                return self._fail(status, f"{rule}", rule=rule)
            case DropAfterCommit():
                self._record(None, rule)
                return self._drop()
            case Freeze(after_commit=True):
                return await self._freeze(rule)
            case KillClient(after_commit=True):
                return self._kill(rule)
            case _:
                return None

    async def _answer(self, rule: "Rule | None", body: bytes) -> web.StreamResponse:
        try:
            response = await self._traffic.outlast_client(self._forward(rule, body))
        except asyncio.CancelledError:
            self._client_left = True
            raise
        if rule is not None and (faulty := await self._after_answer(rule, response.status)) is not None:
            return faulty
        self._record(response.status)
        return response

    async def _forward(self, rule: "Rule | None", body: bytes) -> web.Response:
        await self._delay(rule)
        request = self._request
        headers = end_to_end(request.headers)
        async with self._upstream.send(request.method, request.raw_path, headers, body) as answer:
            self._upstream_status = answer.status
            body = await read_whole(answer)
            if self._client_left:
                self._record(None)
            return web.Response(status=answer.status, headers=end_to_end(answer.headers), body=body)

    async def _stream(self, rule: "Rule | None") -> web.StreamResponse:
        await self._delay(rule)
        request = self._request
        headers = end_to_end(request.headers)
        # Events inside a compressed stream could not be told apart.
        headers["Accept-Encoding"] = "identity"
        async with self._upstream.send(request.method, request.raw_path, headers, b"") as answer:
            self._upstream_status = answer.status
            if rule is not None and (faulty := await self._after_answer(rule, answer.status)) is not None:
                return faulty
            self._record(answer.status)
            response = web.StreamResponse(status=answer.status, headers=end_to_end(answer.headers))
            await response.prepare(request)
            await self._relay(answer, response)
            return response

    async def _relay(self, answer: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
        chunks = answer.content.iter_any()
        if self._call.verb != "watch" or answer.content_type != "application/json":
            async for chunk in chunks:
                await response.write(chunk)
            return
        relay = EventRelay(EventFaults(self._traffic.rules, self._call.resource), response.write)
        self._traffic.relays.add(relay)
        try:
            await relay.run(chunks)
        finally:
            self._traffic.relays.discard(relay)

    async def _delay(self, rule: "Rule | None") -> None:
        if rule is not None and isinstance(rule.fault, DelayRequest):
            rule.record_fired()
            with suppress(TimeoutError):
                async with asyncio.timeout(rule.fault.seconds):
                    await rule.released.wait()

    async def _freeze(self, rule: "Rule") -> web.StreamResponse:
        self._record(None, rule)
        await rule.released.wait()
        return self._drop()

    def _kill(self, rule: "Rule") -> web.StreamResponse:
        transport = self._request.transport
        peer = transport.get_extra_info("peername") if transport is not None else None
        if transport is None or peer is None:
            return self._fail(500, "the client closed its connection before it could be killed")
        try:
            kill_peer(peer, transport.get_extra_info("sockname"))
        except VictimNotFoundError as error:
            return self._fail(500, str(error))
        self._record(None, rule)
        return self._drop()

    def _fail(
        self, code: int, message: str, retry_after: int | None = None, rule: "Rule | None" = None
    ) -> web.Response:
        self._record(code, rule)
        if code == 429 and retry_after is None:
            retry_after = 1
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return web.json_response(failure(code, message, retry_after), status=code, headers=headers)

    def _drop(self) -> web.StreamResponse:
        abort(self._request.transport)
        return web.Response()

    def _record(self, status: int | None, rule: "Rule | None" = None) -> None:
        call = self._call
        self._traffic.calls.append(
            Call(
                call.verb,
                call.resource,
                call.namespace,
                call.name,
                call.subresource,
                status,
                self._upstream_status,
            )
        )
        if rule is not None:
            rule.record_fired()
