"""Moves the events of one watch from the API server to the client, in the time the rules leave them.

Reading never waits for sending, so an event's delay counts from the moment it came.
"""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import aiohttp

from testbed.faultproxy.watch import EventFaults, Finish, Forward, ForwardLater, LineSplitter, Stall, Step

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Awaitable, Callable


class StreamBrokenError(Exception):
    """The stream is over without an end: the client must find its connection dropped."""


class _EndOfStream:
    pass


class EventRelay:
    """One watch on its way through the proxy."""

    def __init__(self, faults: EventFaults, send: "Callable[[bytes], Awaitable[None]]") -> None:
        self._faults = faults
        self._send = send
        self._outbox: asyncio.Queue[tuple[float, Step | _EndOfStream | StreamBrokenError]] = asyncio.Queue()

    async def run(self, chunks: "AsyncIterable[bytes]") -> None:
        """Relay until the stream ends in good order; raise StreamBrokenError if it does not."""
        reader = asyncio.create_task(self._read(chunks))
        try:
            await self._write()
        finally:
            reader.cancel()
            with suppress(asyncio.CancelledError):
                await reader

    def flush(self) -> None:
        """Send the events that rules hold back for company."""
        self._post(self._faults.flush())

    async def _read(self, chunks: "AsyncIterable[bytes]") -> None:
        splitter = LineSplitter()
        try:
            async for chunk in chunks:
                for line in splitter.feed(chunk):
                    if not self._post(self._faults.take(line)):
                        return
            self.flush()
            if rest := splitter.rest():
                self._put(Forward(rest))
        except (aiohttp.ClientError, OSError) as error:
            self._put(StreamBrokenError(f"the API server ended the watch in mid-stream: {error}"))
        finally:
            self._put(_EndOfStream())

    def _post(self, steps: list[Step]) -> bool:
        """Queue the steps and say whether the stream goes on after them."""
        for step in steps:
            self._put(step)
        return not any(isinstance(step, Stall | Finish) for step in steps)

    def _put(self, step: Step | _EndOfStream | StreamBrokenError) -> None:
        self._outbox.put_nowait((asyncio.get_running_loop().time(), step))

    async def _write(self) -> None:
        while True:
            came, step = await self._outbox.get()
            match step:
                case Forward(line):
                    await self._send(line)
                case ForwardLater(line, seconds, rule):
                    with suppress(TimeoutError):
                        async with asyncio.timeout_at(came + seconds):
                            await rule.released.wait()
                    await self._send(line)
                case Stall(rule):
                    await rule.released.wait()
                    raise StreamBrokenError("the connection was frozen")
                case Finish(line):
                    await self._send(line)
                    return
                case StreamBrokenError():
                    raise step
                case _EndOfStream():
                    return
