"""The one clock for all contenders: when every pod exists and every job's status says so.

It must not disturb what it measures. Pods are counted by a list of one item, whose answer says how
many remain; jobs are few and small, so they are watched.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import aiohttp
import msgspec

from benchmarks.api_connection import Connection
from benchmarks.objects import Object, pods_path
from testbed.errors import DeadlineError, TestbedError

POLL = 0.1  # seconds: small beside the seconds measured, and about 1 ms of the API server's time each


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class _Seen(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    status: Object = {}


class Event(msgspec.Struct):
    """What a watch tells."""

    type: str
    object: _Seen


_decode = msgspec.json.Decoder(Event).decode


async def pods_exist(connection: Connection, namespace: str, count: int, deadline: float) -> float:
    """The moment at which so many pods were counted; more of them is an error."""
    end = time.monotonic() + deadline
    while True:
        seen = await count_pods(connection, namespace)
        now = time.monotonic()
        if seen > count:
            raise TestbedError(f"{seen} pods where {count} were wanted")
        if seen == count:
            return now
        if now > end:
            raise DeadlineError(f"waited {deadline:g} s for {count} pods; there are {seen}")
        await asyncio.sleep(POLL)


async def jobs_settle(
    events: AsyncIterator[Event], settled: Callable[[Object], bool], count: int, deadline: float
) -> float:
    """The moment at which so many jobs had a status that settles them."""
    done: set[str] = set()
    try:
        async with asyncio.timeout(deadline):
            async for event in events:
                if event.type in {"ADDED", "MODIFIED"} and settled(event.object.status):
                    done.add(event.object.metadata.name)
                    if len(done) >= count:
                        return time.monotonic()
    except TimeoutError as error:
        raise DeadlineError(f"waited {deadline:g} s for {count} jobs; {len(done)} had settled") from error
    raise TestbedError("a watch has no end")


async def count_pods(connection: Connection, namespace: str) -> int:
    """How many pods there are, without reading them."""
    first = await connection.get(pods_path(namespace), limit="1")
    return len(first["items"]) + int(first["metadata"].get("remainingItemCount") or 0)


async def version(connection: Connection, path: str) -> str:
    """From where a watch of the collection misses nothing that happens after this call."""
    seen: str = (await connection.get(path, limit="1"))["metadata"]["resourceVersion"]
    return seen


async def watched(
    connection: Connection, path: str, since: str, *, metadata_only: bool = False
) -> AsyncIterator[Event]:
    """Events of a collection; the caller leaves when it has seen enough.

    A busy API server ends watches whose events it cannot deliver in time; they are taken up where they ended.
    """
    kind = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1" if metadata_only else ""
    headers = {"Accept": f"application/json{kind}"}
    timeout = aiohttp.ClientTimeout(total=None, sock_read=None)
    while True:
        parameters = {"watch": "1", "resourceVersion": since, "timeoutSeconds": "7200"}
        async with connection.session.get(path, params=parameters, headers=headers, timeout=timeout) as response:
            if response.status == 429:  # a custom resource that is new: its cache is not there yet
                await asyncio.sleep(float(response.headers.get("Retry-After", "1")))
                continue
            response.raise_for_status()
            async for line in response.content:
                event = _decode(line)
                if event.type == "ERROR":
                    raise TestbedError(f"the watch of {path} ended: {line.decode()}")
                since = event.object.metadata.resource_version
                yield event
