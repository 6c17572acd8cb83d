"""The proxy as a test sees it: an address to give to the client, and faults to inject.

It runs in a thread of its own, so tests and clients may block; what it shares with them is counted or copied.
"""

import asyncio
import ssl
import threading
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self, overload

from aiohttp import web

from testbed.faultproxy.handler import Call, Exchange, Traffic
from testbed.faultproxy.rules import Rule, RuleBook
from testbed.faultproxy.upstream import UpstreamAddress, abort, connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from types import TracebackType

    from testbed.faultproxy.faults import CallFault, EventFault
    from testbed.faultproxy.match import Match, MatchEvents

_START_DEADLINE = 10.0
_STOP_DEADLINE = 10.0
# Connections that are still busy when the test is over get no more than this.
_GRACE = 0.05


class FaultProxy:
    """Listens on a free local port while it is entered.

    `certificate` and `key` are what it shows to clients; `authority` is whom it trusts for `upstream`, where
    it shows `client_certificate` for calls that carry no token.
    """

    def __init__(
        self,
        *,
        upstream: str,
        certificate: "Path | str",
        key: "Path | str",
        authority: "Path | str",
        client_certificate: "Path | str",
        client_key: "Path | str",
    ) -> None:
        self._address = UpstreamAddress(
            url=upstream,
            authority=authority,
            client_certificate=client_certificate,
            client_key=client_key,
        )
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(certificate, key)
        self._tls.set_alpn_protocols(["http/1.1"])
        self._rules = RuleBook()
        self._traffic = Traffic(self._rules)

    def __enter__(self) -> Self:
        listening: Future[tuple[asyncio.AbstractEventLoop, int]] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening)), name="fault-proxy", daemon=True
        )
        self._thread.start()
        self._loop, self._port = listening.result(_START_DEADLINE)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        self.clear()
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_STOP_DEADLINE)

    @property
    def url(self) -> str:
        """The address that stands in for the API server's."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def calls(self) -> list[Call]:
        """The calls seen so far, in the order in which their end was decided."""
        return list(self._traffic.calls)

    @property
    def watches(self) -> int:
        """How many watches go through at this moment."""
        return len(self._traffic.relays)

    @overload
    def inject(self, match: "Match", fault: "CallFault") -> Rule: ...
    @overload
    def inject(self, match: "MatchEvents", fault: "EventFault") -> Rule: ...
    def inject(self, match: "Match | MatchEvents", fault: "CallFault | EventFault") -> Rule:
        """Put a fault into force; the match counts from the next call or event on."""
        rule = Rule(match, fault)
        self._rules.add(rule)
        return rule

    def clear(self) -> None:
        """Take all rules out of force: what they delay or hold goes on, and what they froze is closed."""
        rules = self._rules.clear()
        self._loop.call_soon_threadsafe(self._release, rules)

    def _release(self, rules: tuple[Rule, ...]) -> None:
        for rule in rules:
            rule.released.set()
        for relay in self._traffic.relays:
            relay.flush()

    async def _serve(self, listening: "Future[tuple[asyncio.AbstractEventLoop, int]]") -> None:
        self._stopping = asyncio.Event()
        try:
            async with self._listen() as port:
                listening.set_result((asyncio.get_running_loop(), port))
                await self._stopping.wait()
        except Exception as error:
            if listening.done():
                raise
            listening.set_exception(error)

    @asynccontextmanager
    async def _listen(self) -> "AsyncIterator[int]":
        async with connect(self._address) as upstream:

            async def handle(request: web.Request) -> web.StreamResponse:
                return await Exchange(request, self._traffic, upstream).run()

            application = web.Application(client_max_size=0)
            application.router.add_route("*", "/{path:.*}", handle)
            runner = web.AppRunner(
                application,
                access_log=None,
                # A watch whose client is gone must not go on counting events.
                handler_cancellation=True,
                shutdown_timeout=_GRACE,
            )
            await runner.setup()
            try:
                await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls).start()
                yield runner.addresses[0][1]
            finally:
                _abort_connections(runner)
                await runner.cleanup()
                await self._traffic.end()


def _abort_connections(runner: web.AppRunner) -> None:
    # A polite end of TLS waits for the client, which may never read again.
    for connection in runner.server.connections if runner.server else ():
        abort(connection.transport)
