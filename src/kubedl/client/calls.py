"""What an operation of the client may ask of the world: requests, streams, time, and work beside its own.

Operations are coroutines, written once. `blocking` runs them without an event loop, in threads; `loop_calls` runs them
in asyncio. So an operation awaits nothing but this, and imports no event loop.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Protocol, Self, TypeVar

from kubedl.kube.sync_client import ANY, JSON, NO_PARAMS, SyncClient
from kubedl.kube.sync_credentials import SyncCredentials

T = TypeVar("T")


class Work(Protocol):
    """Something that goes on beside the operation."""

    @property
    def is_going_on(self) -> bool:
        """Return whether it has not ended."""

    async def join(self, seconds: float) -> None:
        """Wait for its end, for so long at most."""

    def stop(self) -> None:
        """End it; a thread ends when it looks at what it works for."""


class Channel(Protocol, Generic[T]):
    """Things on their way from works to the operation; a full one makes works wait."""

    async def put(self, item: T, seconds: float) -> bool:
        """Return whether there was room for it within this time."""

    async def get(self) -> T:
        """Return the next one, when there is one."""

    async def get_within(self, seconds: float) -> T | None:
        """Return the next one, or None if there is none within this time."""


class Monitor(Protocol):
    """A lock, and news about what it guards: `async with monitor: …`."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    def notify_all(self) -> None:
        """Tell those that wait; the lock is held."""

    async def wait_for(self, predicate: Callable[[], bool], seconds: float | None) -> None:
        """Wait until it is true or the time is over; the lock is held before and after."""


class Calls(Protocol):
    """A server, and the way in which an operation waits."""

    @property
    def credentials(self) -> SyncCredentials:
        """Return where the server is, and who calls."""

    @property
    def sync(self) -> SyncClient:
        """Return a client without an event loop, for what runs in a thread."""

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
        """Send a request and return the body of a successful response; raises ApiError otherwise."""

    def stream(
        self, path: str, params: Mapping[str, str], silence: float | None, accept: str = ANY
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a response that goes on: its lines. Raises UnknownOutcomeError when it is cut, or silent for so long."""

    async def together(self, operations: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """Return the results in order, of a few at a time; raises the error of the first that failed."""

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Return what a function returns that would hold up an event loop."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def start(self, operation: Coroutine[Any, Any, None]) -> Work:
        """Run something beside this; it must not raise."""

    def channel(self, room: int) -> Channel[Any]:
        """Return a channel for so many things."""

    def monitor(self) -> Monitor:
        """Return a monitor."""

    async def close(self) -> None:
        """Close the connections that nobody uses."""
