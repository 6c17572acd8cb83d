"""How an insecure registry is found to speak TLS or not: by its word, never by its silence."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from kubedl.oci.transport import BROKEN, Transport
from tests.unit.oci.fake_registry import FakeRegistry

HELLO, ALERT, HTTP = b"\x16\x03\x03\x00\x7a\x02", b"\x15\x03\x03\x00\x02\x02\x28", b"HTTP/1.1 400 Bad Request\r\n\r\n"


@contextmanager
def answering(answers: Sequence[bytes | None]) -> Iterator[str]:
    """One answer for each connection, when it has said something; for none the connection is reset."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)

        def serve() -> None:
            for answer in answers:
                connection, _ = listening.accept()
                with connection:
                    connection.settimeout(60)
                    said = connection.recv(1 if answer is None else 4096)  # what is left unread resets it
                    assert said.startswith(b"\x16")
                    connection.sendall(answer or b"")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(("answer", "scheme"), [(HELLO, "https"), (ALERT, "https"), (HTTP, "http"), (b"<", "http")])
def test_the_first_byte_tells_and_is_asked_for_once(answer: bytes, scheme: str) -> None:
    with answering([answer]) as host:
        exchange = Transport(host)
        assert [exchange.scheme(host), exchange.scheme(host)] == [scheme, scheme]


@pytest.mark.parametrize("silence", [b"", None], ids=["ended", "reset"])
def test_silence_tells_nothing_and_is_not_remembered(silence: bytes | None) -> None:
    """A registry that is about to start does not lose its TLS by that."""
    with answering([silence, HELLO]) as host:
        exchange = Transport(host)
        with pytest.raises(BROKEN):
            exchange.scheme(host)
        assert exchange.scheme(host) == "https"


def test_a_server_of_plain_http_is_known_as_one(fake: FakeRegistry) -> None:
    assert Transport(fake.address).scheme(fake.address) == "http"


@pytest.mark.parametrize(
    ("listening", "scheme"),
    [
        ({443: HELLO, 80: None}, "https"),
        ({443: ConnectionRefusedError(), 80: None}, "http"),
        ({443: ConnectionRefusedError(), 80: ConnectionRefusedError()}, None),  # it is not there yet
        ({443: socket.gaierror("no such name"), 80: None}, None),
        ({443: TimeoutError(), 80: None}, None),
        ({443: OSError("no route to host"), 80: None}, None),
    ],
    ids=str,
)
def test_without_a_port_only_a_refusal_of_the_one_for_tls_means_the_other(
    monkeypatch: pytest.MonkeyPatch, listening: dict[int, bytes | OSError | None], scheme: str | None
) -> None:
    def connected(address: tuple[str, int], timeout: float, source: tuple[str, int] | None = None) -> socket.socket:
        if address[0] != "r.example.com":  # a thread of another test
            return connect(address, timeout, source)
        end = listening[address[1]]
        if isinstance(end, OSError):
            raise end
        ours, theirs = socket.socketpair()
        ours.settimeout(60)
        theirs.sendall(end or b"")
        kept.append(theirs)
        return ours

    connect = socket.create_connection
    kept: list[socket.socket] = []
    monkeypatch.setattr(socket, "create_connection", connected)
    exchange = Transport("r.example.com")
    if scheme:
        assert exchange.scheme("r.example.com") == scheme
    else:
        for _ in range(2):  # and the first time is not taken for an answer
            with pytest.raises(BROKEN):
                exchange.scheme("r.example.com")
    for one in kept:
        one.close()


@pytest.mark.parametrize(
    ("proxy", "host", "port"),
    [
        ("http://proxy.example:3128", "proxy.example", 3128),
        ("http://me:pw@proxy.example", "proxy.example", 80),
        ("proxy.example", "proxy.example", 80),
        ("http://[fd00::1]", "fd00::1", 80),
    ],
)
def test_a_proxy_without_a_port_has_that_of_http(
    monkeypatch: pytest.MonkeyPatch, proxy: str, host: str, port: int
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setenv("NO_PROXY", "")
    connection = Transport()._new("https", "r.example.com")  # noqa: SLF001 - it is not connected yet
    assert (connection.host, connection.port) == (host, port)


def test_others_are_not_even_asked() -> None:
    assert Transport("r.example.com").scheme("other.example.com") == "https"
