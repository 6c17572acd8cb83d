"""A relay before the console that cuts connections in the middle of what passes, as proxies and networks do."""

import asyncio
import random
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

PART = 4096


class Relay:
    """`with Relay(port) as relay:`; listens on a port of its own on loopback."""

    def __init__(self, port: int, dice: random.Random) -> None:
        self._to, self._dice = port, dice
        self._loop = asyncio.new_event_loop()
        self._doomed = 0  # connections to be cut with their next bytes

    def __enter__(self) -> Self:
        threading.Thread(target=self._loop.run_forever, name="relay", daemon=True).start()
        self.port: int = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    def cut(self) -> None:
        """Break the connection over which the next bytes come, after some of them."""
        self._loop.call_soon_threadsafe(self._doom)

    def _doom(self) -> None:
        self._doomed += 1

    async def _listen(self) -> int:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        number: int = server.sockets[0].getsockname()[1]
        return number

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            theirs, ours = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:  # the console is being started
            writer.transport.abort()
            return
        asking = asyncio.create_task(self._pass_on(reader, ours, cut=False))
        await self._pass_on(theirs, writer, cut=True)
        asking.cancel()
        for one in (writer, ours):
            one.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, cut: bool) -> None:
        with suppress(OSError):
            while part := await reader.read(PART):
                if cut and self._doomed > 0:
                    self._doomed -= 1
                    writer.write(part[: self._dice.randrange(len(part))])
                    await writer.drain()
                    return
                writer.write(part)
                await writer.drain()
            if not cut:
                writer.write_eof()
