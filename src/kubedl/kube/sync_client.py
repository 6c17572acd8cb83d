"""Calls to the API server from threads, over `http.client`: for commands, which end before an event loop is loaded.

A request is sent once. It is repeated only if the server has processed nothing (429, 401 with other credentials), or
if it only reads and a kept connection had been closed meanwhile.
"""

import http.client
import ssl
import threading
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from socket import socket
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

from kubedl.kube import codec
from kubedl.kube.errors import (
    ApiError,
    TooManyRequestsError,
    UnauthorizedError,
    UnknownOutcomeError,
    error_from_response,
)
from kubedl.kube.keep_alive import keep_alive
from kubedl.kube.kubeconfig import CredentialsError
from kubedl.kube.sync_credentials import SyncCredentials

JSON = "application/json"
ANY = f"{JSON}, */*"  # what a stream may be
BUSY_TRIES = 5
BUSY_PAUSE = 1.0  # seconds, if the server gives no Retry-After
LONGEST_PAUSE = 10.0
LONGEST_LINE = 8 * 2**20  # bytes; no object is as long, and a log line of this length is passed on in parts
PIECE = 64 * 1024
IDLE = 50.0  # seconds; shorter than the idle timeout of load balancers, which drop connections silently
NO_PARAMS: Mapping[str, str] = {}

OnCall = Callable[[str, str, str, float], None]  # method, path, result, seconds


