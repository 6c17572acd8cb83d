"""Whether the API server answers. Watches do not tell: a healthy one may say nothing for a minute."""

import asyncio
from contextlib import suppress

from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.runtime.discovery import DISCOVERY

EVERY = 5.0  # seconds


class Pulse:
    """Asks the API server for its version, which everybody may read."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._answered_at: float | None = None  # until it is run

    def unanswered_seconds(self) -> float:
        """Return the seconds since the API server last answered; a few are usual."""
        return 0.0 if self._answered_at is None else self._now() - self._answered_at

    async def run(self) -> None:
        """Ask until cancelled."""
        self._answered_at = self._now()
        while True:
            with suppress(ApiError, TimeoutError):
                async with asyncio.timeout(EVERY):
                    await self._client.call("get", DISCOVERY, "/version")
                self._answered_at = self._now()
            await asyncio.sleep(EVERY)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
