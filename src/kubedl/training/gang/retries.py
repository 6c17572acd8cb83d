"""Retries of waiting gangs, for schedulers that look at a group again only when its object has changed."""

from contextlib import suppress
from datetime import datetime

from kubedl.kube.client import Client
from kubedl.kube.errors import NotFoundError
from kubedl.kube.types.meta import ObjectKey
from kubedl.training.gang.assignment import RETRY_AFTER
from kubedl.training.gang.scheduler import Gang
from kubedl.training.policies.safe_time import LONG_AGO

ANNOTATION = "training.kubedl.io/retried-at"


class GangRetries:
    """When each waiting gang was retried last."""

    def __init__(self) -> None:
        self._at: dict[ObjectKey, datetime] = {}

    async def retry(self, client: Client, namespace: str, gang: Gang, now: datetime) -> None:
        """Change the object of a group, unless that was done moments ago."""
        key = ObjectKey(namespace, gang.group.name)
        last = self._at.get(key, LONG_AGO)
        if gang.by.served is None or abs(now - last) < RETRY_AFTER:  # a clock may be set back
            return
        self._at = {other: at for other, at in self._at.items() if now - at < RETRY_AFTER} | {key: now}
        with suppress(NotFoundError):
            await client.patch(gang.by.served, key, {"metadata": {"annotations": {ANNOTATION: now.isoformat()}}})
