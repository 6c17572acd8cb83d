"""Calls to the API server. Each request is sent once; the result is returned or raised as a typed error.

Only two errors are retried here, because the server has processed nothing: 429 after the requested delay, and 401 once
with a reloaded token or certificate. The caller handles all others.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec

from kubedl.kube import codec, nesting
from kubedl.kube.credentials import Credentials
from kubedl.kube.errors import (
    ApiError,
    ForbiddenError,
    TooManyRequestsError,
    UnauthorizedError,
    UnknownOutcomeError,
    error_from_response,
)
from kubedl.kube.http import Permit, Pool
from kubedl.kube.http_parser import Head
from kubedl.kube.kubeconfig import CredentialsError
from kubedl.kube.rate_limiter import RateLimiter
from kubedl.kube.types.meta import ObjectKey, ObjectT, Record, Resource

CALL_SECONDS = 30.0
BUSY_TRIES = 6
BUSY_PAUSE = 1.0  # seconds, if the server gives no Retry-After
LONGEST_PAUSE = 60.0  # a webhook may return 429 too, with a delay of a day
NAME = "kubedl"  # user agent; the server derives the field manager from it

Body = Mapping[str, Any] | msgspec.Struct
Rendered = Callable[[], Body]
Params = Mapping[str, str]
OnRequest = Callable[[str, str, str, float], None]
PatchType = Literal["merge", "apply"]
Propagation = Literal["Background", "Foreground"]
_CONTENT = {"merge": "application/merge-patch+json", "apply": "application/apply-patch+yaml"}


class ListMeta(Record, frozen=True):
    """Metadata of a list page: continue token and resource version."""

    resource_version: str = ""
    next_page: str = msgspec.field(name="continue", default="")


class Page(Record, frozen=True):
    """One page of a list. Items are decoded one by one, so a malformed item does not affect the others."""

    metadata: ListMeta
    items: tuple[msgspec.Raw, ...] | None = ()
    cut: bool = False  # an item was nested too deep and was cut


class Client:
    """The client of one process."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        limiter: RateLimiter | None = None,
        on_request: OnRequest = lambda *_: None,  # called for each request: verb, resource, result, seconds
        before_write: Permit = lambda: None,
        sockets: int = 64,
        agent: str = NAME,
    ) -> None:
        self.namespace = credentials.namespace
        self._credentials = credentials
        self._limiter = limiter or RateLimiter(0, 0)
        self._on_request = on_request
        self._before_write = before_write
        headers = f"Accept: application/json\r\nUser-Agent: {agent}\r\n"
        self._pool = Pool(credentials.server, credentials.tls, headers, sockets)

    async def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    async def get(self, resource: Resource[ObjectT], key: ObjectKey) -> ObjectT:
        """Get one object from the API server."""
        return _decode(resource, await self.call("get", resource, resource.path(*key)))

    async def create(self, resource: Resource[ObjectT], namespace: str, body: Body | Rendered) -> ObjectT:
        """Create an object. If the body is a function, it is called when a connection is available."""
        return _decode(resource, await self.call("create", resource, resource.path(namespace), body=body))

    async def patch(
        self, resource: Resource[ObjectT], key: ObjectKey, body: Body, how: PatchType = "merge", subresource: str = ""
    ) -> ObjectT:
        """Patch an object; with server-side apply, also create it. Apply forces ownership of the fields."""
        params = {"fieldManager": NAME, "force": "true"} if how == "apply" else {}
        path = resource.path(*key, subresource=subresource)
        answer = await self.call("patch", resource, path, params=params, body=body, content=_CONTENT[how])
        return _decode(resource, answer)

    async def delete(
        self,
        resource: Resource[ObjectT],
        key: ObjectKey,
        uid: str,
        grace_seconds: int | None = None,
        propagation: Propagation = "Background",
    ) -> ObjectT | None:
        """Delete the object if it has this uid; returns its last state if the server sends it.

        With Foreground it exists until its dependents are gone.
        """
        options: dict[str, Any] = {"preconditions": {"uid": uid}, "propagationPolicy": propagation}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        answer = await self.call("delete", resource, resource.path(*key), body=options)
        try:
            last = resource.decoder.decode(answer)
        except codec.UNREADABLE:
            return None
        return last if last.metadata.uid == uid else None

    async def page(self, resource: Resource[Any], namespace: str, params: Params) -> Page:
        """Return one page of a list."""
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
        """Send a request and return the body of a successful response."""
        refused = False
        for attempt in range(1, BUSY_TRIES + 1):
            try:
                return await self._send(verb, resource, path, params, body, content)
            except UnauthorizedError:
                if refused or not self._credentials.renewable:
                    raise
                refused = True
            except TooManyRequestsError:
                if attempt == BUSY_TRIES:
                    raise
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def stream(
        self, resource: Resource[Any], namespace: str, params: Params, silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; raises UnknownOutcomeError after `silence` seconds without data."""
        opened = self._streamed("watch", resource, resource.path(namespace), {**params, "watch": "1"}, silence)
        async with opened as parts:
            yield parts

    @asynccontextmanager
    async def read(
        self, resource: Resource[Any], path: str, params: Params, silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Read a response of any size, such as a log, in parts; `silence` as for a watch."""
        async with self._streamed("get", resource, path, params, silence) as parts:
            yield parts

    @asynccontextmanager
    async def _streamed(
        self, verb: str, resource: Resource[Any], path: str, params: Params, silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        await self._limiter.take()
        headers = await self._identity()
        opened = self._pool.stream(f"{path}?{urlencode(params)}", headers, silence)
        async with self._watched_over(verb, resource) as outcome, opened as (head, parts):
            outcome.append(str(head.status))
            if head.status not in (200, 204):  # no content: the log of a pod that has no node
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
                    outcome.append("denied")  # by admission, such as a quota; a missing permission names the user
                raise error
            return answer

    @asynccontextmanager
    async def _watched_over(self, verb: str, resource: Resource[Any]) -> AsyncIterator[list[str]]:
        """Turn connection failures into UnknownOutcomeError, and report the result to the metrics."""
        loop, outcome = asyncio.get_running_loop(), ["unsure"]
        began = loop.time()
        try:
            yield outcome
        except OSError as error:
            message = str(error) or type(error).__name__  # TimeoutError has no text
            raise UnknownOutcomeError(0, "", f"{verb} of {resource.name}: {message}") from error
        finally:
            self._on_request(verb, resource.name, outcome[-1], loop.time() - began)

    async def _identity(self) -> str:
        if (token := self._credentials.token) is None:
            return ""
        try:
            return f"Authorization: Bearer {await token.value()}\r\n"
        except CredentialsError as error:
            raise UnauthorizedError(0, "", str(error)) from error

    def _refusal(self, head: Head, body: bytes) -> ApiError:
        after = head.headers.get(b"retry-after", b"")
        error = error_from_response(head.status, body, float(after) if after.isdigit() else None)
        if isinstance(error, TooManyRequestsError):
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
    """Decode a list item by item: one object that is nested too deep must not affect the others."""
    try:
        return codec.decode(answer, Page)
    except RecursionError:
        return msgspec.structs.replace(codec.decode(nesting.truncate_nesting(answer), Page), cut=True)


def _unreadable(resource: Resource[Any], error: Exception) -> UnknownOutcomeError:
    return UnknownOutcomeError(0, "", f"cannot decode the server's response about {resource.name}: {error}")


_WRITES = frozenset({"create", "patch", "delete"})
_METHODS = {"get": "GET", "list": "GET", "create": "POST", "patch": "PATCH", "delete": "DELETE"}
