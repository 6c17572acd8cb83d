"""The client of event loops: what the client without one must do, it must do too."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from kubedl.kube import http, loop_client
from kubedl.kube.errors import UnauthorizedError
from kubedl.kube.loop_client import LoopClient
from kubedl.kube.sync_client import SyncClient
from kubedl.kube.sync_credentials import Overrides, load
from tests.unit.kube import test_sync_client as without_loop
from tests.unit.kube.test_sync_client import Write, serving, write

__all__ = ["write"]


class _Face:
    """A LoopClient with the calls of a SyncClient, and its loop in a thread."""

    def __init__(self, client: SyncClient) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.client = LoopClient(client)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - its result
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def call(self, method: str, path: str, **arguments: Any) -> bytes:  # noqa: ANN401 - those of a client
        answer: bytes = self.run(self.client.call(method, path, **arguments))
        return answer

    @contextmanager
    def stream(self, path: str, params: Mapping[str, str], silence: float | None) -> Iterator[Iterator[bytes]]:
        opened = self.client.stream(path, params, silence)
        lines = self.run(opened.__aenter__())

        async def take() -> bytes | None:
            return await anext(lines, None)

        try:
            yield iter(lambda: self.run(take()), None)
        except BaseException as error:
            self.run(opened.__aexit__(type(error), error, error.__traceback__))
            raise
        self.run(opened.__aexit__(None, None, None))

    def close(self) -> None:
        async def end() -> None:
            self.client.close()

        self.run(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(60)
        self.loop.close()


@contextmanager
def _client(file: str, proxy: str = "", **chosen: Any) -> Iterator[_Face]:  # noqa: ANN401
    credentials = load(Overrides(kubeconfig=file, **chosen))
    face = _Face(SyncClient(credentials, "test", 5.0, proxy or credentials.proxy))
    try:
        yield face
    finally:
        face.close()


@pytest.fixture(autouse=True)
def _in_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(without_loop, "client", _client)


class TestWay(without_loop.TestWay):
    """TLS and proxies."""


class TestRequests(without_loop.TestRequests):
    """What is repeated, and what is not."""

    def test_connections_are_kept_and_answers_unpacked(self, write: Write) -> None:
        """It asks for no packed answers."""
        with serving([(200, b"{}")]) as server, _client(write({}, _place(server))) as made:
            assert [made.call("GET", "/x", params={"a": "b c"}) for _ in range(3)] == [b"{}"] * 3
            assert server.connections == 1
            assert server.received[0][0] == "GET /x?a=b+c"

    def test_a_busy_server_is_asked_again(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(loop_client, "BUSY_PAUSE", 0.01)
        with serving([(429, b"{}"), (429, b"{}"), (200, b"{}")]) as server, _client(write({}, _place(server))) as made:
            assert made.call("GET", "/x") == b"{}"
            assert len(server.received) == 3


class TestIdentity:
    """Who calls."""

    def test_impersonation(self, write: Write) -> None:
        file_of = {"as": "alice", "as-groups": ["a", "b"], "token": "t"}
        with serving([(200, b"{}")]) as server, _client(write(file_of, _place(server))) as made:
            made.call("GET", "/x")
            sent = server.received[0][1]
        assert (sent["Authorization"], sent["Impersonate-User"]) == ("Bearer t", "alice")

    def test_a_line_break_in_a_name_is_no_header(self, write: Write) -> None:
        with (
            serving([(200, b"{}")]) as server,
            _client(write({"as": "alice\r\nImpersonate-Group: system:masters"}, _place(server))) as made,
            pytest.raises(UnauthorizedError, match="line break"),
        ):
            made.call("GET", "/x")
        assert not server.received


def test_a_slow_reader_makes_the_server_wait(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a log of any length, about a megabyte is held."""
    monkeypatch.setattr(http, "UNREAD", 1 << 16)
    sent: list[int] = []
    gave_up = threading.Event()

    def flood(handler: Any) -> None:  # noqa: ANN401 - of the server
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.close_connection = True
        handler.connection.settimeout(0.3)
        piece = b"x" * 65535 + b"\n"
        try:
            for number in range(1000):
                handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                handler.wfile.flush()
                sent.append(number)
        except OSError:
            gave_up.set()

    with (
        serving([flood]) as server,
        _client(write({}, _place(server))) as made,
        made.stream("/x", {}, None) as lines,
    ):
        assert len(next(lines)) == 65535
        assert gave_up.wait(20)
        assert len(sent) < 500


def _place(server: without_loop.Server) -> dict[str, str]:
    return {"server": f"http://127.0.0.1:{server.server_port}"}
