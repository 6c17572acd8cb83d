"""The sockets of an aiohttp connector, which can be closed for certain before their event loop ends.

A call that was cancelled before its answer began ends TLS politely, of which the session knows nothing. A busy API
server takes seconds for that; a loop that closes earlier leaves the connection open.
"""

import asyncio
import socket
from contextlib import suppress
from weakref import WeakSet

import aiohttp

DEADLINE = 5.0  # seconds


class TrackedSockets:
    """`open` is the connector's `socket_factory`."""

    def __init__(self) -> None:
        self._opened: WeakSet[socket.socket] = WeakSet()

    def open(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """Open a socket for an address."""
        family, kind, protocol, _, _ = address
        opened = socket.socket(family, kind, protocol)
        self._opened.add(opened)
        return opened

    async def close(self) -> None:
        """Break all connections and wait until the event loop has closed them. The session is closed before."""
        for connection in self._opened:
            with suppress(OSError):  # closed meanwhile
                connection.shutdown(socket.SHUT_RDWR)
        async with asyncio.timeout(DEADLINE):
            while any(connection.fileno() != -1 for connection in self._opened):  # noqa: ASYNC110 - no event says so
                await asyncio.sleep(0.01)
