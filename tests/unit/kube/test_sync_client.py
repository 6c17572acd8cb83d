"""The client without an event loop: who it is, which way it goes, and what it repeats."""

import gzip
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from kubedl.kube.errors import NotFoundError, TooManyRequestsError, UnauthorizedError, UnknownOutcomeError
from kubedl.kube.kubeconfig import CredentialsError
from kubedl.kube.sync_client import SyncClient
from kubedl.kube.sync_credentials import Overrides, load
from testbed.pki import Authority

Answers = list[Any]


class Server(ThreadingHTTPServer):
    """Answers in turn what it was given: a status with a body, or a function that does as it likes."""

    daemon_threads = True

    def __init__(self, answers: Answers) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.received: list[tuple[str, dict[str, str]]] = []
        self.connections = 0

    def get_request(self) -> Any:  # noqa: ANN401
        self.connections += 1
        return super().get_request()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.server.received.append((f"{self.command} {self.path}", dict(self.headers)))
        answer = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if callable(answer):
            answer(self)
            return
        status, body, *headers = answer
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()


@contextmanager
def serving(answers: Answers, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    with Server(answers) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a kubeconfig with two contexts; returns its path."""

    def written(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None) -> str:
        contexts = [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "there", "context": {"cluster": "far", "user": "u"}},
        ]
        clusters = [
            {"name": "c", "cluster": {"server": "http://127.0.0.1:1", **(cluster or {})}},
            {"name": "far", "cluster": {"server": "http://far.example"}},
        ]
        config = {"current-context": "here", "contexts": contexts, "clusters": clusters}
        path = tmp_path / "config"
        path.write_text(yaml.safe_dump(config | {"users": [{"name": "u", "user": user or {}}]}))
        return str(path)

    return written


@contextmanager
def client(file: str, proxy: str = "", **chosen: Any) -> Iterator[SyncClient]:  # noqa: ANN401
    credentials = load(Overrides(kubeconfig=file, **chosen))
    made = SyncClient(credentials, "test", 5.0, proxy or credentials.proxy)
    try:
        yield made
    finally:
        made.close()


def _address(server: Server, scheme: str = "http") -> str:
    return f"{scheme}://127.0.0.1:{server.server_port}"


class TestCredentials:
    """Files and flags."""

    def test_a_context_may_be_chosen(self, write: Write) -> None:
        file = write()
        assert (load(Overrides(kubeconfig=file)).server, load(Overrides(kubeconfig=file)).namespace) == (
            "http://127.0.0.1:1",
            "team",
        )
        assert load(Overrides(kubeconfig=file, context="there")).server == "http://far.example"
        assert load(Overrides(kubeconfig=file, cluster="far")).server == "http://far.example"
        assert load(Overrides(kubeconfig=file, server="http://x/")).server == "http://x"
        with pytest.raises(CredentialsError, match="no context named 'nowhere'; available: here, there"):
            load(Overrides(kubeconfig=file, context="nowhere"))

    def test_a_file_comes_before_the_pod(self, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
        monkeypatch.setenv("KUBECONFIG", write())
        assert load(Overrides()).server == "http://127.0.0.1:1"
        account = tmp_path / "account"
        account.mkdir()
        (account / "namespace").write_text("mine")
        (account / "token").write_text("t")
        monkeypatch.setattr("kubedl.kube.sync_credentials.SERVICE_ACCOUNT", account)
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
        found = load(Overrides())
        assert (found.server, found.namespace) == ("https://10.0.0.1:443", "mine")
        assert found.headers() == {"Authorization": "Bearer t"}
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
        with pytest.raises(CredentialsError, match="there is no kubeconfig"):
            load(Overrides())

    @pytest.mark.parametrize(
        ("user", "headers"),
        [
            ({"token": "t"}, {"Authorization": "Bearer t"}),
            ({"username": "u", "password": "p"}, {"Authorization": "Basic dTpw"}),
            ({"token": "t", "as": "alice"}, {"Authorization": "Bearer t", "Impersonate-User": "alice"}),
        ],
    )
    def test_who_calls(self, write: Write, user: dict[str, Any], headers: dict[str, str]) -> None:
        assert load(Overrides(kubeconfig=write(user))).headers() == headers

    def test_names_may_have_any_characters(self, write: Write) -> None:
        """The API server reads UTF-8."""
        user = {"as": "Łukasz Ü", "as-groups": ["größe"]}
        with serving([(200, b"{}")]) as server, client(write(user, {"server": _address(server)})) as made:
            made.call("GET", "/x")
            [(_, sent)] = server.received
        found = [sent[name].encode("latin-1").decode() for name in ("Impersonate-User", "Impersonate-Group")]
        assert found == ["Łukasz Ü", "größe"]

    def test_a_token_with_a_line_break_is_refused_and_not_shown(self, write: Write) -> None:
        """As of a block of YAML."""
        user = {"token": "secret\n"}
        with serving([(200, b"{}")]) as server, client(write(user, {"server": _address(server)})) as made:
            with pytest.raises(UnauthorizedError, match="line break") as caught:
                made.call("GET", "/x")
            assert not server.received
        assert "secret" not in str(caught.value)

    def test_what_is_not_supported_is_refused_by_name(self, write: Write) -> None:
        with pytest.raises(CredentialsError, match="user 'u' has auth-provider, which is not supported"):
            load(Overrides(kubeconfig=write({"auth-provider": {"name": "gcp"}})))

    def test_a_plugin_runs_when_it_is_needed_and_again_after_a_401(self, write: Write, tmp_path: Path) -> None:
        line = f"""echo x >> {tmp_path}/runs; echo '{{"status": {{"token": "'$(wc -l < {tmp_path}/runs)'"}}}}'"""
        user = {"exec": {"command": "sh", "args": ["-c", line]}}
        with serving([(401, b"{}"), (200, b"{}")]) as server, client(write(user, {"server": _address(server)})) as made:
            assert not (tmp_path / "runs").exists()
            made.call("GET", "/x")
            assert [headers["Authorization"] for _, headers in server.received] == ["Bearer 1", "Bearer 2"]

    def test_a_plugin_that_is_not_installed_says_how(self, write: Write) -> None:
        user = {"exec": {"command": "no-such-login", "installHint": "get it from example.com"}}
        with client(write(user)) as made, pytest.raises(UnauthorizedError, match=r"get it from example\.com"):
            made.call("GET", "/x")

    def test_a_plugin_may_answer_with_a_certificate(self, write: Write, tmp_path: Path, authority: Authority) -> None:
        certificate, key = (path.read_text() for path in authority.files("admin"))
        status = {"clientCertificateData": certificate, "clientKeyData": key}
        answer = tmp_path / "answer"
        answer.write_text(json.dumps({"status": status}))
        user = {"exec": {"command": "cat", "args": [str(answer)]}}
        with serving([(200, b"{}")], _tls(authority)) as server:
            cluster = {"server": _address(server, "https"), "certificate-authority": str(authority.certificate)}
            with client(write(user, cluster)) as made:
                assert made.call("GET", "/x") == b"{}"


class TestWay:
    """TLS and proxies."""

    def test_the_certificate_may_have_another_name(self, write: Write, authority: Authority) -> None:
        certificate, key = authority.files("admin")
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        with serving([(200, b"{}")], _tls(authority)) as server:
            cluster = {"server": f"https://localhost:{server.server_port}"}
            cluster["certificate-authority"] = str(authority.certificate)
            with client(write(user, {**cluster, "tls-server-name": "kubernetes"})) as made:
                assert made.call("GET", "/x") == b"{}"
            other = write(user, {**cluster, "tls-server-name": "another.example"})
            with client(other) as made, pytest.raises(UnknownOutcomeError, match="certificate"):
                made.call("GET", "/x")

    def test_requests_go_through_the_proxy_of_the_kubeconfig(self, write: Write, authority: Authority) -> None:
        certificate, key = authority.files("admin")
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        with serving([(200, b"{}")], _tls(authority)) as server, _proxying(server.server_port) as proxy:
            cluster = {
                "server": "https://kubernetes:6443",  # nobody but the proxy knows it
                "proxy-url": f"http://me:pass@127.0.0.1:{proxy.port}",
                "certificate-authority": str(authority.certificate),
            }
            with client(write(user, cluster)) as made:
                assert made.call("GET", "/x") == b"{}"
        assert proxy.asked.startswith("CONNECT kubernetes:6443 HTTP/1.")
        assert "Proxy-Authorization: Basic bWU6cGFzcw==" in proxy.asked

    @pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "https://127.0.0.1:1"])
    def test_other_proxies_are_refused(self, write: Write, proxy: str) -> None:
        file = write({}, {"server": "https://127.0.0.1:1"})
        with pytest.raises(CredentialsError, match="only http:// proxies"), client(file, proxy):
            pass


class TestRequests:
    """What is repeated, and what is not."""

    def test_connections_are_kept_and_answers_unpacked(self, write: Write) -> None:
        packed = (200, gzip.compress(b'{"a": 1}'), ("Content-Encoding", "gzip"))
        with serving([packed]) as server, client(write({}, {"server": _address(server) + "/prefix"})) as made:
            assert [made.call("GET", "/x", params={"a": "b c"}) for _ in range(3)] == [b'{"a": 1}'] * 3
            assert server.connections == 1
            assert server.received[0][0] == "GET /prefix/x?a=b+c"

    def test_a_connection_is_not_kept_for_long(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        """A load balancer may have dropped it, and says nothing."""
        for module in ("sync_client", "http"):
            monkeypatch.setattr(f"kubedl.kube.{module}.IDLE", 0.0)
        with serving([(200, b"1")]) as server, client(write({}, {"server": _address(server)})) as made:
            assert [made.call("GET", "/x") for _ in range(2)] == [b"1", b"1"]
            assert server.connections == 2

    def test_a_read_on_a_connection_that_was_closed_is_repeated(self, write: Write) -> None:
        answers = [(200, b"1"), _hang_up, (200, b"2")]
        with serving(answers) as server, client(write({}, {"server": _address(server)})) as made:
            assert [made.call("GET", "/x"), made.call("GET", "/x")] == [b"1", b"2"]

    def test_a_write_is_never_repeated(self, write: Write) -> None:
        """Its outcome is not known."""
        with serving([(200, b"1"), _hang_up]) as server, client(write({}, {"server": _address(server)})) as made:
            made.call("GET", "/x")
            with pytest.raises(UnknownOutcomeError, match="POST /x"):
                made.call("POST", "/x", body={})
            assert [what for what, _ in server.received] == ["GET /x", "POST /x"]

    def test_a_busy_server_is_asked_again(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        pauses: list[float] = []
        # Not of the module `time`: threads of other tests may still follow logs, and pause too.
        clock = SimpleNamespace(sleep=pauses.append, monotonic=time.monotonic)
        monkeypatch.setattr("kubedl.kube.sync_client.time", clock)
        busy = (429, b"{}", ("Retry-After", "3"))
        with serving([busy, busy, (200, b"{}")]) as server, client(write({}, {"server": _address(server)})) as made:
            made.call("GET", "/x")
            assert pauses == [3, 3]
            server.answers[:] = [(429, b"{}", ("Retry-After", "86400"))]
            with pytest.raises(TooManyRequestsError):
                made.call("GET", "/x")
            assert max(pauses) == 10

    def test_a_stream_that_is_cut_is_no_end(self, write: Write) -> None:
        seen: list[bytes] = []
        cut = [_chunks(b"one\ntw", b"o\nthr")]
        with (
            serving(cut) as server,
            client(write({}, {"server": _address(server)})) as made,
            pytest.raises(UnknownOutcomeError),
            made.stream("/x", {}, 5.0) as lines,
        ):
            seen.extend(lines)
        assert seen == [b"one", b"two"]

    def test_a_stream_that_is_refused(self, write: Write) -> None:
        with (
            serving([(404, b"{}")]) as server,
            client(write({}, {"server": _address(server)})) as made,
            pytest.raises(NotFoundError),
            made.stream("/x", {}, 5.0),
        ):
            pass


def test_a_request_that_outlives_the_client_leaves_no_connection(write: Write) -> None:
    """A thread may be in the middle of one when another closes the client."""
    with serving([(200, b"1")]) as server, client(write({}, {"server": _address(server)})) as made:
        made.close()
        assert [made.call("GET", "/x") for _ in range(2)] == [b"1", b"1"]
        assert server.connections == 2


def _hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def _chunks(*parts: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """A body in chunks whose end never comes."""

    def write(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for part in parts:
            handler.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        handler.wfile.flush()
        _hang_up(handler)

    return write


def _tls(authority: Authority) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.certificate)
    context.load_cert_chain(*authority.files("kube-apiserver"))
    context.verify_mode = ssl.CERT_REQUIRED
    return context


class _Proxy:
    """Connects everybody to one port, whatever they ask for."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.asked = ""

    def run(self) -> None:
        incoming, _ = self._listening.accept()
        while "\r\n\r\n" not in self.asked:
            self.asked += incoming.recv(65536).decode()
        outgoing = socket.create_connection(("127.0.0.1", self._target))
        incoming.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        pumps = [threading.Thread(target=_pump, args=pair) for pair in ((incoming, outgoing), (outgoing, incoming))]
        for pump in pumps:
            pump.start()
        for pump in pumps:
            pump.join()
        for end in (incoming, outgoing, self._listening):
            end.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


@contextmanager
def _proxying(target: int) -> Iterator[_Proxy]:
    proxy = _Proxy(target)
    thread = threading.Thread(target=proxy.run, daemon=True)
    thread.start()
    yield proxy
    thread.join(5)
