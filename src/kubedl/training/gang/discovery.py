"""Which gang schedulers the cluster has: looked for at the start, and again now and then."""

import asyncio
from collections.abc import Mapping

from kubedl.kube.client import Client
from kubedl.runtime.discovery import Discovery
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.gang.schedulers import all_gang_schedulers

PERIOD, RETRY = 30.0, 1.0  # seconds
PREFERENCE = ("native",)  # of auto, before all others, which are tried by name


class GangDiscovery:
    """The installed gang schedulers, those that auto prefers first."""

    def __init__(self, client: Client) -> None:
        self._discovery = Discovery(client)
        self._installed: Mapping[str, InstalledScheduler] | None = None

    def installed(self) -> Mapping[str, InstalledScheduler] | None:
        """Return those that were found last; None if the API server has not answered yet."""
        return self._installed

    async def run(self) -> None:
        """Look for them until cancelled."""
        while True:
            found = await self._look()
            if found is not None and found != self._installed:
                self._installed = found  # the same object while nothing changes, so that it is compared at no cost
            await asyncio.sleep(PERIOD if self._installed is not None else RETRY)

    async def _look(self) -> Mapping[str, InstalledScheduler] | None:
        known = all_gang_schedulers()
        names = sorted(known, key=lambda name: (not known[name].kinds, name not in PREFERENCE, name))
        found = {}
        for name in names:
            scheduler = known[name]
            answers = {kind: await self._discovery.served(kind) for kind in scheduler.kinds}
            if None in answers.values():
                return None
            served = next((kind for kind, answer in answers.items() if answer), None)
            if served is not None or not scheduler.kinds:
                found[name] = InstalledScheduler(scheduler, served)
        return found
