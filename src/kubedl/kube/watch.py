"""Lists and watches as streams of decoded events, for informer caches.

A watch yields batches: all events of one read from the socket. Lines may have any length.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Generic

import msgspec

from kubedl.kube import codec, nesting
from kubedl.kube.client import Client
from kubedl.kube.errors import GoneError, UnknownOutcomeError, error_from_response
from kubedl.kube.types.meta import ObjectMeta, ObjectT, Record, Resource

PAGE = 500
SILENCE = 70.0  # seconds; a healthy watch sends a bookmark every minute
LASTS = 290  # seconds, of a watch with bookmarks
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True)
class ListOptions:
    """The selection of a list or watch: namespace and labels."""

    namespace: str = ""
    labels: str = ""

    def params(self) -> dict[str, str]:
        """Return the query parameters."""
        return {"labelSelector": self.labels} if self.labels else {}


class WatchEvent(msgspec.Struct, Generic[ObjectT], frozen=True, gc=False):
    """One event of a watch. A bookmark has no object; an object that cannot be decoded has an error instead."""

    type: str
    metadata: ObjectMeta
    object: ObjectT | None = None
    error: str = ""

    @property
    def ends_initial_events(self) -> bool:
        """Return whether all initial objects have been sent (WatchList)."""
        return self.type == "BOOKMARK" and self.metadata.annotations.get(INITIAL_EVENTS_END) == "true"


class _Line(Record, frozen=True):
    type: str
    object: msgspec.Raw


class _Bookmark(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Identity(Record, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Unreadable(Record, frozen=True):
    """The metadata of an object that cannot be decoded, to identify it."""

    metadata: _Identity


_LINE = codec.decoder(_Line)
_BOOKMARK = codec.decoder(_Bookmark)
_UNREADABLE = codec.decoder(_Unreadable)


async def list_all(
    client: Client, resource: Resource[ObjectT], scope: ListOptions
) -> tuple[str, list[WatchEvent[ObjectT]]]:
    """List all objects in pages; returns them with the resource version of the list."""
    events: list[WatchEvent[ObjectT]] = []
    params = scope.params() | {"limit": str(PAGE)}
    while True:
        page = await client.page(resource, scope.namespace, params)
        events += [_step(resource, "ADDED", item, cut=page.cut) for item in page.items or ()]
        if not page.metadata.next_page:
            return page.metadata.resource_version, events
        params["continue"] = page.metadata.next_page


async def watch(
    client: Client, resource: Resource[ObjectT], scope: ListOptions, version: str | None, silence: float = SILENCE
) -> AsyncGenerator[list[WatchEvent[ObjectT]], None]:
    """Watch from `version`; without one, all existing objects are sent first (WatchList).

    Ends when the server closes the watch. Raises GoneError if `version` is too old, and InvalidError if the server does
    not support WatchList.
    """
    # Without bookmarks, the end of a watch is the sign of life: it is asked for before silence means a dead one.
    seconds = LASTS if resource.bookmarks else max(1, int(silence * 0.85))
    params = scope.params() | {"allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
    if version is None:
        params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    else:
        params["resourceVersion"] = version
    rest = b""
    async with client.stream(resource, scope.namespace, params, silence) as parts:
        async for part in parts:
            *lines, rest = (rest + part).split(b"\n")
            steps = [_read(resource, line) for line in lines if line]
            if steps:
                yield steps


def _read(resource: Resource[ObjectT], data: bytes) -> WatchEvent[ObjectT]:
    try:
        line, cut = _line(data)
        if line.type == "BOOKMARK":
            return WatchEvent(line.type, _BOOKMARK.decode(line.object).metadata)
        if line.type != "ERROR":
            return _step(resource, line.type, line.object, cut=cut)
    except codec.UNREADABLE as error:
        raise UnknownOutcomeError(0, "", f"the watch of {resource.name} sent an invalid event: {error}") from error
    raise _failure(bytes(line.object))


def _line(data: bytes) -> tuple[_Line, bool]:
    """Decode an event; also returns whether it was cut: one object that is nested too deep must not end the watch."""
    try:
        return _LINE.decode(data), False
    except RecursionError:
        return _LINE.decode(nesting.truncate_nesting(data)), True


def _failure(status: bytes) -> Exception:
    error = error_from_response(0, status)
    # "Invalid" after the watch was accepted is a server failure, not an error in the request.
    return error if isinstance(error, GoneError) else UnknownOutcomeError(error.code, error.reason, error.message)


def _step(resource: Resource[ObjectT], kind: str, data: msgspec.Raw, *, cut: bool) -> WatchEvent[ObjectT]:
    try:
        if cut and nesting.CUT in bytes(data):
            raise RecursionError("nested too deep")
        found: Any = resource.decoder.decode(data)
    except codec.UNREADABLE as error:
        known = _UNREADABLE.decode(
            nesting.truncate_nesting(bytes(data)) if isinstance(error, RecursionError) else data
        ).metadata
        meta = ObjectMeta(
            name=known.name, namespace=known.namespace, uid=known.uid, resource_version=known.resource_version
        )
        return WatchEvent(kind, meta, None, str(error))
    return WatchEvent(kind, found.metadata, found)
