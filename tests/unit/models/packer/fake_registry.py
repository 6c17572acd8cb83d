"""A registry in memory, for the logic of the client: it can be told to fail, to forget, and to want a token.

What real registries do is tested with a real one (tests/cluster).
"""

import hashlib
import itertools
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

UPLOADS = re.compile(r"/v2/(?P<name>.+)/blobs/uploads/(?P<id>\w*)")
BLOBS = re.compile(r"/v2/(?P<name>.+)/blobs/(?P<digest>sha256:\w+)")
MANIFESTS = re.compile(r"/v2/(?P<name>.+)/manifests/(?P<reference>[^/]+)")

Answer = tuple[int, dict[str, str], bytes]


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    authorization: str
    size: int


@dataclass
class Fault:
    """What happens to the next request of a method instead of, or in the middle of, what should."""

    method: str
    status: int = 0  # 0: the connection ends after so many bytes of the body
    after: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    path: str = ""  # part of it


class FakeRegistry:
    """What is stored, what was asked, and what is to go wrong."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.uploads: dict[str, bytearray] = {}
        self.manifests: dict[str, bytes] = {}
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.knows_subjects = False
        self.token = ""  # that it wants to be shown
        self.realm = ""
        self.logins: list[str] = []  # that the place for tokens was shown
        self.address = ""
        self.lock = threading.Lock()
        self._numbers = itertools.count()  # of uploads: two at a time are never taken for one another

    def paths(self, method: str) -> list[str]:
        """What was asked by a method."""
        return [request.path for request in self.seen if request.method == method]

    def tag(self, name: str, content: bytes) -> None:
        """Store a manifest under a tag and its digest."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.manifests[name] = self.manifests[digest] = content

    def answer(self, method: str, url: str, body: bytes) -> Answer:
        """As a registry would."""
        path = urlsplit(url).path
        for pattern, handle in ((UPLOADS, self._upload), (BLOBS, self._blob), (MANIFESTS, self._manifest)):
            if found := pattern.fullmatch(path):
                return handle(method, url, body, found)
        return 404, {}, b""

    def _upload(self, method: str, url: str, body: bytes, found: re.Match[str]) -> Answer:
        identity = found["id"]
        if method == "POST":
            identity = f"u{next(self._numbers)}"
            self.uploads[identity] = bytearray()
            return 202, self._place(found["name"], identity), b""
        if identity not in self.uploads:
            return 404, {}, _error("BLOB_UPLOAD_UNKNOWN")
        held = self.uploads[identity]
        if method == "PATCH":
            held += body
            return 202, self._place(found["name"], identity), b""
        if method == "PUT":
            digest = parse_qs(urlsplit(url).query)["digest"][0]
            if f"sha256:{hashlib.sha256(held).hexdigest()}" != digest:
                return 400, {}, _error("DIGEST_INVALID")
            self.blobs[digest] = bytes(self.uploads.pop(identity))
            return 201, {"Docker-Content-Digest": digest}, b""
        return 204, self._place(found["name"], identity), b""

    def _place(self, name: str, identity: str) -> dict[str, str]:
        has = len(self.uploads[identity])
        return {"Location": f"/v2/{name}/blobs/uploads/{identity}?state=x", "Range": f"0-{max(has - 1, 0)}"}

    def _blob(self, _method: str, _url: str, _body: bytes, found: re.Match[str]) -> Answer:
        return (200, {}, self.blobs[found["digest"]]) if found["digest"] in self.blobs else (404, {}, b"")

    def _manifest(self, method: str, _url: str, body: bytes, found: re.Match[str]) -> Answer:
        if method == "PUT":
            self.tag(found["reference"], body)
            subject = json.loads(body).get("subject")
            return 201, {"OCI-Subject": subject["digest"]} if subject and self.knows_subjects else {}, b""
        content = self.manifests.get(found["reference"])
        if content is None:
            return 404, {}, _error("MANIFEST_UNKNOWN")
        return 200, {"Docker-Content-Digest": f"sha256:{hashlib.sha256(content).hexdigest()}"}, content


@contextmanager
def serving(registry: FakeRegistry) -> Iterator[str]:
    """Its address, without TLS."""
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"registry": registry}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    registry.address = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield registry.address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _error(code: str) -> bytes:
    return json.dumps({"errors": [{"code": code, "message": "as told"}]}).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # whoever leaves waits for them, and their clients are gone by then

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that end a connection early are a part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    registry: "FakeRegistry"
    protocol_version = "HTTP/1.1"
    timeout = 5

    def _any(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        fault = self._fault()
        if fault and not fault.status:
            self._cut(self.rfile.read(min(fault.after, size)))
            return
        body = self.rfile.read(size)
        if len(body) < size:  # the client has gone, and this is no request
            self.close_connection = True
            return
        authorization = self.headers.get("Authorization", "")
        with self.registry.lock:
            self.registry.seen.append(Seen(self.command, self.path, authorization, size))
            self._send(*self._ranged(*self._answer(fault, authorization, body)))

    def _ranged(self, status: int, headers: dict[str, str], content: bytes) -> Answer:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if status != 200 or asked is None:
            return status, headers, content
        return 206, headers, content[int(asked[1]) : int(asked[2]) + 1]

    def _answer(self, fault: Fault | None, authorization: str, body: bytes) -> Answer:
        if fault:
            return fault.status, fault.headers, fault.body
        if self.path.startswith("/token"):
            self.registry.logins.append(authorization or body.decode())
            return 200, {}, json.dumps({"token": self.registry.token}).encode()
        if self.registry.token and authorization != f"Bearer {self.registry.token}":
            realm = self.registry.realm or f"http://{self.registry.address}/token"
            return 401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="fake",scope="x"'}, b""
        return self.registry.answer(self.command, self.path, body)

    def _fault(self) -> Fault | None:
        with self.registry.lock:
            for fault in self.registry.faults:
                if fault.method == self.command and fault.path in self.path:
                    self.registry.faults.remove(fault)
                    return fault
        return None

    def _cut(self, body: bytes) -> None:
        found = UPLOADS.fullmatch(urlsplit(self.path).path)
        if found and found["id"] in self.registry.uploads and self.command == "PATCH":
            self.registry.uploads[found["id"]] += body
        self.close_connection = True

    def _send(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
        pass

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = _any  # noqa: N815  as the base class wants
