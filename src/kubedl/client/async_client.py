"""The client for programs with an event loop: the same operations, each in a thread of its own."""

import asyncio
import functools
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Self

from kubedl.client.log_line import LogLine
from kubedl.client.training_client import TrainingClient

_PROPERTIES = ("namespace", "server", "objects")
AHEAD = 1000  # lines of logs that are read before they are taken


class AsyncTrainingClient:
    """`TrainingClient` with coroutines: `job = await client.get_job("bert")`. Arguments and errors are the same."""

    def __init__(self, **arguments: Any) -> None:  # noqa: ANN401 - those of TrainingClient
        self._client = TrainingClient(**arguments)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._client.close)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a property, or a coroutine function
        if name in _PROPERTIES:
            return getattr(self._client, name)
        if name.startswith("_") or not callable(method := getattr(self._client, name)):
            raise AttributeError(name)
        return _in_thread(method)

    async def get_job_logs(self, name: str, *, follow: bool = False, **arguments: Any) -> AsyncIterator[LogLine]:  # noqa: ANN401
        """Yield the lines of a job's replicas, as they are written if they are followed."""
        lines: queue.Queue[LogLine | BaseException | None] = queue.Queue(AHEAD)
        over = threading.Event()

        def read() -> None:
            end: BaseException | None = None
            try:
                method = self._client.follow_job_logs if follow else self._client.get_job_logs
                for line in method(name, **arguments):
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
