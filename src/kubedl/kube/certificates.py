"""CA and client certificates, reloaded when their files change."""

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import replace

import structlog

from kubedl.kube.tls import Certificates

READ_AGAIN = 60.0  # seconds
TRY_AGAIN = 5.0  # seconds, after a failed read

log = structlog.get_logger()


class TLSConfig:
    """The SSL context for new connections, replaced when its certificates change.

    Certificates are read again every minute, and at the next use after `suspect`. The last valid ones stay in use while
    reading fails, or while certificate and key do not match because only one of them has been replaced.
    """

    def __init__(
        self,
        read: Callable[[], Certificates],
        server_name: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`read` raises ValueError or OSError; `server_name` is the name that the server's certificate must have."""
        self.server_name = server_name
        self._read = read
        self._clock = clock
        self._certificates = read()
        self._context = self._certificates.context()
        self._stale_at = clock() + READ_AGAIN
        self._reading = asyncio.Lock()
        self._complaint = ""

    async def context(self) -> ssl.SSLContext:
        """Return the current context. Files are read in a thread, since a disk may be slow."""
        if self._clock() >= self._stale_at:
            async with self._reading:
                if self._clock() >= self._stale_at:
                    await asyncio.to_thread(self._renew)
        return self._context

    def without_identity(self) -> "TLSConfig":
        """Return the same trust without the client certificate: a server prefers that to a token."""
        return TLSConfig(lambda: replace(self._read(), certificate=None, key=None), self.server_name, self._clock)

    def suspect(self) -> None:
        """Read the certificates again at the next use, after a failed TLS handshake."""
        self._stale_at = float("-inf")

    def _renew(self) -> None:
        try:
            certificates = self._read()
            if certificates != self._certificates:
                self._context = certificates.context()
                self._certificates = certificates
                log.info("certificates were replaced")
        except (OSError, ValueError) as error:
            if str(error) != self._complaint:
                log.warning("cannot read certificates, keeping the previous ones", error=str(error))
            self._complaint = str(error)
            self._stale_at = self._clock() + TRY_AGAIN
        else:
            self._complaint = ""
            self._stale_at = self._clock() + READ_AGAIN
