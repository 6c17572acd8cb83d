"""The API server for a test that makes many calls: kept-alive connections, used from any thread.

A test's own loop runs in a thread, so tests stay plain functions and yet send a thousand calls at once.
"""

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp

from kubedl.runtime.concurrency import for_each
from testbed.api import ApiError, ApiUnavailableError, Object
from testbed.cluster import Cluster
from testbed.tracked_sockets import TrackedSockets

IN_FLIGHT = 32
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
GONE = 404
NOT_NOW = frozenset({429, 500, 502, 503, 504})

T = TypeVar("T")


@contextmanager
def unless_gone() -> Iterator[None]:
    """Around a call about something that somebody quicker may have taken away: then there is nothing to do."""
    try:
        yield
    except ApiError as error:
        if error.status != GONE:
            raise


class Connection:
    """`with Connection(cluster) as connection:`, as administrator."""

    def __init__(self, cluster: Cluster) -> None:
        self._server = cluster.instance.server
        self._tls = ssl.create_default_context(cafile=str(cluster.authority.certificate))
        self._tls.load_cert_chain(*cluster.authority.files("admin"))
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sockets = TrackedSockets()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._loop.run_forever, name="test-connection", daemon=True)
        self._thread.start()
        self.run(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this in the connection's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def each(self, items: Iterable[T], work: Callable[[T], Awaitable[object]], width: int = IN_FLIGHT) -> None:
        """Do the work for every item, several at a time."""
        self.run(for_each(work, list(items), width))

    def background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run this until the connection is closed."""

        async def begin() -> None:
            self._tasks.add(asyncio.create_task(work()))

        self.run(begin())

    def get(self, path: str) -> Object:
        return self.run(self.call("GET", path))

    def create(self, path: str, body: Object) -> Object:
        return self.run(self.call("POST", path, body))

    def patch(self, path: str, body: Object) -> Object:
        """A merge patch."""
        return self.run(self.call("PATCH", path, body, MERGE_PATCH))

    def delete(self, path: str, options: Object | None = None) -> None:
        """Delete; what is gone already is an error here, because a test knows what it deletes."""
        self.run(self.call("DELETE", path, options or {}))

    async def call(self, method: str, path: str, body: Object | None = None, content: str = JSON) -> Object:
        """One request; an error answer becomes ApiError with the server's own message.

        A connection that was cut is a ConnectionError, for which who waits goes on waiting; some of aiohttp's are not.
        """
        headers = {"Content-Type": content, "Accept": JSON}
        try:
            async with self._session.request(method, path, json=body, headers=headers) as response:
                answer: Object = await response.json()
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
            raise ConnectionError(f"{method} {path}: {error}") from error
        if response.status >= 400:
            kind = ApiUnavailableError if response.status in NOT_NOW else ApiError
            raise kind(method, path, response.status, answer.get("message", ""))
        return answer

    def stream(self, path: str, silence: float) -> Any:  # noqa: ANN401 - aiohttp's own context manager
        """A watch, for `async with`."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=silence)
        return self._session.get(path, timeout=timeout)

    async def _open(self) -> None:
        connector = aiohttp.TCPConnector(limit=0, ssl=self._tls, socket_factory=self._sockets.open)
        timeout = aiohttp.ClientTimeout(total=60)
        self._session = aiohttp.ClientSession(self._server, connector=connector, timeout=timeout, read_bufsize=2**20)

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()
        await self._sockets.close()
