"""Lists and watches as streams of decoded steps, for whoever keeps a copy of the server's objects.

A watch yields batches: everything that one read from the socket brought. Lines may be of any length.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Generic

import msgspec

from kubedl.kube.client import Client
from kubedl.kube.errors import GoneError, UnsureError, refusal
from kubedl.wire import codec, nesting
from kubedl.wire.meta import ObjectMeta, ObjectT, Record, Resource

PAGE = 500
SILENCE = 70.0  # seconds; a healthy watch brings a bookmark every minute
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True)
class Scope:
    """Which objects of a kind are meant."""

    namespace: str = ""
    labels: str = ""

    def params(self) -> dict[str, str]:
        """As query parameters."""
        return {"labelSelector": self.labels} if self.labels else {}


class Step(msgspec.Struct, Generic[ObjectT], frozen=True, gc=False):
    """One thing that a watch says. A bookmark has no object; an object that cannot be decoded has an error instead."""

    type: str
    metadata: ObjectMeta
    object: ObjectT | None = None
    error: str = ""

    @property
    def ends_initial_events(self) -> bool:
        """Whether everything that existed at the start has been sent."""
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
    """As little of an object as we need to say which one it is."""

    metadata: _Identity


_LINE = codec.decoder(_Line)
_BOOKMARK = codec.decoder(_Bookmark)
_UNREADABLE = codec.decoder(_Unreadable)


async def objects(client: Client, resource: Resource[ObjectT], scope: Scope) -> tuple[str, list[Step[ObjectT]]]:
    """Everything that exists now, read in pages, and the resource version of that moment."""
    found: list[Step[ObjectT]] = []
    params = scope.params() | {"limit": str(PAGE)}
    while True:
        page = await client.page(resource, scope.namespace, params)
        found += [_step(resource, "ADDED", item, cut=page.cut) for item in page.items or ()]
        if not page.metadata.next_page:
            return page.metadata.resource_version, found
        params["continue"] = page.metadata.next_page


async def changes(
    client: Client, resource: Resource[ObjectT], scope: Scope, version: str | None, silence: float = SILENCE
) -> AsyncGenerator[list[Step[ObjectT]], None]:
    """What happened after `version`; without one, everything that exists comes first (WatchList).

    Ends when the server ends it. Raises GoneError when `version` is too old, and InvalidError when the server has no
    WatchList.
    """
    params = scope.params() | {"allowWatchBookmarks": "true", "timeoutSeconds": "290"}
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


def _read(resource: Resource[ObjectT], data: bytes) -> Step[ObjectT]:
    try:
        line, cut = _line(data)
        if line.type == "BOOKMARK":
            return Step(line.type, _BOOKMARK.decode(line.object).metadata)
        if line.type != "ERROR":
            return _step(resource, line.type, line.object, cut=cut)
    except codec.UNREADABLE as error:
        raise UnsureError(0, "", f"watch of {resource.name} sent what is not an event: {error}") from error
    raise _failure(bytes(line.object))


def _line(data: bytes) -> tuple[_Line, bool]:
    """An event, and whether something was cut out: one object that is nested too deep must not end the watch."""
    try:
        return _LINE.decode(data), False
    except RecursionError:
        return _LINE.decode(nesting.cut(data)), True


def _failure(status: bytes) -> Exception:
    error = refusal(0, status)
    # A watch that was accepted and then says "invalid" is a server in trouble, not a request to be changed.
    return error if isinstance(error, GoneError) else UnsureError(error.code, error.reason, error.message)


def _step(resource: Resource[ObjectT], kind: str, data: msgspec.Raw, *, cut: bool) -> Step[ObjectT]:
    try:
        if cut and nesting.CUT in bytes(data):
            raise RecursionError("it is nested too deep")
        found: Any = resource.decoder.decode(data)
    except codec.UNREADABLE as error:
        known = _UNREADABLE.decode(nesting.cut(bytes(data)) if isinstance(error, RecursionError) else data).metadata
        meta = ObjectMeta(
            name=known.name, namespace=known.namespace, uid=known.uid, resource_version=known.resource_version
        )
        return Step(kind, meta, None, str(error))
    return Step(kind, found.metadata, found)
