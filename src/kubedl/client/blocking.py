"""Runs operations without an event loop: every wait blocks its thread, so a coroutine ends at its first step."""

import functools
import queue
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from kubedl.client.calls import Channel, Monitor, Work
from kubedl.client.parallel import run_all
from kubedl.kube.sync_client import ANY, JSON, NO_PARAMS, SyncClient
from kubedl.kube.sync_credentials import SyncCredentials

P = ParamSpec("P")
T = TypeVar("T")


def run(operation: Coroutine[Any, Any, T]) -> T:
    """Run an operation to its end and return its result."""
    try:
        operation.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    operation.close()
    raise AssertionError("an operation waited for an event loop")


def each(items: AsyncGenerator[T, None]) -> Iterator[T]:
    """Yield what an operation yields, and end it when nobody takes more."""
    try:
        while True:
            try:
                yield run(_next(items))
            except StopAsyncIteration:
                return
    finally:
        run(_end(items))


async def _next(items: AsyncGenerator[T, None]) -> T:
    return await anext(items)


async def _end(items: AsyncGenerator[T, None]) -> None:
    await items.aclose()


def blocking(operation: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """Return the method that runs an operation of `self._operations`: the same arguments, result and errors."""

    @functools.wraps(operation)
    def method(self: Any, /, *arguments: P.args, **named: P.kwargs) -> T:  # noqa: ANN401 - a client
        return run(operation(self._operations, *arguments, **named))

    return method


def blocking_each(
    operation: Callable[Concatenate[Any, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """Return the method that yields what an operation of `self._operations` yields."""

    @functools.wraps(operation)
    def method(self: Any, /, *arguments: P.args, **named: P.kwargs) -> Iterator[T]:  # noqa: ANN401 - a client
        return each(operation(self._operations, *arguments, **named))

    return method


class ThreadCalls:
    """Requests by `http.client`, each in the thread that asks."""

    def __init__(self, client: SyncClient) -> None:
        self.sync = client

    @property
    def credentials(self) -> SyncCredentials:
        """Return where the server is, and who calls."""
        return self.sync.credentials

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] = NO_PARAMS,
        body: object = None,
        accept: str = JSON,
        content: str = JSON,
    ) -> bytes:
        """Send a request and return the body of a successful response."""
        return self.sync.call(method, path, params=params, body=body, accept=accept, content=content)

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], silence: float | None, accept: str = ANY
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a response that goes on: its lines."""
        with self.sync.stream(path, params, silence, accept) as lines:
            yield _taken(lines)

    async def together(self, operations: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """Return the results in order, of a few threads."""
        return run_all([functools.partial(run, operation) for operation in operations])

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Call it here: there is no event loop to hold up."""
        return function()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)  # noqa: ASYNC251 - there is no event loop

    def start(self, operation: Coroutine[Any, Any, None]) -> Work:
        """Run something in a thread of its own."""
        return _Thread(operation)

    def channel(self, room: int) -> Channel[Any]:
        """Return a queue."""
        return _Queue(room)

    def monitor(self) -> Monitor:
        """Return a condition."""
        return _Condition()

    async def close(self) -> None:
        """Close the connections that nobody uses."""
        self.sync.close()


async def _taken(lines: Iterator[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


class _Thread:
    def __init__(self, operation: Coroutine[Any, Any, None]) -> None:
        self._thread = threading.Thread(target=run, args=(operation,), daemon=True)
        self._thread.start()

    @property
    def is_going_on(self) -> bool:
        return self._thread.is_alive()

    async def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def stop(self) -> None:
        """Leave it: it looks at what it works for, and does not outlive the process."""


class _Queue:
    def __init__(self, room: int) -> None:
        self._items: queue.Queue[Any] = queue.Queue(room)

    async def put(self, item: object, seconds: float) -> bool:
        try:
            self._items.put(item, timeout=seconds)
        except queue.Full:
            return False
        return True

    async def get(self) -> Any:  # noqa: ANN401 - what was put
        return self._items.get()

    async def get_within(self, seconds: float) -> Any:  # noqa: ANN401
        try:
            return self._items.get(timeout=seconds)
        except queue.Empty:
            return None


class _Condition:
    def __init__(self) -> None:
        self._condition = threading.Condition()

    async def __aenter__(self) -> Self:
        self._condition.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._condition.release()

    def notify_all(self) -> None:
        self._condition.notify_all()

    async def wait_for(self, predicate: Callable[[], bool], seconds: float | None) -> None:
        self._condition.wait_for(predicate, seconds)
