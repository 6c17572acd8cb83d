"""Writes objects to a bucket of S3-compatible storage: one signed PUT for each, with the bucket in the path."""

import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from kubedl.history.logs.bucket_settings import (
    BucketError,
    BucketSettings,
    BucketSettingsError,
    ObjectRefusedError,
    complaint,
)
from kubedl.history.logs.signature import Credentials, encode_path, sign
from kubedl.kube.tls import client_context

PATIENCE = aiohttp.ClientTimeout(total=120.0, connect=10.0)
LONGEST_ANSWER = 4096
ABOUT_OBJECTS = ("EntityTooLarge", "KeyTooLong", "MetadataTooLarge")  # beginnings of complaints; the others may pass


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
        """Write an object; one with the same key is replaced. Raises ObjectRefusedError, or BucketError."""
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
            told = complaint(answer)
            refused = response.status == 413 or told.startswith(ABOUT_OBJECTS)
            raise (ObjectRefusedError if refused else BucketError)(f"the storage answers {response.status}: {told}")

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


def _context(file: str) -> ssl.SSLContext:
    try:
        return client_context(Path(file).read_text() if file else None)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise BucketSettingsError(f"the CA certificates in {file} cannot be read: {error}") from error
