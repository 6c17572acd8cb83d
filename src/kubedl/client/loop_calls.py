"""Runs operations in asyncio: requests by the HTTP client of the operator, works as tasks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

from kubedl.client.calls import Channel, Monitor, Work
from kubedl.client.parallel import AT_ONCE
from kubedl.kube.loop_client import LoopClient
from kubedl.kube.sync_client import ANY, JSON, NO_PARAMS, SyncClient
from kubedl.kube.sync_credentials import SyncCredentials

T = TypeVar("T")


class LoopWaiting:
    """How an operation waits in an event loop, whatever sends its requests."""

    async def together(self, operations: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """Return the results in order, of a few at a time."""
        room = asyncio.Semaphore(AT_ONCE)

        async def in_turn(operation: Coroutine[Any, Any, T]) -> T:
            async with room:
                return await operation

        try:
            found = await asyncio.gather(*map(in_turn, operations), return_exceptions=True)
        finally:
            for operation in operations:  # those whose turn did not come before this was cancelled
                operation.close()
        results: list[T] = []
        for one in found:
            if isinstance(one, BaseException):
                raise one
            results.append(one)
        return results

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Return what a function returns that would hold up the event loop."""
        return await asyncio.to_thread(function)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def start(self, operation: Coroutine[Any, Any, None]) -> Work:
        """Run something as a task."""
        return _Task(operation)

    def channel(self, room: int) -> Channel[Any]:
        """Return a queue."""
        return _Queue(room)

    def monitor(self) -> Monitor:
        """Return a condition."""
        return _Condition()


class LoopCalls(LoopWaiting):
    """Requests of one event loop. `sync` is for what stays in threads: the rules of `why`."""

    def __init__(self, client: SyncClient) -> None:
        self.sync = client
        self._client = LoopClient(client)

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
        return await self._client.call(method, path, params=params, body=body, accept=accept, content=content)

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], silence: float | None, accept: str = ANY
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a response that goes on: its lines."""
        async with self._client.stream(path, params, silence, accept) as lines:
            yield lines

    async def close(self) -> None:
        """Close the connections that nobody uses."""
        self._client.close()
        self.sync.close()


class _Task:
    def __init__(self, operation: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.ensure_future(operation)

    @property
    def is_going_on(self) -> bool:
        return not self._task.done()

    async def join(self, seconds: float) -> None:
        await asyncio.wait([self._task], timeout=seconds)

    def stop(self) -> None:
        self._task.cancel()


class _Queue:
    def __init__(self, room: int) -> None:
        self._items: asyncio.Queue[Any] = asyncio.Queue(room)

    async def put(self, item: object, seconds: float) -> bool:
        if not self._items.full():
            self._items.put_nowait(item)
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._items.put(item)
        except TimeoutError:
            return False
        return True

    async def get(self) -> Any:  # noqa: ANN401 - what was put
        return await self._items.get()

    async def get_within(self, seconds: float) -> Any:  # noqa: ANN401
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._items.get()
        return None


class _Condition:
    def __init__(self) -> None:
        self._condition = asyncio.Condition()

    async def __aenter__(self) -> Self:
        await self._condition.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._condition.release()

    def notify_all(self) -> None:
        self._condition.notify_all()

    async def wait_for(self, predicate: Callable[[], bool], seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._condition.wait_for(predicate)
