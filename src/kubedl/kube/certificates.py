"""Certificates of a server and of ourselves, which may be replaced while we run."""

import asyncio
import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from kubedl.kube.tls import client_context

READ_AGAIN = 60.0  # seconds
TRY_AGAIN = 5.0  # seconds, after the certificates could not be read

log = structlog.get_logger()


@dataclass(frozen=True)
class Certificates:
    """What a context is made of, as PEM."""

    authorities: bytes | None = None  # None: those of the system
    certificate: bytes | None = None  # the client's
    key: bytes | None = None
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """For connections to the server; ValueError or OSError if something does not fit."""
        context = client_context(self.authorities.decode() if self.authorities is not None else None)
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a client certificate and its key go together")
        if self.certificate is not None and self.key is not None:
            # The ssl module takes client certificates from files only.
            with tempfile.NamedTemporaryFile() as pair:
                pair.write(self.certificate + b"\n" + self.key)
                pair.flush()
                context.load_cert_chain(pair.name)
        return context


class TLSConfig:
    """The context for new connections. Another one takes its place when what it was made of has changed.

    Certificates are read again every minute, and at the next use after `suspect`. While they cannot be read, or a
    certificate and its key do not fit because only one of them was replaced yet, the last good ones stay in use.
    """

    def __init__(
        self,
        read: Callable[[], Certificates],
        server_name: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`read` raises ValueError or OSError; `server_name` is what the server's certificate must be for."""
        self.server_name = server_name
        self._read = read
        self._clock = clock
        self._certificates = read()
        self._context = self._certificates.context()
        self._stale_at = clock() + READ_AGAIN
        self._reading = asyncio.Lock()
        self._complaint = ""

    async def context(self) -> ssl.SSLContext:
        """The current one. Files may be on a slow disk, so they are read beside the loop."""
        if self._clock() >= self._stale_at:
            async with self._reading:
                if self._clock() >= self._stale_at:
                    await asyncio.to_thread(self._renew)
        return self._context

    def suspect(self) -> None:
        """The server did not trust us, or we did not trust it: read the certificates again at the next use."""
        self._stale_at = float("-inf")

    def _renew(self) -> None:
        try:
            found = self._read()
            if found != self._certificates:
                self._context = found.context()
                self._certificates = found
                log.info("certificates were replaced")
        except (OSError, ValueError) as error:
            if str(error) != self._complaint:
                log.warning("cannot read certificates, the last ones stay in use", error=str(error))
            self._complaint = str(error)
            self._stale_at = self._clock() + TRY_AGAIN
        else:
            self._complaint = ""
            self._stale_at = self._clock() + READ_AGAIN
