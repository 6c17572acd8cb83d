"""Reads an archived log from S3-compatible storage: one signed GET, without an event loop, for commands."""

import http.client
import ssl
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from kubedl.history.logs.bucket_settings import (
    STARTED,
    TIMED,
    BucketError,
    BucketSettings,
    BucketSettingsError,
    complaint,
)
from kubedl.history.logs.signature import Credentials, encode_path, sign
from kubedl.kube.tls import client_context

PATIENCE = 30.0  # seconds
LONGEST_ANSWER = 4096
BROKEN_OFF = "the log ends in the middle: the storage closed the connection"
PART = 64 * 1024
SHORTEST_TIME = len("2026-11-18T00:00:00Z")


class LogMissingError(BucketError):
    """The object is not there: a lifecycle rule of the bucket may have deleted it."""


def split_location(location: str) -> tuple[str, str]:
    """Return bucket and key of s3://bucket/key."""
    bucket, _, key = location.removeprefix("s3://").partition("/")
    if not location.startswith("s3://") or not bucket or not key:
        raise BucketSettingsError(f"{location[:200]!r} is no place in a bucket")
    return bucket, key


@dataclass(frozen=True)
class StoredObject:
    """A log as it is in the storage."""

    body: bytes  # compressed by gzip
    timed: bool  # whether each line begins with the time at which it was written
    started: datetime | None = None  # when the container started


def read_lines(settings: BucketSettings, key: str, credentials: Credentials) -> Iterator[str]:
    """Yield the lines of a log, without their times. Raises LogMissingError or BucketError."""
    with _answer(settings, key, credentials) as response:
        timed = _is_timed(response)
        for line in _lines(response):
            yield _words(line) if timed else line


def read_object(settings: BucketSettings, key: str, credentials: Credentials, most: int) -> StoredObject:
    """Return a log of at most so many bytes, compressed. Raises LogMissingError or BucketError."""
    with _answer(settings, key, credentials) as response:
        body = response.read(most + 1)
        if len(body) > most:
            raise BucketError(f"the log has more than {most} bytes")
        if response.length:  # which http.client tells nobody who reads a number of bytes
            raise BucketError(BROKEN_OFF)
        return StoredObject(body, _is_timed(response), _started(response))


@contextmanager
def _answer(settings: BucketSettings, key: str, credentials: Credentials) -> Iterator[http.client.HTTPResponse]:
    """Ask for an object, and yield the answer."""
    address, path = urlsplit(settings.endpoint), encode_path(f"/{settings.bucket}/{key}")
    place = (settings.region, "s3")
    headers = sign("GET", path, {"host": address.netloc}, b"", credentials, place, datetime.now(UTC))
    connection = _connection(settings)
    try:
        connection.request("GET", path, headers={**headers, "accept-encoding": "identity"})
        response = connection.getresponse()
        if response.status != 200:
            words = f"the storage answers {response.status}: {complaint(response.read(LONGEST_ANSWER))}"
            raise (LogMissingError if response.status == 404 else BucketError)(words)
        yield response
    except (OSError, http.client.HTTPException, zlib.error) as error:
        raise BucketError(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()


def _is_timed(response: http.client.HTTPResponse) -> bool:
    return response.getheader(TIMED, "") == "true"


def _started(response: http.client.HTTPResponse) -> datetime | None:
    try:
        found = datetime.fromisoformat(response.getheader(STARTED, ""))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _words(line: str) -> str:
    """Return a line without its time. What the archive says itself has none."""
    stamp, _, words = line.partition(" ")
    return words if len(stamp) >= SHORTEST_TIME and stamp[10] == "T" and stamp.endswith("Z") else line


def _connection(settings: BucketSettings) -> http.client.HTTPConnection:
    address = urlsplit(settings.endpoint)
    host = address.hostname or ""
    if address.scheme == "http":
        return http.client.HTTPConnection(host, address.port, timeout=PATIENCE)
    return http.client.HTTPSConnection(host, address.port, timeout=PATIENCE, context=_context(settings.authority))


def _context(file: str) -> ssl.SSLContext:
    try:
        return client_context(Path(file).read_text() if file else None)
    except (OSError, ValueError) as error:
        raise BucketSettingsError(f"the CA certificates in {file} cannot be read: {error}") from error


def _lines(response: http.client.HTTPResponse) -> Iterator[str]:
    """Yield lines as they arrive: a log may be larger than it should be, and is never in memory as a whole."""
    unpacker, rest = zlib.decompressobj(31), b""
    while part := response.read(PART):
        while part:
            rest += unpacker.decompress(part, PART)
            part = unpacker.unconsumed_tail
            *whole, rest = rest.split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
            if len(rest) > PART:  # a line without an end is passed on in parts
                yield rest.decode(errors="replace")
                rest = b""
    rest += unpacker.flush()
    if not unpacker.eof:
        raise BucketError(BROKEN_OFF)
    if rest:
        yield from (line.decode(errors="replace") for line in rest.removesuffix(b"\n").split(b"\n"))
