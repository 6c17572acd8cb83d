"""Calls to the API server. Each goes out once; what happened is returned or raised as a typed error.

Only two refusals are answered here, because in both the server has done nothing: "come back later" (429) after the
pause it asks for, and "who are you?" (401) once with a token or certificate read anew. Everything else is the
caller's to judge.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec

from kubedl.kube.credentials import Credentials, CredentialsError
from kubedl.kube.errors import ApiError, BusyError, ForbiddenError, UnauthorizedError, UnsureError, refusal
from kubedl.kube.http import Head, Permit, Pool
from kubedl.kube.limiter import Limiter
from kubedl.wire import codec, nesting
from kubedl.wire.meta import Key, ObjectT, Record, Resource

CALL_SECONDS = 30.0
BUSY_TRIES = 6
BUSY_PAUSE = 1.0  # seconds, when the server names none
LONGEST_PAUSE = 60.0  # a webhook may answer 429 too, and name a day
NAME = "kubedl"  # our user agent, from which the server takes the manager of the fields that we write

Body = Mapping[str, Any] | msgspec.Struct
Rendered = Callable[[], Body]
Params = Mapping[str, str]
Told = Callable[[str, str, str, float], None]
PatchType = Literal["merge", "apply"]
_CONTENT = {"merge": "application/merge-patch+json", "apply": "application/apply-patch+yaml"}


class ListMeta(Record, frozen=True):
    """Where a list ends and of which moment it is."""

    resource_version: str = ""
    next_page: str = msgspec.field(name="continue", default="")


class Page(Record, frozen=True):
    """A part of a list; items are decoded one by one, so that one that does not fit spoils no other."""

    metadata: ListMeta
    items: tuple[msgspec.Raw, ...] | None = ()
    cut: bool = False  # something in one of them was nested too deep, and was cut out


class Client:
    """One process's connection to the API server."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        limiter: Limiter | None = None,
        told: Told = lambda *_: None,  # of each call: verb, resource, outcome, seconds
        before_write: Permit = lambda: None,
        sockets: int = 64,
    ) -> None:
        self.namespace = credentials.namespace
        self._credentials = credentials
        self._limiter = limiter or Limiter(0, 0)
        self._tell = told
        self._before_write = before_write
        headers = f"Accept: application/json\r\nUser-Agent: {NAME}\r\n"
        self._pool = Pool(credentials.server, credentials.tls, headers, sockets)

    async def close(self) -> None:
        """Give the connections back."""
        self._pool.close()

    async def get(self, resource: Resource[ObjectT], key: Key) -> ObjectT:
        """One object, as the server has it now."""
        return _decode(resource, await self.call("get", resource, resource.path(*key)))

    async def create(self, resource: Resource[ObjectT], namespace: str, body: Body | Rendered) -> ObjectT:
        """A new object. A body that is a function is asked for when there is a connection for it."""
        return _decode(resource, await self.call("create", resource, resource.path(namespace), body=body))

    async def patch(
        self, resource: Resource[ObjectT], key: Key, body: Body, how: PatchType = "merge", subresource: str = ""
    ) -> ObjectT:
        """Change an object, or create it too where `how` is apply; our fields are ours by force."""
        params = {"fieldManager": NAME, "force": "true"} if how == "apply" else {}
        path = resource.path(*key, subresource=subresource)
        answer = await self.call("patch", resource, path, params=params, body=body, content=_CONTENT[how])
        return _decode(resource, answer)

    async def delete(
        self, resource: Resource[ObjectT], key: Key, uid: str, grace_seconds: int | None = None
    ) -> ObjectT | None:
        """Delete the object of that uid and no other; returns its last state where the server tells."""
        options: dict[str, Any] = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        answer = await self.call("delete", resource, resource.path(*key), body=options)
        try:
            last = resource.decoder.decode(answer)
        except codec.UNREADABLE:
            return None
        return last if last.metadata.uid == uid else None

    async def page(self, resource: Resource[Any], namespace: str, params: Params) -> Page:
        """A page of a list."""
        answer = await self.call("list", resource, resource.path(namespace), params=params)
        try:
            return _page(answer)
        except codec.UNREADABLE as error:
            raise _unreadable(resource, error) from error

    async def call(
        self,
        verb: str,
        resource: Resource[Any],
        path: str,
        *,
        params: Params = {},  # noqa: B006 - never changed
        body: Body | Rendered | None = None,
        content: str = "application/json",
    ) -> bytes:
        """Make a call and return the body of a good answer."""
        refused = False
        for attempt in range(1, BUSY_TRIES + 1):
            try:
                return await self._send(verb, resource, path, params, body, content)
            except UnauthorizedError:
                if refused or not self._credentials.renewable:
                    raise
                refused = True
            except BusyError:
                if attempt == BUSY_TRIES:
                    raise
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def stream(
        self, resource: Resource[Any], namespace: str, params: Params, silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; it raises UnsureError when nothing arrives for `silence` seconds."""
        await self._limiter.take()
        target = f"{resource.path(namespace)}?{urlencode({**params, 'watch': '1'})}"
        headers = await self._identity()
        opened = self._pool.stream(target, headers, silence)
        async with self._watched_over("watch", resource) as outcome, opened as (head, parts):
            outcome.append(str(head.status))
            if head.status != 200:
                raise self._refusal(head, b"".join([part async for part in parts]))
            yield parts

    async def _send(
        self, verb: str, resource: Resource[Any], path: str, params: Params, body: Body | Rendered | None, content: str
    ) -> bytes:
        await self._limiter.take()
        headers = await self._identity()
        data = None
        if body is not None:
            headers += f"Content-Type: {content}\r\n"
            data = partial(_encoded, body)
        target = f"{path}?{urlencode(params)}" if params else path
        method, permit = _METHODS[verb], self._before_write if verb in _WRITES else lambda: None
        async with self._watched_over(verb, resource) as outcome:
            head, answer = await self._pool.call(method, target, headers, data, CALL_SECONDS, permit)
            outcome.append(str(head.status))
            if head.status >= 300:
                error = self._refusal(head, answer)
                if isinstance(error, ForbiddenError) and 'User "' not in error.message:
                    outcome.append("denied")  # by admission, such as a quota: whoever lacks a right is named
                raise error
            return answer

    @asynccontextmanager
    async def _watched_over(self, verb: str, resource: Resource[Any]) -> AsyncIterator[list[str]]:
        """What breaks becomes an UnsureError, and the metrics are told how the call ended."""
        loop, outcome = asyncio.get_running_loop(), ["unsure"]
        began = loop.time()
        try:
            yield outcome
        except OSError as error:
            words = str(error) or type(error).__name__  # a timeout says nothing
            raise UnsureError(0, "", f"{verb} of {resource.name}: {words}") from error
        finally:
            self._tell(verb, resource.name, outcome[-1], loop.time() - began)

    async def _identity(self) -> str:
        if (token := self._credentials.token) is None:
            return ""
        try:
            return f"Authorization: Bearer {await token.value()}\r\n"
        except CredentialsError as error:
            raise UnauthorizedError(0, "", str(error)) from error

    def _refusal(self, head: Head, body: bytes) -> ApiError:
        after = head.headers.get(b"retry-after", b"")
        error = refusal(head.status, body, float(after) if after.isdigit() else None)
        if isinstance(error, BusyError):
            self._limiter.pause(min(error.retry_after or BUSY_PAUSE, LONGEST_PAUSE))
        elif isinstance(error, UnauthorizedError):
            self._credentials.refused()
        return error


def _encoded(body: Body | Rendered) -> bytes:
    return codec.encode(body() if callable(body) else body)


def _decode(resource: Resource[ObjectT], answer: bytes) -> ObjectT:
    try:
        return resource.decoder.decode(answer)
    except codec.UNREADABLE as error:
        raise _unreadable(resource, error) from error


def _page(answer: bytes) -> Page:
    """One object that is nested too deep must not spoil the others."""
    try:
        return codec.decode(answer, Page)
    except RecursionError:
        return msgspec.structs.replace(codec.decode(nesting.cut(answer), Page), cut=True)


def _unreadable(resource: Resource[Any], error: Exception) -> UnsureError:
    return UnsureError(0, "", f"the server's answer about {resource.name} cannot be read: {error}")


_WRITES = frozenset({"create", "patch", "delete"})
_METHODS = {"get": "GET", "list": "GET", "create": "POST", "patch": "PATCH", "delete": "DELETE"}
