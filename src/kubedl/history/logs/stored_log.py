"""Reads an archived log from S3-compatible storage: one signed GET, without an event loop, for commands."""

import http.client
import ssl
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from kubedl.history.logs.bucket_settings import BucketError, BucketSettings, BucketSettingsError, complaint
from kubedl.history.logs.signature import Credentials, encode_path, sign
from kubedl.kube.tls import client_context

PATIENCE = 30.0  # seconds
LONGEST_ANSWER = 4096
PART = 64 * 1024


class LogMissingError(BucketError):
    """The object is not there: a lifecycle rule of the bucket may have deleted it."""


def split_location(location: str) -> tuple[str, str]:
    """Return bucket and key of s3://bucket/key."""
    bucket, _, key = location.removeprefix("s3://").partition("/")
    if not location.startswith("s3://") or not bucket or not key:
        raise BucketSettingsError(f"{location[:200]!r} is no place in a bucket")
    return bucket, key


def read_lines(settings: BucketSettings, key: str, credentials: Credentials) -> Iterator[str]:
    """Yield the lines of a log. Raises LogMissingError or BucketError."""
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
        yield from _lines(response)
    except (OSError, http.client.HTTPException, zlib.error) as error:
        raise BucketError(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()


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
        raise BucketError("the log ends in the middle: the storage closed the connection")
    yield from (line.decode(errors="replace") for line in rest.splitlines())
