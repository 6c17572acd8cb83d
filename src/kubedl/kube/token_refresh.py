"""Bearer tokens that are rotated while the process runs, as those of ServiceAccounts are."""

import asyncio
import time
from collections.abc import Callable

from kubedl.kube.kubeconfig import CredentialsError

REREAD_AFTER = 60.0  # seconds
LOOK_AGAIN = 5.0  # seconds, after a failed refresh


class Token:
    """A bearer token, refreshed when it may have changed."""

    def __init__(self, fetch: Callable[[], tuple[str, float]], clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._value = ""
        self._stale_at = float("-inf")
        self._fetching = asyncio.Lock()

    async def value(self) -> str:
        """Return the current token. A refresh may run a command, so it runs in a thread, once for all callers."""
        if self._clock() >= self._stale_at:
            async with self._fetching:
                if self._clock() >= self._stale_at:
                    await self._renew()
        return self._value

    def refused(self) -> None:
        """Refresh the token at the next use, after a 401."""
        self._stale_at = float("-inf")

    async def _renew(self) -> None:
        try:
            self._value, lifetime = await asyncio.to_thread(self._fetch)
        except CredentialsError:
            if not self._value:
                raise
            lifetime = LOOK_AGAIN  # the server may still accept the old one
        self._stale_at = self._clock() + lifetime
