"""A watch of one object, or of the pods of one job, that survives breaks of the connection."""

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec

from kubedl.client.calls import Calls
from kubedl.kube import codec
from kubedl.kube.errors import ApiError, GoneError, UnknownOutcomeError, error_from_response
from kubedl.kube.types.meta import Record

SILENCE = 70.0  # seconds; a healthy watch sends a bookmark every minute
PAUSES = (0.2, 1.0, 2.0, 5.0)  # seconds between attempts to connect again
WAIT_FOR_SERVER = 300.0  # seconds for which a server may be away

Object = dict[str, Any]
T = TypeVar("T")


class Line(Record, frozen=True):
    """An event of a watch."""

    type: str
    object: msgspec.Raw


_LINE = codec.decoder(Line)


def changes(
    client: Calls,
    path: str,
    selection: Mapping[str, str],
    until: Callable[[], float],
    on_break: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[list[Object], None]:
    """Yield all selected objects, again after each change. Ends when no seconds are left (`until` returns 0 or less).

    After a break of the connection everything is listed again, so nothing is missed. Raises ApiError if the server
    refuses, or has been away for minutes.
    """
    return kept(client, lambda silence: _watch_once(client, path, selection, silence), until, on_break)


async def kept(
    client: Calls,
    watch: Callable[[float], AsyncGenerator[T, None]],
    until: Callable[[], float],
    on_break: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[T, None]:
    """Yield what a watch yields, and start it again whenever it breaks; it is given the seconds of silence allowed."""
    lost_since, tries = None, 0
    while (left := until()) > 0:
        try:
            async with aclosing(watch(min(left, SILENCE))) as states:
                async for state in states:
                    lost_since, tries = None, 0
                    yield state
                    if until() <= 0:
                        return
        except GoneError:
            continue
        except UnknownOutcomeError as error:
            if until() <= 0:
                return
            now = time.monotonic()
            lost_since = lost_since or now
            if now - lost_since > WAIT_FOR_SERVER:
                raise
            if tries:  # the first may be a watch that was merely silent
                on_break(error.message)
            await client.sleep(min(PAUSES[min(tries, len(PAUSES) - 1)], max(0.0, until())))
            tries += 1


async def _watch_once(
    client: Calls, path: str, selection: Mapping[str, str], silence: float
) -> AsyncGenerator[list[Object], None]:
    answer = _decoded(await client.call("GET", path, params=selection))
    objects = {one["metadata"]["uid"]: one for one in answer.get("items") or ()}
    yield list(objects.values())
    params = {
        **selection,
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": answer["metadata"]["resourceVersion"],
        "timeoutSeconds": "290",
    }
    async with client.stream(path, params, silence) as lines:
        async for line in lines:
            event = read_event(line)
            if event.type == "BOOKMARK":
                continue
            changed = _decoded(bytes(event.object))
            if event.type == "DELETED":
                objects.pop(changed["metadata"]["uid"], None)
            else:
                objects[changed["metadata"]["uid"]] = changed
            yield list(objects.values())


def read_event(line: bytes) -> Line:
    """Return an event of a watch; raises ApiError if it is an error, or no event."""
    try:
        event = _LINE.decode(line)
    except codec.UNREADABLE as error:
        raise UnknownOutcomeError(0, "", f"the watch sent an invalid event: {error}") from error
    if event.type == "ERROR":
        raise _failure(bytes(event.object))
    return event


def _decoded(answer: bytes) -> Object:
    try:
        return codec.decode(answer, dict)
    except codec.UNREADABLE as error:
        raise UnknownOutcomeError(0, "", f"cannot decode the server's response: {error}") from error


def _failure(status: bytes) -> ApiError:
    error = error_from_response(0, status)
    return error if isinstance(error, GoneError) else UnknownOutcomeError(error.code, error.reason, error.message)
