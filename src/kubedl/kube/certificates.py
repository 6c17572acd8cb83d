"""CA and client certificates, reloaded when their files change."""

import asyncio
import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from kubedl.kube.tls import client_context

READ_AGAIN = 60.0  # seconds
TRY_AGAIN = 5.0  # seconds, after a failed read

log = structlog.get_logger()


@dataclass(frozen=True)
class Certificates:
    """The PEM data of an SSL context."""

    authorities: bytes | None = None  # None: the CAs of the system
    certificate: bytes | None = None  # client certificate and key
    key: bytes | None = None
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """Return the SSL context; raises ValueError or OSError if the data is invalid."""
        context = client_context(self.authorities.decode() if self.authorities is not None else None)
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a client certificate needs its key, and vice versa")
        if self.certificate is not None and self.key is not None:
            # The ssl module reads client certificates from files only.
            with tempfile.NamedTemporaryFile() as pair:
                pair.write(self.certificate + b"\n" + self.key)
                pair.flush()
                context.load_cert_chain(pair.name)
        return context


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
