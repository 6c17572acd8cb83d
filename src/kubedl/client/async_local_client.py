"""The client of this machine for programs with an event loop: it waits for processes and files, each in a thread."""

import asyncio
import functools
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Self

from kubedl.client.local_client import LocalClient
from kubedl.client.log_line import LogLine

AHEAD = 1000  # lines of logs that are read before they are taken


class AsyncLocalClient:
    """`LocalClient` with coroutines. Arguments and errors are the same."""

    def __init__(self) -> None:
        self._client = LocalClient()
        self.namespace = self._client.namespace

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._client.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a coroutine function
        if name.startswith("_") or not callable(method := getattr(self._client, name)):
            raise AttributeError(name)
        return _in_thread(method)

    async def get_job_logs(self, name: str, *, follow: bool = False) -> AsyncIterator[LogLine]:
        """Yield the lines of a job's processes, as they are written if they are followed."""
        lines: queue.Queue[LogLine | BaseException | None] = queue.Queue(AHEAD)
        over = threading.Event()

        def read() -> None:
            end: BaseException | None = None
            try:
                for line in self._client.get_job_logs(name, follow=follow):
                    lines.put(line)
                    if over.is_set():
                        return
            except BaseException as error:  # noqa: BLE001 - raised where the lines are taken
                end = error
            lines.put(end)

        threading.Thread(target=read, daemon=True).start()
        try:
            while (line := await asyncio.to_thread(lines.get)) is not None:
                if isinstance(line, BaseException):
                    raise line
                yield line
        finally:
            over.set()


def _in_thread(method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @functools.wraps(method)
    async def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - those of the method
        return await asyncio.to_thread(method, *arguments, **named)

    return call
