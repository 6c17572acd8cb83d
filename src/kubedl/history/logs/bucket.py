"""Writes objects to a bucket of S3-compatible storage: one signed PUT for each, with the bucket in the path."""

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from kubedl.history.logs.signature import Credentials, encode_path, sign
from kubedl.kube.tls import client_context

ACCESS_KEY, SECRET_KEY, SESSION_TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
PATIENCE = aiohttp.ClientTimeout(total=120.0, connect=10.0)
LONGEST_ANSWER = 4096
LONGEST_PREFIX = 128


class BucketError(Exception):
    """The storage did not accept an object; the message says why. It may do so later."""


class BucketSettingsError(Exception):
    """The settings of the storage are missing or invalid. The message does not repeat credentials."""


@dataclass(frozen=True)
class BucketSettings:
    """Where logs are kept."""

    endpoint: str  # https://s3.example:9000
    bucket: str
    prefix: str = ""
    region: str = "us-east-1"
    authority: str = ""  # file with CA certificates; empty: those of the system

    def __post_init__(self) -> None:
        address = urlsplit(self.endpoint)
        if address.scheme not in ("http", "https") or not address.hostname or address.username:
            raise BucketSettingsError("the endpoint of the storage is a URL such as https://s3.example")
        if address.path.strip("/") or address.query:
            raise BucketSettingsError("the endpoint of the storage has no path: the bucket is a setting of its own")
        if not 3 <= len(self.bucket) <= 63 or not self.bucket.replace("-", "").replace(".", "").isalnum():
            raise BucketSettingsError(f"{self.bucket[:80]!r} is not the name of a bucket")
        if len(self.prefix) > LONGEST_PREFIX:
            raise BucketSettingsError(f"the prefix has more than {LONGEST_PREFIX} characters")

    def location(self, key: str) -> str:
        """Return the address of an object, as tools for S3 write it."""
        return f"s3://{self.bucket}/{key}"


def credentials_from(environment: Mapping[str, str] = os.environ) -> Credentials:
    """Return the access key of the environment."""
    known = [environment.get(name, "").strip() for name in (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN)]
    if not (known[0] and known[1]):
        raise BucketSettingsError(f"no credentials for the storage of logs: set {ACCESS_KEY} and {SECRET_KEY}")
    return Credentials(*known)


class Bucket:
    """One bucket."""

    def __init__(
        self,
        settings: BucketSettings,
        credentials: Credentials,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.settings, self._credentials, self._clock = settings, credentials, clock
        self._tls = _context(settings.authority) if settings.endpoint.startswith("https:") else None
        self._session: aiohttp.ClientSession | None = None

    async def put(self, key: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Write an object; one with the same key is replaced. Raises BucketError."""
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=PATIENCE, trust_env=True)
        path = encode_path(f"/{self.settings.bucket}/{key}")
        address = urlsplit(self.settings.endpoint)
        signed = sign(
            "PUT",
            path,
            {**headers, "host": address.netloc},
            body,
            self._credentials,
            (self.settings.region, "s3"),
            self._clock(),
        )
        url = URL(f"{address.scheme}://{address.netloc}{path}", encoded=True)
        try:
            async with self._session.put(
                url, data=body, headers=signed, ssl=self._tls or True, allow_redirects=False
            ) as response:
                answer = await response.content.read(LONGEST_ANSWER)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise BucketError(f"{type(error).__name__}: {error}") from error
        if response.status != 200:
            raise BucketError(f"the storage answers {response.status}: {_complaint(answer)}")

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


def _complaint(answer: bytes) -> str:
    """Return code and message of an error in XML, or its beginning."""
    text = answer.decode(errors="replace")
    found = [text.partition(tag)[2].partition("</")[0] for tag in ("<Code>", "<Message>")]
    return (": ".join(part for part in found if part) or text.strip())[:300]


def _context(file: str) -> ssl.SSLContext:
    try:
        return client_context(Path(file).read_text() if file else None)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise BucketSettingsError(f"the CA certificates in {file} cannot be read: {error}") from error
