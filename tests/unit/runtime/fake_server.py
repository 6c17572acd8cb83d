"""A model of the API server for one kind, in the test's own loop and time, with history and faults on demand.

It stands in for the client: what is below (sockets and their timeouts) is tested with the client. State at any version
can be asked for, so that a test can say what a copy of that version must hold.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from harness.fakes.api_server import merged
from kubedl.kube import codec
from kubedl.kube.client import Client, ListMeta, Page
from kubedl.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    GoneError,
    InvalidError,
    NotFoundError,
)
from kubedl.kube.types.meta import Object, ObjectKey, Resource
from tests.unit.runtime.fake_watch import Body, Connection, Event

NAMESPACE = "team"
MOST_CALLS = 2000  # of one test


@dataclass
class Call:
    """A call as it arrived."""

    at: float
    verb: str
    detail: Mapping[str, Any]


@dataclass
class Server:
    """Versions grow with every write. What is `visible` is less than all of it while this server lags behind."""

    version: int = 100
    page_size: int = 2
    chunk: int = 1 << 16  # what one read from the socket brings at most
    call_seconds: float = 0.0
    initial_seconds: float = 0.0  # from the first of the initial events to their end
    watch_list: bool = True
    bookmarks: bool = True
    gone_as_event: bool = False
    compacted: int = 0
    stuck_at: int | None = None
    history: list[Event] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    refusals: deque[Exception | None] = field(default_factory=deque)  # of the next reads; None lets one pass
    after_commit: deque[Exception] = field(default_factory=deque)  # answers to the next writes, which are done
    connections: list[Connection] = field(default_factory=list)  # those that are open

    @property
    def client(self) -> Client:
        """This server as its clients see it."""
        return cast("Client", self)

    @property
    def visible(self) -> int:
        return self.version if self.stuck_at is None else self.stuck_at

    # What others do.

    def put(self, name: str, *, spoiled: str = "", **fields: Any) -> Body:  # noqa: ANN401 - JSON is whatever it is
        """Create or change an object; one with a spoiled `status` or `labels` does not fit its type."""
        before = self.state().get(name)
        uid = before.body["metadata"]["uid"] if before else f"uid-{self.version + 1}"
        meta = {"name": name, "namespace": NAMESPACE, "uid": uid} | fields.pop("metadata", {})
        body: Body = {"metadata": meta} | fields
        if spoiled:
            body["spoiled"] = True
            (meta if spoiled == "labels" else body)[spoiled] = {"conditions": 5}
        return self._commit("MODIFIED" if before else "ADDED", body)

    def remove(self, name: str) -> Body:
        """Delete an object, if there is one."""
        before = self.state().get(name)
        return self._commit("DELETED", before.body) if before else {}

    def elsewhere(self, versions: int = 1) -> None:
        """Write objects of other kinds."""
        self.version += versions

    # What goes wrong.

    def compact(self) -> None:
        """Forget all history."""
        self.compacted = self.version

    def lag(self) -> None:
        """Hear nothing new from now on."""
        self.stuck_at = self.visible

    def catch_up(self) -> None:
        self.stuck_at = None
        self._pump()

    def state(self, at: int | None = None) -> dict[str, Event]:
        """The last change of each object that existed at a version, by name."""
        found: dict[str, Event] = {}
        for event in self.history:
            if at is not None and event.version > at:
                break
            found.pop(event.name, None)
            if event.type != "DELETED":
                found[event.name] = event
        return found

    def readable(self, at: int | None = None) -> dict[str, tuple[str, str]]:
        """Name to uid and version, of what a copy of that version must hold."""
        return {
            name: (event.body["metadata"]["uid"], event.body["metadata"]["resourceVersion"])
            for name, event in self.state(at).items()
            if event.readable
        }

    def called(self, verb: str) -> list[Call]:
        return [call for call in self.calls if call.verb == verb]

    # What the client offers.

    async def page(self, _: Resource[Any], namespace: str, params: Mapping[str, str]) -> Page:
        assert namespace in {"", NAMESPACE}
        await self._arrive("list", params)
        at, start = map(int, params["continue"].split(":")) if "continue" in params else (self.visible, 0)
        if start and at < self.compacted:
            raise _gone()
        found = list(self.state(at).values())
        items = tuple(msgspec.Raw(codec.encode(event.body)) for event in found[start : start + self.page_size])
        more = f"{at}:{start + self.page_size}" if start + self.page_size < len(found) else ""
        return Page(metadata=ListMeta(resource_version=str(at), next_page=more), items=items)

    @asynccontextmanager
    async def stream(
        self, _: Resource[Any], namespace: str, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        assert namespace in {"", NAMESPACE}
        await self._arrive("watch", params)
        start = params.get("resourceVersion")
        if start is None and not self.watch_list:
            raise InvalidError(422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
        gone = start is not None and int(start) < self.compacted
        if gone and not self.gone_as_event:
            raise _gone()
        connection = Connection(self, None if start is None else int(start), silence, float(params["timeoutSeconds"]))
        if gone:
            connection.fail(_gone())
        self.connections.append(connection)
        try:
            yield connection.parts()
        finally:
            connection.close()
            self.connections.remove(connection)

    async def get(self, resource: Resource[Any], key: ObjectKey) -> Object:
        await self._arrive("get", {"name": key.name})
        return _read(resource, self._existing(key).body)

    async def create(self, resource: Resource[Any], namespace: str, body: Body) -> Object:
        await self._arrive("create", {"name": body["metadata"]["name"]})
        assert namespace == NAMESPACE
        if body["metadata"]["name"] in self.state():
            raise AlreadyExistsError(409, "AlreadyExists", "there is one")
        return self._answer(resource, self.put(**_arguments(body)))

    async def patch(
        self, resource: Resource[Any], key: ObjectKey, body: Body, how: str = "merge", subresource: str = ""
    ) -> Object:
        await self._arrive("patch", {"name": key.name, "body": body, "how": how, "subresource": subresource})
        guard = body.get("metadata", {})
        if how == "merge":
            found = self._existing(key).body
            if any(guard[name] != found["metadata"][name] for name in ("uid", "resourceVersion") if name in guard):
                raise ConflictError(409, "Conflict", "the object has been modified")
            body = merged(found, body)
        return self._answer(resource, self.put(**_arguments(body)))

    async def delete(
        self,
        resource: Resource[Any],
        key: ObjectKey,
        uid: str,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> Object | None:
        detail = {"name": key.name, "uid": uid, "grace": grace_seconds}
        await self._arrive("delete", detail | ({} if propagation == "Background" else {"propagation": propagation}))
        if self._existing(key).body["metadata"]["uid"] != uid:
            raise ConflictError(409, "Conflict", "the uid in the precondition is another")
        return self._answer(resource, self.remove(key.name))

    async def _arrive(self, verb: str, detail: Mapping[str, Any]) -> None:
        self.calls.append(Call(asyncio.get_running_loop().time(), verb, dict(detail)))
        if len(self.calls) > MOST_CALLS:
            raise RuntimeError("somebody calls without a pause, and time stands still")
        if self.call_seconds:
            await asyncio.sleep(self.call_seconds)
        if verb in {"list", "watch"} and self.refusals and (refusal := self.refusals.popleft()) is not None:
            raise refusal

    def _existing(self, key: ObjectKey) -> Event:
        assert key.namespace == NAMESPACE
        if key.name not in self.state():
            raise NotFoundError(404, "NotFound", "there is none")
        return self.state()[key.name]

    def _answer(self, resource: Resource[Any], body: Body) -> Object:
        if self.after_commit:
            raise self.after_commit.popleft()
        return _read(resource, body)

    def _commit(self, kind: str, body: Body) -> Body:
        self.version += 1
        body = body | {"metadata": body["metadata"] | {"resourceVersion": str(self.version)}}
        self.history.append(Event(self.version, kind, body))
        self._pump()
        return body

    def _pump(self) -> None:
        for connection in self.connections:
            connection.pump()


def _arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": body["metadata"]["name"], **body}


def _read(resource: Resource[Any], body: Body) -> Object:
    found: Object = resource.decoder.decode(codec.encode(body))
    return found


def _gone() -> GoneError:
    return GoneError(410, "Expired", "too old resource version")
