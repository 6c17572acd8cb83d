"""A registry in memory, for the logic of the client: it can be told to fail, to forget, and to want a token.

With a personality it behaves as one product does. What the distribution registry does is tested with the real one as
well (tests/cluster). Its clock stands still unless a test moves it.
"""

import hashlib
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from harness.fakes.registry_personalities import DISTRIBUTION, Personality

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

    def __init__(self, personality: Personality = DISTRIBUTION, clock: Callable[[], float] = lambda: 0.0) -> None:
        self.personality = personality
        self.clock = clock
        self.after_patch: Callable[[], None] = lambda: None  # a part of a blob has arrived: time may have passed
        self.issued: dict[str, float] = {}  # header that opens it → when it was given out
        self.blobs: dict[str, bytes] = {}
        self.committed: list[str] = []  # digests, each as often as a blob was sent to its end
        self.uploads: dict[str, bytearray] = {}
        self.first_parts: dict[str, int] = {}  # upload → bytes of its first part
        self.manifests: dict[str, bytes] = {}
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.knows_subjects = personality.knows_subjects
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
            self.first_parts.setdefault(identity, len(body))
            self.after_patch()
            return self.personality.patch_status, self._place(found["name"], identity), b""
        if method == "PUT":
            digest = parse_qs(urlsplit(url).query)["digest"][0]
            if f"sha256:{hashlib.sha256(held).hexdigest()}" != digest:
                return 400, {}, _error("DIGEST_INVALID")
            self.blobs[digest] = bytes(self.uploads.pop(identity))
            self.committed.append(digest)
            return 201, {"Docker-Content-Digest": digest}, b""
        status = self.personality.upload_status
        return status, self._place(found["name"], identity) if status == 204 else {}, b""

    def _place(self, name: str, identity: str) -> dict[str, str]:
        has = len(self.uploads[identity])
        if self.personality.range_stands_still:
            has = self.first_parts.get(identity, 0)
        return {"Location": f"/v2/{name}/blobs/uploads/{identity}?state=x", "Range": f"0-{max(has - 1, 0)}"}

    def _blob(self, _method: str, _url: str, _body: bytes, found: re.Match[str]) -> Answer:
        return (200, {}, self.blobs[found["digest"]]) if found["digest"] in self.blobs else (404, {}, b"")

    def _manifest(self, method: str, _url: str, body: bytes, found: re.Match[str]) -> Answer:
        if method == "PUT":
            refusal = self._refusal(found["reference"], json.loads(body))
            if refusal is not None:
                return refusal
            self.tag(found["reference"], body)
            subject = json.loads(body).get("subject")
            return 201, {"OCI-Subject": subject["digest"]} if subject and self.knows_subjects else {}, b""
        content = self.manifests.get(found["reference"])
        if content is None:
            return 404, {}, _error("MANIFEST_UNKNOWN")
        return 200, {"Docker-Content-Digest": f"sha256:{hashlib.sha256(content).hexdigest()}"}, content

    def _refusal(self, reference: str, manifest: dict[str, Any]) -> Answer | None:
        """Why a manifest is not taken."""
        mine = self.personality
        if mine.retag_status and ":" not in reference and reference in self.manifests:
            return mine.retag_status, {}, _error("TAG_INVALID")
        config = manifest.get("config", {}).get("mediaType", "")
        if mine.config_types and config and config not in mine.config_types:
            return mine.config_refusal, {}, _error("MANIFEST_INVALID", {"message": f"unknown media type: {config}"})
        return None

    def refused_login(self, authorization: str) -> Answer | None:
        """What it answers to somebody whom it does not let in; a password opens it from its first use on."""
        mine = self.personality
        if not mine.login:
            return None
        if mine.login == "basic" and authorization.startswith("Basic "):
            self.issued.setdefault(authorization, self.clock())
        since = self.issued.get(authorization)
        if since is not None and self.clock() - since < mine.login_seconds:
            return None
        realm = f"http://{self.address}/token" if mine.login == "bearer" else "x"
        headers = {"WWW-Authenticate": f'{mine.login.title()} realm="{realm}",service="fake"'}
        if since is not None and mine.expired_words:
            return mine.expired_status, {"Content-Type": "text/plain; charset=utf-8"}, mine.expired_words.encode()
        return (mine.expired_status if since is not None else 401), headers, b""

    def give_token(self) -> bytes:
        """As its token service answers."""
        if self.token:
            return json.dumps({"token": self.token}).encode()
        token = f"t{next(self._numbers)}"
        self.issued[f"Bearer {token}"] = self.clock()
        return json.dumps({"token": token, "expires_in": int(self.personality.login_seconds)}).encode()


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


def _error(code: str, detail: object = None) -> bytes:
    return json.dumps({"errors": [{"code": code, "message": "as told", "detail": detail}]}).encode()


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
            return 200, {}, self.registry.give_token()
        if self.registry.token and authorization != f"Bearer {self.registry.token}":
            realm = self.registry.realm or f"http://{self.registry.address}/token"
            return 401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="fake",scope="x"'}, b""
        refused = self.registry.refused_login(authorization)
        return refused or self.registry.answer(self.command, self.path, body)

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
