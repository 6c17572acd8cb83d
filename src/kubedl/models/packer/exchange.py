"""One request and its answer over HTTP/1.1, on connections that each thread keeps for itself.

Nothing is sent twice here, no redirect is followed, and no header is added to what the caller wrote. Certificates are
checked, unless the registry was said to be insecure: then any will do, or none, as with Docker's insecure registries.
Proxies of the environment are used for other hosts than those that `no_proxy` names.
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
from urllib.parse import SplitResult, unquote, urlsplit

from kubedl.kube.tls import client_context
from kubedl.models.packer.failure import PackingError
from kubedl.models.packer.proxy import proxy_for

PATIENCE = 60.0  # seconds for a connection, or for the next bytes of an answer
COMMIT_PATIENCE = 600.0  # a registry that moves a large blob to its place says nothing meanwhile
MOST_BYTES = 8 << 20  # of an answer
IDLE = 15.0  # seconds after which a silent connection is not trusted to be there still

_TLS = {b"\x15", b"\x16"}  # what it says begins with an alert or a handshake

BROKEN = (OSError, http.client.HTTPException)  # the connection, not the answer


@dataclass(frozen=True)
class Body:
    """What is sent: its length, and where its bytes come from."""

    size: int
    pieces: Iterator[memoryview] | Iterator[bytes]


@dataclass(frozen=True)
class Reply:
    """A whole answer. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""


class Exchange:
    """Connections of one packer; `insecure` holds for one host only."""

    def __init__(self, insecure_host: str = "") -> None:
        self._insecure_host = insecure_host
        self._kept = threading.local()
        self._strict = client_context()
        self._lax = client_context()
        self._lax.check_hostname = False
        self._lax.verify_mode = ssl.CERT_NONE
        self._schemes: dict[str, str] = {}
        self._lock = threading.Lock()
        self._all: list[http.client.HTTPConnection] = []

    def scheme(self, host: str) -> str:
        """How to speak to a registry: https, or plain http if it is said to be insecure and does not know better.

        While it does not tell, an error of BROKEN: whatever is taken for the answer holds until the end.
        """
        if host != self._insecure_host:
            return "https"
        with self._lock:
            if host not in self._schemes:
                self._schemes[host] = "https" if self._speaks_tls(host) else "http"
            return self._schemes[host]

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: Body | None = None, patience: float = PATIENCE
    ) -> Reply:
        """Send once; an error of BROKEN says that no whole answer came, and the connection is gone."""
        address = urlsplit(url)
        if not url.isprintable() or " " in url:
            raise PackingError("RegistryFailed", f"the registry names an address that is none: {url!r:.200}")
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
            raise PackingError(
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
        """End the connections of all threads."""
        with self._lock:
            for connection in self._all:
                connection.close()

    def _send_body(self, connection: http.client.HTTPConnection, body: Body) -> bool:
        """Whether all of it went out. A registry that refuses need not read on; then its answer says why."""
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
            raise PackingError(
                "RegistryUnreachable", f"{host} is insecure and behind a proxy; name it in NO_PROXY", permanent=True
            )
        tunnel = http.client.HTTPSConnection(proxy.netloc.rpartition("@")[2], timeout=PATIENCE, context=context)
        parts = urlsplit(f"//{host}")
        tunnel.set_tunnel(parts.hostname or host, parts.port or 443, _proxy_login(proxy))
        return tunnel

    def _drop(self, scheme: str, host: str) -> None:
        self._connection(scheme, host).close()

    def _speaks_tls(self, host: str) -> bool:
        """By the first byte that it answers to TLS's greeting. Silence tells nothing: it may be about to start."""
        parts = urlsplit(f"//{host}")
        name = parts.hostname or ""
        try:
            connection = socket.create_connection((name, parts.port or 443), PATIENCE)
        except ConnectionRefusedError:
            if parts.port:
                raise
            socket.create_connection((name, 80), PATIENCE).close()  # plain HTTP has a port of its own
            return False
        with connection:
            connection.sendall(_greeting(self._lax, name))
            first = connection.recv(1)
        if not first:
            raise ConnectionError("it ended the connection instead of saying whether it speaks TLS")
        return first in _TLS


def _greeting(context: ssl.SSLContext, name: str) -> bytes:
    said = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), said, server_hostname=name).do_handshake()
    return said.read()


def _read(connection: http.client.HTTPConnection, method: str) -> Reply:
    answer = connection.getresponse()
    content = answer.read(MOST_BYTES)
    announced = answer.headers.get("Content-Length", "")
    if method != "HEAD" and (answer.read(1) or (announced.isdigit() and int(announced) != len(content))):
        raise http.client.HTTPException("the answer ended too early, or is larger than any that a registry gives")
    return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, content)


def _proxy_login(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
