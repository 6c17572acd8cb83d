"""The log of a container, read with the caller's own token while it is written.

The API server decides whether this person may read it; the console's account has no right to logs at all.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError, from_api
from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.kube.types.core import PODS
from kubedl.kube.types.meta import ObjectKey

SILENCE = 4 * 3600.0  # seconds; a training program may be quiet for long, and the browser ends the request
AGAIN = 5.0  # seconds between two questions about whether somebody may still read it
MOST_LINES = 50_000  # as many as a browser keeps
_TIME = BoundedPattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z", 30)


def parameters(container: str, known: Sequence[str], since: str, lines: str) -> dict[str, str]:
    """Return the API server's parameters for what a browser asks; refuses what is not well formed."""
    if container not in known:
        raise RefusalError(
            404, f"no container {container}", "the pod has no such container", f"Take {', '.join(known)}."
        )
    params = {"container": container, "follow": "true", "timestamps": "true"}
    if since:
        if _TIME.fullmatch(since) is None:
            raise RefusalError(
                400, "no log", f"since is not a time: {since[:40]}", "Send a time such as 2026-01-31T12:00:00Z."
            )
        return params | {"sinceTime": since}
    number = int(lines) if lines.isdecimal() and len(lines) < 10 else 0
    if not 0 < number <= MOST_LINES:
        raise RefusalError(400, "no log", "lines is not a number", f"Send a number from 1 to {MOST_LINES:,}.")
    return params | {"tailLines": str(number)}


async def while_allowed(
    parts: AsyncIterator[bytes], still: Callable[[], Awaitable[bool]], clock: Callable[[], float]
) -> AsyncIterator[bytes]:
    """Pass a log on for as long as it may be read: the API server asks that once, when a log is opened."""
    asked_at = clock()
    async for part in parts:
        if clock() - asked_at >= AGAIN:
            if not await still():
                return
            asked_at = clock()
        yield part


@asynccontextmanager
async def follow(caller: Caller, pod: ObjectKey, params: dict[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
    """Read a log in parts as it grows."""
    client = Client(caller.credentials)
    try:
        path = PODS.path(*pod, subresource="log")
        async with client.read(PODS, path, params, SILENCE) as parts:
            yield parts
    except ApiError as error:
        raise from_api(error, f"no log of {pod}") from error
    finally:
        await client.close()