class SyncClient:
    """The client of one process. Threads may share it; a connection serves one of them at a time."""

    def __init__(
        self,
        credentials: SyncCredentials,
        agent: str,
        timeout: float,
        proxy: str = "",
        on_call: OnCall = lambda *_: None,
    ) -> None:
        self.credentials = credentials
        self._address = urlsplit(credentials.server)
        self._proxy = _proxy(proxy, self._address) if proxy else None
        self.agent = agent
        self.timeout = timeout
        self.on_call = on_call
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []  # and since when
        self._closed = False
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections that nobody uses; those in use are closed after it."""
        self._closed = True
        self._drop_idle()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _kept(self) -> http.client.HTTPConnection | None:
        """Return an idle connection, if one may still be open."""
        with self._lock:
            while self._idle:
                connection, since = self._idle.pop()
                if time.monotonic() - since < IDLE:
                    return connection
                connection.close()
        return None

    def call(
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
        headers = {"Accept": accept, "Accept-Encoding": "gzip"} | ({"Content-Type": content} if data else {})
        refused = False
        for attempt in range(1, BUSY_TRIES + 1):
            try:
                return self._send(method, target, headers, data)
            except UnauthorizedError:
                if refused or not self.credentials.renewable:
                    raise
                refused = True
                self.credentials.refused()
                self._drop_idle()
            except TooManyRequestsError as error:
                if attempt == BUSY_TRIES:
                    raise
                time.sleep(min(error.retry_after or BUSY_PAUSE, LONGEST_PAUSE))
        raise AssertionError("unreachable")

    @contextmanager
    def stream(
        self, path: str, params: Mapping[str, str], silence: float | None, accept: str = ANY
    ) -> Iterator[Iterator[bytes]]:
        """Open a response that goes on, and yield its lines. A connection that is cut raises UnknownOutcomeError.

        It is taken for cut after `silence` seconds without data; with None, when the kernel finds the peer gone.
        """
        with self._reported("GET", path):
            connection, response = self._connect(), None
            try:
                self._request(connection, "GET", f"{path}?{urlencode(params)}", {"Accept": accept}, None)
                connected = connection.sock  # the response takes it, if the server will close it
                connected.settimeout(self.timeout if silence is None else min(silence, self.timeout))
                response = connection.getresponse()
                if response.status != 200:
                    raise _refusal(response, response.read())
                connected.settimeout(silence)
                keep_alive(connected)
                yield _lines(response)
            finally:
                if response is not None:
                    response.close()
                connection.close()

    def _send(self, method: str, target: str, headers: dict[str, str], body: bytes | None) -> bytes:
        with self._reported(method, target.partition("?")[0]):
            if (connection := self._kept()) is not None:
                try:
                    return self._exchange(connection, method, target, headers, body)
                except (http.client.RemoteDisconnected, ConnectionError):
                    if method != "GET":
                        raise
            return self._exchange(self._connect(), method, target, headers, body)

    @contextmanager
    def _reported(self, method: str, path: str) -> Iterator[None]:
        """Turn failures of the connection into UnknownOutcomeError, and missing credentials into UnauthorizedError."""
        began, result = time.monotonic(), "ok"
        try:
            yield
        except CredentialsError as error:
            result = "no credentials"
            raise UnauthorizedError(0, "", str(error)) from error
        except (OSError, http.client.HTTPException, zlib.error) as error:
            result = str(error) or type(error).__name__
            raise UnknownOutcomeError(0, "", f"{method} {path}: {result}") from error
        except ApiError as error:
            result = str(error.code)
            raise
        finally:
            self.on_call(method, path, result, time.monotonic() - began)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        headers: dict[str, str],
        body: bytes | None,
    ) -> bytes:
        try:
            self._request(connection, method, target, headers, body)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close or self._closed:
            connection.close()
        else:
            with self._lock:
                self._idle.append((connection, time.monotonic()))
        if response.headers.get("Content-Encoding") == "gzip":
            answer = zlib.decompress(answer, 31)
        if response.status >= 300:
            raise _refusal(response, answer)
        return answer

    def _request(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        headers: dict[str, str],
        body: bytes | None,
    ) -> None:
        connection.putrequest(method, f"{self._address.path.rstrip('/')}{target}", skip_accept_encoding=True)
        groups = [("Impersonate-Group", group) for group in self.credentials.groups()]
        identity = [*self.credentials.headers().items(), *groups]
        refuse_control_characters(identity)
        for name, value in (*headers.items(), ("User-Agent", self.agent), *identity):
            connection.putheader(name, value.encode())  # a name may have any characters; http.client takes Latin-1
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)

    @property
    def has_proxy(self) -> bool:
        """Return whether the server is behind a proxy."""
        return self._proxy is not None

    def dial(self) -> socket:
        """Return a connection through the proxy on which nothing has been sent to the server, not even for TLS."""
        assert self._proxy is not None  # noqa: S101 - asked for before
        proxy, server = self._proxy, self._address
        connection = http.client.HTTPConnection(proxy.hostname or "", proxy.port or 80, timeout=self.timeout)
        connection.set_tunnel(server.hostname or "", server.port or 443, _proxy_login(proxy))
        connection.connect()
        found: socket = connection.sock
        return found

    def _connect(self) -> http.client.HTTPConnection:
        host, context = self._address.hostname or "", self.credentials.context()
        port = self._address.port or (443 if context else 80)
        if context is None:
            return http.client.HTTPConnection(host, port, timeout=self.timeout)
        connection = _Secured(
            self._proxy.hostname or "" if self._proxy else host,
            self._proxy.port or 80 if self._proxy else port,
            timeout=self.timeout,
        )
        connection.context, connection.server_name = context, self.credentials.server_name or host
        if self._proxy is not None:
            connection.set_tunnel(host, port, _proxy_login(self._proxy))
        return connection


class _Secured(http.client.HTTPConnection):
    """A connection with TLS, also through a proxy, to a server whose certificate may have another name."""

    default_port = 443
    context: ssl.SSLContext
    server_name: str

    def connect(self) -> None:
        super().connect()
        self.sock = self.context.wrap_socket(self.sock, server_hostname=self.server_name)


def _proxy(url: str, server: SplitResult) -> SplitResult:
    found = urlsplit(url if "//" in url else f"//{url}", scheme="http")
    if found.scheme != "http" or server.scheme != "https" or not found.hostname:
        raise CredentialsError(f"proxy {url!r}: only http:// proxies to https:// servers are supported")
    return found


def _proxy_login(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


def refuse_control_characters(identity: Iterable[tuple[str, str]]) -> None:
    """Refuse headers that would end early. Raises CredentialsError, without the credentials."""
    if any(not f"{name}{value}".isprintable() for name, value in identity):
        raise CredentialsError("the credentials have a line break or another control character")


def _refusal(response: http.client.HTTPResponse, body: bytes) -> ApiError:
    after = response.headers.get("Retry-After", "")
    return error_from_response(response.status, body, float(after) if after.isdigit() else None)


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    rest = b""
    while piece := response.read1(PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > LONGEST_LINE:
            yield rest
            rest = b""
    if rest:
        yield rest
