"""Calls to the API server from an event loop, as a person's kubeconfig describes them.

It is `SyncClient` over the connections of the operator (`http.Pool`): the same credentials, retries and errors.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import urlencode

from kubedl.kube import codec
from kubedl.kube.errors import (
    ApiError,
    TooManyRequestsError,
    UnauthorizedError,
    UnknownOutcomeError,
    error_from_response,
)
from kubedl.kube.http import Pool
from kubedl.kube.http_parser import ConnectionBrokenError, Head
from kubedl.kube.kubeconfig import CredentialsError
from kubedl.kube.sync_client import (
    ANY,
    BUSY_PAUSE,
    BUSY_TRIES,
    JSON,
    LONGEST_LINE,
    LONGEST_PAUSE,
    NO_PARAMS,
    SyncClient,
    refuse_control_characters,
)
from kubedl.kube.sync_credentials import SyncCredentials

SOCKETS = 16


class _TLS:
    """The SSL context of the credentials, made in a thread: certificates may be on a slow disk."""

    def __init__(self, credentials: SyncCredentials, server_name: str | None) -> None:
        self.server_name = server_name
        self._credentials = credentials

    async def context(self) -> ssl.SSLContext:
        found = await asyncio.to_thread(self._credentials.context)
        if found is None:
            raise CredentialsError("a server without TLS has no certificates")
        return found

    def suspect(self) -> None:
        """Keep them: a person's certificates are read once."""


class LoopClient:
    """The client of one event loop."""

    def __init__(self, client: SyncClient) -> None:
        """Take address, credentials and timeout of another client."""
        self.credentials = client.credentials
        self._timeout, self._on_call = client.timeout, client.on_call
        secured = self.credentials.server.startswith("https:")
        tls = _TLS(self.credentials, self.credentials.server_name or None) if secured else None
        dial = client.dial if client.has_proxy else None
        self._pool = Pool(self.credentials.server, tls, f"User-Agent: {client.agent}\r\n", SOCKETS, dial)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self._pool.close()

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] = NO_PARAMS,
        body: object = None,
        accept: str = JSON,
        content: str = JSON,
    ) -> bytes:
        """Send a request and return the body of a successful response; raises ApiError otherwise."""
        target = f"{path}?{urlencode(params)}" if params else path
        data = codec.encode(body) if body is not None else None
        headers = f"Accept: {accept}\r\n" + (f"Content-Type: {content}\r\n" if data else "")
        refused = False
        for attempt in range(1, BUSY_TRIES + 1):
            try:
                return await self._send(method, target, headers, data)
            except UnauthorizedError:
                if refused or not self.credentials.renewable:
                    raise
                refused = True
                self.credentials.refused()
                self.close()
            except TooManyRequestsError as error:
                if attempt == BUSY_TRIES:
                    raise
                await asyncio.sleep(min(error.retry_after or BUSY_PAUSE, LONGEST_PAUSE))
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], silence: float | None, accept: str = ANY
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a response that goes on: its lines, as `SyncClient.stream` has them."""
        with self._reported("GET", path):
            headers = f"Accept: {accept}\r\n" + await self._identity()
            opening = self._timeout if silence is None else min(silence, self._timeout)
            opened = self._pool.stream(f"{path}?{urlencode(params)}", headers, silence, opening)
            async with opened as (head, parts):
                if head.status != 200:
                    raise _refusal(head, b"".join([part async for part in parts]))
                yield _lines(parts)

    async def _send(self, method: str, target: str, headers: str, body: bytes | None) -> bytes:
        with self._reported(method, target.partition("?")[0]):
            headers += await self._identity()
            try:
                head, answer = await self._exchange(method, target, headers, body)
            except ConnectionBrokenError:
                if method != "GET":
                    raise
                head, answer = await self._exchange(method, target, headers, body)
            if head.status >= 300:
                raise _refusal(head, answer)
            return answer

    async def _exchange(self, method: str, target: str, headers: str, body: bytes | None) -> tuple[Head, bytes]:
        rendered = (lambda: body) if body is not None else None
        return await self._pool.call(method, target, headers, rendered, self._timeout, lambda: None)

    async def _identity(self) -> str:
        """Return the headers that say who calls. A plugin is run in a thread: it may open a browser."""
        credentials = self.credentials
        found = await asyncio.to_thread(credentials.headers) if credentials.renewable else credentials.headers()
        lines = [*found.items(), *(("Impersonate-Group", group) for group in credentials.groups())]
        refuse_control_characters(lines)
        return "".join(f"{name}: {value}\r\n" for name, value in lines)

    @contextmanager
    def _reported(self, method: str, path: str) -> Iterator[None]:
        """Turn failures of the connection into UnknownOutcomeError, and missing credentials into UnauthorizedError."""
        began, result = time.monotonic(), "ok"
        try:
            yield
        except CredentialsError as error:
            result = "no credentials"
            raise UnauthorizedError(0, "", str(error)) from error
        except OSError as error:
            result = str(error) or type(error).__name__
            raise UnknownOutcomeError(0, "", f"{method} {path}: {result}") from error
        except ApiError as error:
            result = str(error.code)
            raise
        finally:
            self._on_call(method, path, result, time.monotonic() - began)


def _refusal(head: Head, body: bytes) -> ApiError:
    after = head.headers.get(b"retry-after", b"")
    return error_from_response(head.status, body, float(after) if after.isdigit() else None)


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > LONGEST_LINE:
            yield rest
            rest = b""
    if rest:
        yield rest
