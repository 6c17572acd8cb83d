"""Calls to the API server. Each goes out once; what happened is returned or raised as a typed error.

Only two refusals are answered here, because in both the server has done nothing: "come back later" (429) after the
pause it asks for, and "who are you?" (401) once with a token fetched anew. Everything else is the caller's to judge.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import aiohttp
import msgspec
from aiohttp.payload import BytesPayload
from yarl import URL

from kubedl.kube.credentials import Credentials, CredentialsError
from kubedl.kube.errors import ApiError, BusyError, UnauthorizedError, UnsureError, refusal
from kubedl.kube.limiter import Limiter
from kubedl.wire import codec
from kubedl.wire.meta import Key, ObjectT, Record, Resource

CALL_SECONDS = 30.0
BUSY_TRIES = 6
BUSY_PAUSE = 1.0  # seconds, when the server names none
NAME = "kubedl"  # our user agent, from which the server takes the manager of the fields that we write

Body = Mapping[str, Any] | msgspec.Struct
Params = Mapping[str, str]
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


class Calls:
    """Told of each call; the runtime counts them in its metrics."""

    def made(self, verb: str, resource: str, outcome: str, seconds: float) -> None:
        """One call ended."""


class Client:
    """One process's connection to the API server."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        limiter: Limiter | None = None,
        calls: Calls | None = None,
        before_write: Callable[[], None] | None = None,  # the last chance to stop one
        sockets: int = 64,
    ) -> None:
        self.namespace = credentials.namespace
        self._credentials = credentials
        self._limiter = limiter or Limiter(0, 0)
        self._calls = calls or Calls()
        self._before_write = before_write
        tls = credentials.tls if credentials.tls is not None else False
        # Idle connections are dropped before a load balancer would do it silently.
        connector = aiohttp.TCPConnector(limit=sockets, ssl=tls, keepalive_timeout=50)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={"Accept": "application/json", "User-Agent": NAME},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Give the connections back."""
        await self._session.close()

    async def get(self, resource: Resource[ObjectT], key: Key) -> ObjectT:
        """One object, as the server has it now."""
        return _decode(resource, await self.call("get", resource, resource.path(*key)))

    async def create(self, resource: Resource[ObjectT], namespace: str, body: Body) -> ObjectT:
        """A new object."""
        answer = await self.call("create", resource, resource.path(namespace), body=body)
        return _decode(resource, answer)

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
            return codec.decode(answer, Page)
        except codec.UNREADABLE as error:
            raise _unreadable(resource, error) from error

    async def call(
        self,
        verb: str,
        resource: Resource[Any],
        path: str,
        *,
        params: Params = {},  # noqa: B006 - never changed
        body: Body | None = None,
        content: str = "application/json",
    ) -> bytes:
        """Make a call and return the body of a good answer."""
        refused = False
        for attempt in range(1, BUSY_TRIES + 1):
            try:
                return await self._send(verb, resource, path, params, body, content)
            except UnauthorizedError:
                if refused or self._credentials.token is None:
                    raise
                refused = True
            except BusyError:
                if attempt == BUSY_TRIES:
                    raise
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def stream(
        self, resource: Resource[Any], namespace: str, params: Params, silence: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Open a watch; it raises UnsureError when nothing arrives for `silence` seconds."""
        await self._limiter.take()
        url = URL(self._credentials.server + resource.path(namespace), encoded=True)
        url = url.with_query({**params, "watch": "1"})
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CALL_SECONDS, sock_read=silence)
        began = asyncio.get_running_loop().time()
        outcome = "unsure"
        try:
            headers = await self._identity()
            async with self._session.get(url, timeout=timeout, headers=headers, allow_redirects=False) as response:
                outcome = str(response.status)
                if response.status != 200:
                    raise self._refusal(response, await response.read())
                yield response.content
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnsureError(0, "", f"watch of {resource.name}: {_words(error)}") from error
        finally:
            self._calls.made("watch", resource.name, outcome, asyncio.get_running_loop().time() - began)

    async def _send(
        self, verb: str, resource: Resource[Any], path: str, params: Params, body: Body | None, content: str
    ) -> bytes:
        await self._limiter.take()
        headers = await self._identity()
        # Given as bytes, aiohttp would search its registry of payloads each time.
        data = BytesPayload(codec.encode(body), content_type=content) if body is not None else None
        url = URL(self._credentials.server + path, encoded=True)
        if self._before_write is not None and verb in _WRITES:
            self._before_write()
        loop = asyncio.get_running_loop()
        began, outcome = loop.time(), "unsure"
        try:
            async with self._session.request(
                _METHODS[verb],
                url.with_query(params) if params else url,
                data=data,
                headers=headers,
                timeout=_TIMEOUT,
                allow_redirects=False,
                middlewares=(_send_once,) if verb == "delete" else None,
            ) as response:
                answer = await response.read()
                outcome = str(response.status)
                if response.status >= 300:
                    raise self._refusal(response, answer)
                return answer
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnsureError(0, "", f"{verb} {resource.name}: {_words(error)}") from error
        finally:
            self._calls.made(verb, resource.name, outcome, loop.time() - began)

    async def _identity(self) -> dict[str, str]:
        if (token := self._credentials.token) is None:
            return {}
        try:
            return {"Authorization": f"Bearer {await token.value()}"}
        except CredentialsError as error:
            raise UnauthorizedError(0, "", str(error)) from error

    def _refusal(self, response: aiohttp.ClientResponse, body: bytes) -> ApiError:
        after = response.headers.get("Retry-After", "")
        error = refusal(response.status, body, float(after) if after.isdigit() else None)
        if isinstance(error, BusyError):
            self._limiter.pause(error.retry_after or BUSY_PAUSE)
        elif isinstance(error, UnauthorizedError) and self._credentials.token is not None:
            self._credentials.token.refused()
        return error


def _decode(resource: Resource[ObjectT], answer: bytes) -> ObjectT:
    try:
        return resource.decoder.decode(answer)
    except codec.UNREADABLE as error:
        raise _unreadable(resource, error) from error


def _unreadable(resource: Resource[Any], error: Exception) -> UnsureError:
    return UnsureError(0, "", f"the server's answer about {resource.name} cannot be read: {error}")


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__  # a timeout says nothing


class _BrokenConnectionError(aiohttp.ClientError):
    """Not one of those after which aiohttp sends again."""


async def _send_once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    # aiohttp repeats a DELETE when a kept-alive connection breaks: a second write that nobody knows of.
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _BrokenConnectionError(str(error)) from error


_WRITES = frozenset({"create", "patch", "delete"})
_METHODS = {"get": "GET", "list": "GET", "create": "POST", "patch": "PATCH", "delete": "DELETE"}
_TIMEOUT = aiohttp.ClientTimeout(total=CALL_SECONDS)
