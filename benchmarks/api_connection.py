"""The API server for a program that makes many calls: kept-alive connections, a fixed number in flight."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import aiohttp

from testbed.cluster import Cluster
from testbed.errors import TestbedError

IN_FLIGHT = 64
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"  # lists are merged by their key

T = TypeVar("T")


class Connection:
    """JSON calls; an error answer ends the measurement."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def get(self, path: str, **parameters: str) -> Any:  # noqa: ANN401  whatever JSON the server sends
        return await self._call("GET", path, params=parameters)

    async def create(self, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401
        return await self._call("POST", path, json=body)

    async def patch(self, path: str, body: dict[str, Any], kind: str = MERGE_PATCH) -> Any:  # noqa: ANN401
        return await self._call("PATCH", path, json=body, headers={"Content-Type": kind})

    async def _call(self, method: str, path: str, **options: Any) -> Any:  # noqa: ANN401
        async with self.session.request(method, path, **options) as response:
            if response.status >= 400:
                raise TestbedError(f"{method} {path}: {response.status} {await response.text()}")
            return await response.json()


@asynccontextmanager
async def connect(cluster: Cluster, connections: int = IN_FLIGHT, user: str = "admin") -> AsyncIterator[Connection]:
    """A session of at most so many connections."""
    context = ssl.create_default_context(cafile=str(cluster.authority.certificate))
    context.load_cert_chain(*cluster.authority.files(user))
    connector = aiohttp.TCPConnector(limit=connections, ssl=context)
    timeout = aiohttp.ClientTimeout(total=None, sock_read=120)
    async with aiohttp.ClientSession(cluster.instance.server, connector=connector, timeout=timeout) as session:
        yield Connection(session)


async def in_flight(items: Iterable[T], work: Callable[[T], Awaitable[object]], width: int = IN_FLIGHT) -> None:
    """Do the work for each item, `width` at a time, each worker taking the next as soon as it is free."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(width):
            group.create_task(worker())
