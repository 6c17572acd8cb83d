"""The proxy's own connections to the API server.

A call goes out exactly once: nothing here retries, follows redirects or unpacks a body.
"""

import asyncio
import ssl
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from testbed.tracked_sockets import TrackedSockets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

_HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
# Each side frames its own message, and the host is the one that the request is sent to.
_PER_CONNECTION = _HOP_BY_HOP | {"content-length", "host"}


class UpstreamUnreachableError(Exception):
    """There was no connection to the API server; the call did not leave the proxy."""


class UpstreamDisconnectedError(Exception):
    """The API server closed the connection before it answered; the call may have committed."""


@dataclass(frozen=True, kw_only=True)
class UpstreamAddress:
    """Where the API server is, whom to trust for it, and who the proxy is to it."""

    url: str
    authority: "Path | str"
    client_certificate: "Path | str"
    client_key: "Path | str"


class Upstream:
    """Sends calls to the API server with the client's token or else under the proxy's certificate."""

    def __init__(self, address: UpstreamAddress, session: aiohttp.ClientSession) -> None:
        self._url = address.url.rstrip("/")
        self._session = session
        self._anonymous = ssl.create_default_context(cafile=address.authority)
        self._certified = ssl.create_default_context(cafile=address.authority)
        self._certified.load_cert_chain(address.client_certificate, address.client_key)

    @asynccontextmanager
    async def send(
        self, method: str, target: str, headers: "Mapping[str, str]", body: bytes
    ) -> "AsyncIterator[aiohttp.ClientResponse]":
        """Send a call; inside the context the answer's head is there and its body can be read."""
        # The API server prefers a certificate to a token, so a call with a token must not show one.
        has_token = "Authorization" in headers
        async with self._session.request(
            method,
            URL(self._url + target, encoded=True),
            headers=headers,
            data=BytesIO(body) if body else None,
            ssl=self._anonymous if has_token else self._certified,
            allow_redirects=False,
        ) as answer:
            try:
                yield answer
            finally:
                _abort_unfinished(answer)


@asynccontextmanager
async def connect(address: UpstreamAddress) -> "AsyncIterator[Upstream]":
    """Keep connections to the API server for as long as the context lasts; afterwards none is left."""
    sockets = TrackedSockets()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, socket_factory=sockets.open),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
        auto_decompress=False,
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        middlewares=(_send_once,),
    ) as session:
        yield Upstream(address, session)
    await sockets.close()


def end_to_end(headers: "Mapping[str, str]") -> CIMultiDict[str]:
    """Copy the headers that are meant for the far end."""
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _PER_CONNECTION | named)


async def read_whole(answer: aiohttp.ClientResponse) -> bytes:
    """Read the answer's body to its end."""
    try:
        return await answer.read()
    except aiohttp.ClientPayloadError as error:
        raise UpstreamDisconnectedError(str(error)) from error


def abort(transport: asyncio.BaseTransport | None) -> None:
    """Break a connection without a word, unless it is broken already."""
    if isinstance(transport, asyncio.Transport):
        # Python before 3.11.4 trips over a TLS connection that has ended meanwhile.
        with suppress(AttributeError):
            transport.abort()


def _abort_unfinished(answer: aiohttp.ClientResponse) -> None:
    # An answer that was read to its end has given its connection back; any other would linger in a polite
    # end of TLS, for which a busy API server need not have the time.
    if answer.connection is not None:
        abort(answer.connection.transport)


async def _send_once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    # aiohttp sends a PUT or DELETE again when a connection breaks, but only on its own error types.
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise UpstreamUnreachableError(
            f"the fault proxy cannot reach {request.url.origin()}: {error}; check that the API server runs "
            "and that the authority given to FaultProxy signed its certificate"
        ) from error
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise UpstreamDisconnectedError(str(error)) from error
