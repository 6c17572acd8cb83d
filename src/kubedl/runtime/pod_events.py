"""What the kubelet says in Events about a pod that does not start: volumes, sandboxes and pulls are told nowhere else.

Events are words for people and may be lost: nothing that is decided may depend on them, so every error here is silence.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from typing import TypeVar

from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.wire import codec
from kubedl.wire.core import EVENTS, Pod
from kubedl.wire.meta import ObjectMeta, Record

PATIENCE = 3.0  # seconds that an answer may take
MOST_EVENTS = 50
IN_STATUS = ("Failed", "FailedScheduling", "BackOff")  # the pod's own status says these better

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
        """Whether something went wrong."""
        return self.type == "Warning"


async def last_event(client: Client, pod: Pod) -> PodEvent | None:
    """The newest Event about a pod that its status does not tell; None if there is none or nobody answers."""
    return await patiently(_last(client, pod))


async def patiently(work: Awaitable[T | None]) -> T | None:
    """The result, or None where the server refuses, is silent or says what cannot be read."""
    with suppress(ApiError, TimeoutError, *codec.UNREADABLE):
        async with asyncio.timeout(PATIENCE):
            return await work
    return None


def newest(events: Iterable[PodEvent]) -> PodEvent | None:
    """The last word; of those in the same second the one that was created last."""
    told = (event for event in events if event.reason not in IN_STATUS)
    return max(told, key=lambda one: (one.last_timestamp or one.event_time or "", one.metadata.name), default=None)


async def _last(client: Client, pod: Pod) -> PodEvent | None:
    params = {"fieldSelector": f"involvedObject.uid={pod.metadata.uid}", "limit": str(MOST_EVENTS)}
    page = await client.page(EVENTS, pod.metadata.namespace, params)
    return newest(codec.decode(item, PodEvent) for item in page.items or ())
