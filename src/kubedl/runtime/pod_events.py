"""Reads the kubelet's Events about a pod that does not start: some failures (volumes, pulls) appear nowhere else.

Events are informational and may be lost, so no decision depends on them, and every error here is ignored.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from typing import TypeVar

from kubedl.kube import codec
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.kube.types.core import EVENTS, Pod
from kubedl.kube.types.meta import ObjectMeta, Record

PATIENCE = 3.0  # seconds: timeout of a request
MOST_EVENTS = 50
IN_STATUS = ("Failed", "FailedScheduling", "BackOff")  # covered better by the status of the pod

T = TypeVar("T")


class PodEvent(Record, frozen=True):
    """One Event about a pod."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    reason: str = ""
    message: str = ""
    last_timestamp: str | None = None
    event_time: str | None = None

    @property
    def is_warning(self) -> bool:
        """Whether it is a warning."""
        return self.type == "Warning"


async def last_event(client: Client, pod: Pod) -> PodEvent | None:
    """Return the newest Event about a pod that its status does not cover; None if none, or on failure."""
    return await within_deadline(_last(client, pod))


async def within_deadline(work: Awaitable[T | None]) -> T | None:
    """Return the result, or None if the request fails or the response is invalid."""
    with suppress(ApiError, TimeoutError, *codec.UNREADABLE):
        async with asyncio.timeout(PATIENCE):
            return await work
    return None


def newest(events: Iterable[PodEvent]) -> PodEvent | None:
    """Return the newest Event; within one second, the one created last."""
    candidates = (event for event in events if event.reason not in IN_STATUS)
    return max(
        candidates,
        key=lambda event: (event.last_timestamp or event.event_time or "", event.metadata.name),
        default=None,
    )


async def _last(client: Client, pod: Pod) -> PodEvent | None:
    params = {"fieldSelector": f"involvedObject.uid={pod.metadata.uid}", "limit": str(MOST_EVENTS)}
    page = await client.page(EVENTS, pod.metadata.namespace, params)
    return newest(codec.decode(item, PodEvent) for item in page.items or ())
