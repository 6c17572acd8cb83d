"""Calls to an API server, against a small one with real TLS; answers become values or typed errors."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from testbed.api import Api, ApiError, is_true
from testbed.errors import TestbedError
from testbed.instance import Instance
from testbed.pki import Authority


@dataclass
class Server:
    """Answers every request with what the test put here, and remembers the requests."""

    status: int = 200
    answer: bytes = b"{}"
    garbage: bool = False
    port: int = 0
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    kinds: list[str | None] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    connections: set[tuple[str, int]] = field(default_factory=set)

    def says(self, status: int, answer: object) -> None:
        self.status, self.answer = status, json.dumps(answer).encode()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        content = request.rfile.read(int(request.headers["Content-Length"] or 0))
        self.requests.append((request.command, request.path, json.loads(content) if content else None))
        self.kinds.append(request.headers["Content-Type"])
        self.connections.add(request.client_address)
        assert isinstance(request.connection, ssl.SSLSocket)
        peer: Any = request.connection.getpeercert()
        self.users.append(dict(pair for part in peer["subject"] for pair in part)["commonName"])
        if self.garbage:
            request.wfile.write(b"garbage\r\n\r\n")
            request.close_connection = True
            return
        request.send_response(self.status)
        request.send_header("Content-Length", str(len(self.answer)))
        request.end_headers()
        request.wfile.write(self.answer)


@pytest.fixture
def server(authority: Authority) -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # keeps connections, as the real one does
        disable_nagle_algorithm = True  # which would hold each answer back for 40 ms

        def do_any(self) -> None:
            server.handle(self)

        do_GET = do_POST = do_PATCH = do_DELETE = do_any  # noqa: N815 - the base class wants these names

        def log_message(self, *_: object) -> None:
            """Nothing: the test asks the server itself."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.files("kube-apiserver"))
    context.load_verify_locations(authority.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.socket = context.wrap_socket(http.socket, server_side=True)
        server.port = http.server_port
        thread = threading.Thread(target=http.serve_forever, args=(0.005,))
        thread.start()
        yield server
        http.shutdown()
        thread.join()


@pytest.fixture
def api(server: Server, authority: Authority) -> Api:
    return connect(server.port, authority)


def connect(port: int, authority: Authority, user: str = "admin") -> Api:
    return Api(f"https://127.0.0.1:{port}", authority.certificate, *authority.files(user))


def test_answer_is_the_object(server: Server, api: Api) -> None:
    server.says(200, {"kind": "Pod", "metadata": {"name": "a"}})
    assert api.get("/api/v1/namespaces/default/pods/a") == {"kind": "Pod", "metadata": {"name": "a"}}
    assert server.requests == [("GET", "/api/v1/namespaces/default/pods/a", None)]


def test_list_is_its_items(server: Server, api: Api) -> None:
    server.says(200, {"kind": "PodList", "items": [{"kind": "Pod"}]})
    assert api.list("/api/v1/pods") == [{"kind": "Pod"}]


def test_create_posts_json(server: Server, api: Api) -> None:
    api.create("/pods", {"a": 1})
    assert server.requests == [("POST", "/pods", {"a": 1})]
    assert server.kinds == ["application/json"]


@pytest.mark.parametrize(("status", "later"), [(429, True), (503, True), (404, False), (422, False)])
def test_not_now_is_told_from_no(server: Server, api: Api, status: int, *, later: bool) -> None:
    """Whoever waits for the API server (`until`) goes on when it is busy and stops when it refuses."""
    server.says(status, {"message": "no"})
    with pytest.raises(ApiError) as error:
        api.get("/pods")
    assert isinstance(error.value, OSError) is later


@pytest.mark.parametrize("user", ["admin", "system:kube-scheduler"])
def test_calls_are_made_as_the_certificate_s_user(server: Server, authority: Authority, user: str) -> None:
    connect(server.port, authority, user.removeprefix("system:")).get("/")
    assert server.users == [user]


def test_error_says_the_call_the_status_and_the_server_s_own_words(server: Server, api: Api) -> None:
    server.says(409, {"kind": "Status", "message": 'pods "a" already exists'})
    with pytest.raises(ApiError) as error:
        api.create("/pods", {})
    assert str(error.value) == 'POST /pods: 409 pods "a" already exists'
    assert error.value.status == 409
    assert isinstance(error.value, TestbedError)


def test_error_that_is_not_json_keeps_its_text(server: Server, api: Api) -> None:
    """So answer a server that is starting and a proxy in between."""
    server.status, server.answer = 503, b"not yet \xff"
    with pytest.raises(ApiError) as error:
        api.get("/")
    assert str(error.value) == "GET /: 503 not yet \N{REPLACEMENT CHARACTER}"


def test_deleting_what_is_gone_is_fine(server: Server, api: Api) -> None:
    """Two who clean up must not fail each other."""
    server.says(404, {"message": "not found"})
    api.delete("/pods/a")
    assert server.requests == [("DELETE", "/pods/a", None)]


def test_refused_deletion_is_an_error(server: Server, api: Api) -> None:
    server.says(403, {"message": "forbidden"})
    with pytest.raises(ApiError, match="DELETE /pods/a: 403 forbidden"):
        api.delete("/pods/a")


@pytest.mark.parametrize(("status", "exists"), [(200, True), (404, False)])
def test_only_not_found_means_that_it_does_not_exist(server: Server, api: Api, status: int, exists: bool) -> None:
    server.says(status, {})
    assert api.exists("/pods/a") is exists


def test_who_may_not_look_does_not_know_whether_it_exists(server: Server, api: Api) -> None:
    server.says(403, {"message": "forbidden"})
    with pytest.raises(ApiError, match="403"):
        api.exists("/pods/a")


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (401, False), (500, False)])
def test_healthy_is_200_and_nothing_else(server: Server, api: Api, status: int, healthy: bool) -> None:
    server.status, server.answer = status, b"ok"
    assert api.healthy() is healthy
    assert server.requests == [("GET", "/readyz", None)]


