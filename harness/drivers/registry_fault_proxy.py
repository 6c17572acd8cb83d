"""Between a packer and a registry: counts what passes, and does to requests what a rule says.

Bodies are streamed in both directions, so it may stand before uploads of any size. A fault that answers does so before
the registry hears of the request; a cut lets some of the body through; a lost answer comes after the registry has done
what it was asked for.
"""

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = 1 << 16


@dataclass(frozen=True)
class Fault:
    """What happens to one request. Without a status the connection is cut: in the body, or when the answer came."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int = 0  # bytes of the body
    lose_answer: bool = False
    delay: float = 0.0
    proceed: bool = False  # after the delay, all goes well


@dataclass(frozen=True)
class Passed:
    """A request that was let through, and how many bytes of its body."""

    method: str
    path: str
    size: int


Rule = Callable[[str, str, int], Fault | None]  # of method, path and size of the body


class RegistryProxy:
    """What passed, and the rule in force."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.address = ""
        self.rule: Rule = lambda *_: None
        self.faults = 0
        self._passed: list[Passed] = []
        self._lock = threading.Lock()

    @property
    def passed(self) -> list[Passed]:
        """So far."""
        with self._lock:
            return list(self._passed)

    def bytes_sent(self) -> int:
        """Bytes of blobs that reached the registry."""
        return sum(request.size for request in self.passed if "/blobs/" in request.path)

    def clear(self) -> None:
        """Count from here."""
        with self._lock:
            self._passed.clear()

    def note(self, request: Passed) -> None:
        """Enter a request."""
        with self._lock:
            self._passed.append(request)

    def fault(self, method: str, path: str, size: int) -> Fault | None:
        """What the rule says of a request."""
        with self._lock:
            found = self.rule(method, path, size)
            self.faults += found is not None
            return found


@contextmanager
def registry_proxy(upstream: str) -> Iterator[RegistryProxy]:
    """Listening while the block lasts."""
    proxy = RegistryProxy(upstream)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    proxy.address = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    proxy: "RegistryProxy"
    protocol_version = "HTTP/1.1"
    timeout = 60

    def _any(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        fault = self.proxy.fault(self.command, self.path, size)
        if fault and fault.delay:
            time.sleep(fault.delay)
        if fault and fault.status:
            self._answer(fault.status, fault.headers, b"")
            self.close_connection = True
            return
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._pass_on(size, fault if fault and not fault.proceed else None)
            return
        self.close_connection = True

    def _pass_on(self, size: int, fault: Fault | None) -> None:
        connection = http.client.HTTPConnection(self.proxy.upstream, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            limit = min(size, fault.cut_after) if fault and not fault.lose_answer else size
            sent = self._stream(connection, limit)
            self.proxy.note(Passed(self.command, self.path, sent))
            if fault and not fault.lose_answer:
                self._cut()
                return
            answer = connection.getresponse()
            content = answer.read()
            if fault:
                self._cut()
                return
            self._answer(answer.status, dict(answer.getheaders()), content, answer.headers.get("Content-Length"))
        finally:
            connection.close()

    def _stream(self, connection: http.client.HTTPConnection, size: int) -> int:
        sent = 0
        while sent < size:
            piece = self.rfile.read(min(PIECE, size - sent))
            if not piece:
                break
            connection.send(piece)
            sent += len(piece)
        return sent

    def _cut(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, status: int, headers: Mapping[str, str], content: bytes, size: str | None = None) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                self.send_header(name, value)
        self.send_header("Content-Length", size if size and self.command == "HEAD" else str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
        pass

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815  as the base class wants
