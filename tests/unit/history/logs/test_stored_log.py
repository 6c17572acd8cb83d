"""Archived logs come back from the storage as they were, or not at all."""

import gzip
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from kubedl.history.logs.bucket_settings import STARTED, TIMED, BucketError, BucketSettings, BucketSettingsError
from kubedl.history.logs.signature import Credentials
from kubedl.history.logs.stored_log import (
    LogMissingError,
    StoredObject,
    read_lines,
    read_object,
    split_location,
)

KEY = Credentials("key", "secret")


class Storage(HTTPServer):
    """Objects by path; what was asked is kept."""

    objects: dict[str, bytes]
    asked: list[dict[str, str]]
    timed: bool = False
    started: str = ""
    promised: int = 0  # bytes, with which it does not come


class _Handler(BaseHTTPRequestHandler):
    server: Storage

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.server.asked.append({name.lower(): value for name, value in self.headers.items()})
        body = self.server.objects.get(self.path)
        self.send_response(200 if body is not None else 404)
        if self.server.timed:
            self.send_header(TIMED, "true")
        if self.server.started:
            self.send_header(STARTED, self.server.started)
        if self.server.promised:
            self.send_header("Content-Length", str(self.server.promised))
        self.end_headers()
        self.wfile.write(body if body is not None else b"<Code>NoSuchKey</Code><Message>gone</Message>")


@pytest.fixture
def storage() -> Iterator[Storage]:
    server = Storage(("127.0.0.1", 0), _Handler)
    server.objects, server.asked = {}, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _read(storage: Storage, key: str = "a/b.log.gz") -> list[str]:
    settings = BucketSettings(f"http://127.0.0.1:{storage.server_port}", "logs")
    return list(read_lines(settings, key, KEY))


@pytest.mark.parametrize(
    "lines", [[], ["one"], ["one", "", "two ü"], [f"line {number} {'x' * 200}" for number in range(5000)], ["z" * 200]]
)
def test_every_line_comes_back(storage: Storage, lines: list[str]) -> None:
    storage.objects["/logs/a/b.log.gz"] = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    assert _read(storage) == lines
    (asked,) = storage.asked
    assert asked["authorization"].startswith("AWS4-HMAC-SHA256 Credential=key/")
    assert "secret" not in str(asked)


def test_a_line_without_an_end(storage: Storage) -> None:
    """A bar of progress is one line, wherever its program was killed."""
    storage.objects["/logs/a/b.log.gz"] = gzip.compress(b"one\ntwo\r20%\r30%")
    assert _read(storage) == ["one", "two\r20%\r30%"]


def test_times_of_lines_are_not_printed(storage: Storage) -> None:
    """What the archive says itself has none, and an object of an earlier version has what programs printed."""
    said = "[kubedl: the beginning of this log was cut; its last 9 bytes follow]"
    lines = [said, "2026-11-18T00:00:00.000000001Z one", "2026-11-18T00:00:00Z 2026-11-17T00:00:00Z two", "three"]
    storage.objects["/logs/a/b.log.gz"] = gzip.compress("\n".join(lines).encode())
    assert _read(storage) == lines
    storage.timed = True
    assert _read(storage) == [said, "one", "2026-11-17T00:00:00Z two", "three"]


def test_an_object_comes_back_compressed_and_not_larger_than_wanted(storage: Storage) -> None:
    storage.objects["/logs/a"] = body = gzip.compress(b"one\n")
    settings = BucketSettings(f"http://127.0.0.1:{storage.server_port}", "logs")
    assert read_object(settings, "a", KEY, len(body)) == StoredObject(body, timed=False)
    storage.timed = True
    assert read_object(settings, "a", KEY, len(body)).timed
    with pytest.raises(BucketError, match="more than"):
        read_object(settings, "a", KEY, len(body) - 1)


@pytest.mark.parametrize(
    ("said", "started"),
    [
        ("2026-11-18T00:00:00+00:00", datetime(2026, 11, 18, tzinfo=UTC)),
        ("2026-11-18T00:00:00", None),  # in no zone
        ("yesterday", None),
        ("", None),
    ],
)
def test_an_object_says_when_its_container_started(storage: Storage, said: str, started: datetime | None) -> None:
    storage.objects["/logs/a"], storage.started = gzip.compress(b"one\n"), said
    settings = BucketSettings(f"http://127.0.0.1:{storage.server_port}", "logs")
    assert read_object(settings, "a", KEY, 100).started == started


def test_an_object_of_which_a_part_comes_is_none(storage: Storage) -> None:
    """It would be shown, and kept, as the whole log."""
    storage.objects["/logs/a"], storage.promised = gzip.compress(b"one\n" * 1000), 100
    settings = BucketSettings(f"http://127.0.0.1:{storage.server_port}", "logs")
    with pytest.raises(BucketError, match="ends in the middle"):
        read_object(settings, "a", KEY, 1000)


def test_what_is_gone_or_broken(storage: Storage) -> None:
    with pytest.raises(LogMissingError, match="NoSuchKey: gone"):
        _read(storage)
    storage.objects["/logs/a/b.log.gz"] = gzip.compress(b"line\n" * 1000)[:-20]
    with pytest.raises(BucketError, match="ends in the middle"):
        _read(storage)
    storage.objects["/logs/a/b.log.gz"] = b"no gzip"
    with pytest.raises(BucketError):
        _read(storage)
    settings = BucketSettings("http://127.0.0.1:1", "logs")
    with pytest.raises(BucketError, match="ConnectionRefused"):
        list(read_lines(settings, "a", KEY))


def test_places() -> None:
    assert split_location("s3://logs/a/b") == ("logs", "a/b")
    for wrong in ("", "http://x/y", "s3://logs", "s3:///a"):
        with pytest.raises(BucketSettingsError):
            split_location(wrong)
