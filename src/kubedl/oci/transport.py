"""HTTP/1.1 requests on per-thread connections.

Nothing is sent twice, no redirect is followed, and no header is added. Certificates are verified unless the registry is
insecure: then any certificate, or plain HTTP, is accepted, as with Docker's insecure registries. Proxies from the
environment are used, except for hosts in `no_proxy`.
"""

import base64
import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import SplitResult, unquote, urlsplit

from kubedl.kube.tls import client_context
from kubedl.oci.errors import ImageError
from kubedl.oci.proxy import proxy_for

PATIENCE = 60.0  # seconds for a connection, or for the next bytes of a response
COMMIT_PATIENCE = 600.0  # a registry sends nothing while it moves a large blob to its place
MOST_BYTES = 8 << 20  # of a response
IDLE = 15.0  # seconds after which an idle connection is not reused

_TLS = {b"\x15", b"\x16"}  # TLS responses begin with an alert or a handshake record

BROKEN = (OSError, http.client.HTTPException)  # the connection, not the response


@dataclass(frozen=True)
class Body:
    """A request body: its length and a source of bytes."""

    size: int
    pieces: Iterator[memoryview] | Iterator[bytes]


@dataclass(frozen=True)
class Response:
    """A complete response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""


class Transport:
    """The connections of one packer; `insecure` applies to one host only."""

    def __init__(self, insecure_host: str = "") -> None:
        self._insecure_host = insecure_host
        self._kept = threading.local()
        self._lax = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._lax.check_hostname = False
        self._lax.verify_mode = ssl.CERT_NONE
        self._schemes: dict[str, str] = {}
        self._lock = threading.Lock()
        self._all: list[http.client.HTTPConnection] = []

    @cached_property
    def _strict(self) -> ssl.SSLContext:
        """Made when first needed: to read the CAs of the system takes longer than many an exchange."""
        return client_context()

    def scheme(self, host: str) -> str:
        """Return the scheme of a registry: https, or plain http if it is insecure and does not support TLS.

        Raises an error of BROKEN while it does not respond: the detected scheme is kept until the end.
        """
        if host != self._insecure_host:
            return "https"
        with self._lock:
            if host not in self._schemes:
                self._schemes[host] = "https" if self._speaks_tls(host) else "http"
            return self._schemes[host]

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: Body | None = None, patience: float = PATIENCE
    ) -> Response:
        """Send once; an error of BROKEN means that no complete response arrived, and the connection is closed."""
        address = urlsplit(url)
        if not url.isprintable() or " " in url:
            raise ImageError("RegistryFailed", f"the registry returned an invalid URL: {url!r:.200}")
        target = address.path + (f"?{address.query}" if address.query else "")
        connection = self._connection(address.scheme, address.netloc)
        try:
            connection.timeout = patience
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(patience)
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(body.size))
            connection.endheaders()
            answered_early = body is not None and not self._send_body(connection, body)
            reply = _read(connection, method)
        except ssl.SSLCertVerificationError as error:
            self._drop(address.scheme, address.netloc)
            raise ImageError(
                "RegistryNotTrusted",
                f"the certificate of {address.netloc} is not trusted ({error.verify_message}); put the CA certificate "
                "into a Secret as ca.crt and set registry.authority.secretName, or set registry.insecure: true",
                retry=False,
            ) from error
        except BaseException:
            self._drop(address.scheme, address.netloc)
            raise
        if answered_early or reply.headers.get("connection", "").lower() == "close":
            self._drop(address.scheme, address.netloc)
        return reply

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._all:
                connection.close()

    def _send_body(self, connection: http.client.HTTPConnection, body: Body) -> bool:
        """Return whether the whole body was sent. A registry that rejects a request need not read all of it."""
        for piece in body.pieces:
            try:
                connection.sock.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                return False
        return True

    def _connection(self, scheme: str, host: str) -> http.client.HTTPConnection:
        kept: dict[tuple[str, str], http.client.HTTPConnection] = self._kept.__dict__.setdefault("connections", {})
        used: dict[tuple[str, str], float] = self._kept.__dict__.setdefault("used", {})
        place, now = (scheme, host), time.monotonic()
        if place not in kept:
            kept[place] = self._new(scheme, host)
            with self._lock:
                self._all.append(kept[place])
        elif now - used[place] > IDLE:
            kept[place].close()
        used[place] = now
        return kept[place]

    def _new(self, scheme: str, host: str) -> http.client.HTTPConnection:
        context = self._lax if host == self._insecure_host else self._strict
        proxy = proxy_for(scheme, host)
        if proxy is None:
            if scheme == "https":
                return http.client.HTTPSConnection(host, timeout=PATIENCE, context=context)
            return http.client.HTTPConnection(host, timeout=PATIENCE)
        if scheme == "http":
            raise ImageError(
                "RegistryUnreachable", f"{host} is insecure and behind a proxy; add it to NO_PROXY", permanent=True
            )
        place = proxy.netloc.rpartition("@")[2]
        if ":" not in place.rpartition("]")[2]:
            place += ":80"  # as Go does; the default of the connection is that of TLS
        tunnel = http.client.HTTPSConnection(place, timeout=PATIENCE, context=context)
        parts = urlsplit(f"//{host}")
        tunnel.set_tunnel(parts.hostname or host, parts.port or 443, _proxy_login(proxy))
        return tunnel

    def _drop(self, scheme: str, host: str) -> None:
        self._connection(scheme, host).close()

    def _speaks_tls(self, host: str) -> bool:
        """Detect TLS by the first byte of the response to a handshake. Silence is inconclusive."""
        parts = urlsplit(f"//{host}")
        name = parts.hostname or ""
        try:
            connection = socket.create_connection((name, parts.port or 443), PATIENCE)
        except ConnectionRefusedError:
            if parts.port:
                raise
            socket.create_connection((name, 80), PATIENCE).close()  # plain HTTP has another port
            return False
        with connection:
            connection.sendall(_greeting(self._lax, name))
            first = connection.recv(1)
        if not first:
            raise ConnectionError("it closed the connection during TLS detection")
        return first in _TLS


def _greeting(context: ssl.SSLContext, name: str) -> bytes:
    bio = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), bio, server_hostname=name).do_handshake()
    return bio.read()


def _read(connection: http.client.HTTPConnection, method: str) -> Response:
    answer = connection.getresponse()
    content = answer.read(MOST_BYTES)
    announced = answer.headers.get("Content-Length", "")
    if method != "HEAD" and (answer.read(1) or (announced.isdigit() and int(announced) != len(content))):
        raise http.client.HTTPException("the response ended early, or is too large")
    headers = {name.lower(): value for name, value in answer.getheaders()}
    if challenges := answer.headers.get_all("WWW-Authenticate"):
        headers["www-authenticate"] = ", ".join(challenges)  # some registries send one for each scheme
    return Response(answer.status, headers, content)


def _proxy_login(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