def test_server_that_nobody_runs_is_not_healthy(authority: Authority) -> None:
    """While it starts the connection is refused, which is an answer and not an error."""
    with socket.socket() as taken:  # bound and not listening: nobody else gets the port meanwhile
        taken.bind(("127.0.0.1", 0))
        api = connect(taken.getsockname()[1], authority)
        assert api.healthy() is False
        with pytest.raises(ConnectionRefusedError):
            api.get("/")


def test_server_that_breaks_off_is_not_there_yet(server: Server, api: Api) -> None:
    """`until` waits on for an OSError; http.client's own errors are none."""
    server.garbage = True
    assert api.healthy() is False
    with pytest.raises(ConnectionError, match="GET /pods: BadStatusLine: garbage"):
        api.get("/pods")


def test_every_call_has_a_connection_of_its_own(server: Server, api: Api) -> None:
    """A connection kept from before a restart or a freeze would answer for the server that is gone."""
    for _ in range(3):
        api.get("/")
    assert len(server.connections) == 3


def test_server_of_another_authority_is_refused(server: Server, authority: Authority, own_home: Path) -> None:
    """An address that another test bed has taken over meanwhile is an error, not a cluster."""
    assert not own_home.exists()
    stranger = Authority.create(Instance(6))
    api = Api(f"https://127.0.0.1:{server.port}", stranger.certificate, *authority.files("admin"))
    with pytest.raises(ssl.SSLCertVerificationError):
        api.get("/")
    assert server.requests == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, True),
        ({"status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}}, True),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, False),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, False),
        ({"status": {"conditions": [{"type": "Other", "status": "True"}]}}, False),
        ({"status": {"conditions": []}}, False),
        ({"status": {"conditions": None}}, False),
        ({"status": {}}, False),
        ({}, False),
    ],
)
def test_condition_is_true_only_if_it_says_so(body: dict[str, Any], expected: bool) -> None:
    """A fresh object has no status, and a lost node's Ready is Unknown."""
    assert is_true(body, "Ready") is expected
