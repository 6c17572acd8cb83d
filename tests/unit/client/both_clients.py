"""Both clients behind one face, so that one test is a test of both."""

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, Self

from kubedl.client import AsyncTrainingClient, LogLine
from kubedl.client.job_logs import JobLogs

GROUPS = ("objects", "models", "services", "crons", "queues", "history")


class InLoop:
    """AsyncTrainingClient, called from a test without an event loop: the loop runs in a thread of its own.

    It has the names of TrainingClient, and each call runs the coroutine of the same name.
    """

    def __init__(self, **arguments: Any) -> None:  # noqa: ANN401 - those of the client
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client: AsyncTrainingClient = self._run(_made(arguments))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._client.__aexit__(None, None, None))
        left = self._run(_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()
        assert not left, f"tasks that nobody ended: {left}"

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the client has
        found = getattr(self._client, name)
        return self._face(found) if callable(found) else _Group(self, found) if name in GROUPS else found

    def _face(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(operation):
            return lambda *arguments, **named: self._run(operation(*arguments, **named))
        return lambda *arguments, **named: self._plain(operation(*arguments, **named))

    def _plain(self, made: Any) -> Any:  # noqa: ANN401 - what an operation returns
        if isinstance(made, JobLogs):
            return _Lines(self, made)
        return self._each(made) if isinstance(made, AsyncGenerator) else made

    def _each(self, items: AsyncGenerator[Any, None]) -> Iterator[Any]:
        async def take() -> Any:  # noqa: ANN401 - what it yields
            return await anext(items, None)

        async def end() -> None:
            await items.aclose()

        try:
            while (item := self._run(take())) is not None:
                yield item
        finally:
            self._run(end())

    def _run(self, operation: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - its result
        return asyncio.run_coroutine_threadsafe(operation, self._loop).result(60)


class _Group:
    """Operations that the client has under one name: `client.models.list()`."""

    def __init__(self, client: InLoop, operations: object) -> None:
        self._client, self._operations = client, operations

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it has
        found = getattr(self._operations, name)
        return self._client._face(found) if callable(found) else found  # noqa: SLF001 - part of the same face


class _Lines:
    def __init__(self, client: InLoop, logs: JobLogs) -> None:
        self._client, self._logs = client, logs

    @property
    def job(self) -> object:
        return self._logs.job

    def by_pod(self) -> Any:  # noqa: ANN401 - a dict
        return self._client._run(self._logs.by_pod())  # noqa: SLF001 - part of the same face

    def __iter__(self) -> Iterator[LogLine]:
        return self._client._each(aiter(self._logs))  # noqa: SLF001


async def _made(arguments: dict[str, Any]) -> AsyncTrainingClient:
    return AsyncTrainingClient(**arguments)


async def _others() -> list[str]:
    """Return the tasks that still run, a moment after the client was closed."""
    for _ in range(100):
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        if not left:
            return []
        await asyncio.sleep(0.01)
    return [repr(task) for task in left]
