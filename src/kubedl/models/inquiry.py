"""What only asking tells about a build: how far the packer is, and why its pod does not start.

Both are words for people. Nothing that is decided depends on them, so whatever goes wrong here is silence.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from kubedl.api.model import BuildProgress
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.models.build_pod import CONTAINER
from kubedl.wire import codec
from kubedl.wire.core import EVENTS, PODS, Pod
from kubedl.wire.meta import Record
from kubedl.wire.pattern import Pattern

PATIENCE = 3.0  # seconds; the kubelet of a lost node answers never
LONGEST_LINE = 512  # bytes of a log
MOST_EVENTS = 50
PROGRESS = Pattern(r"progress ([0-9]{1,18})/([0-9]{1,18}) ", LONGEST_LINE)
NOT_OF_MOUNTS = ("Failed", "FailedScheduling", "BackOff")  # the pod's own status says these better

T = TypeVar("T")


@dataclass(frozen=True)
class Heard:
    """What was told about a pod."""

    progress: BuildProgress | None = None
    warning: str = ""


NOTHING = Heard()


class Happening(Record, frozen=True):
    """An event about a pod."""

    type: str = ""
    reason: str = ""
    message: str = ""
    last_timestamp: str | None = None


async def ask(client: Client, pod: Pod) -> Heard:
    """Ask about a pod that has not ended."""
    if pod.status.phase == "Running":
        return Heard(progress=await _patiently(_progress(client, pod)))
    return Heard(warning=await _patiently(_warning(client, pod)) or "")


def read_progress(text: str) -> BuildProgress | None:
    """The packer's last line, if it speaks of its progress."""
    found = PROGRESS.match(text)
    return BuildProgress(bytes_done=int(found[1]), bytes_total=int(found[2])) if found else None


async def _progress(client: Client, pod: Pod) -> BuildProgress | None:
    params = {"container": CONTAINER, "tailLines": "1", "limitBytes": str(LONGEST_LINE)}
    answer = await client.call("get", PODS, PODS.path(*pod.metadata.key, subresource="log"), params=params)
    return read_progress(answer.decode(errors="replace"))


async def _warning(client: Client, pod: Pod) -> str:
    """The last word of the kubelet: a volume that cannot be mounted, a Secret that is not there."""
    params = {"fieldSelector": f"involvedObject.uid={pod.metadata.uid}", "limit": str(MOST_EVENTS)}
    page = await client.page(EVENTS, pod.metadata.namespace, params)
    said = [codec.decode(item, Happening) for item in page.items or ()]
    warnings = [one for one in said if one.type == "Warning" and one.reason not in NOT_OF_MOUNTS]
    last = max(warnings, key=lambda one: one.last_timestamp or "", default=None)
    return f"{last.reason}: {last.message}" if last is not None else ""


async def _patiently(work: Awaitable[T | None]) -> T | None:
    with suppress(ApiError, TimeoutError, *codec.UNREADABLE):
        async with asyncio.timeout(PATIENCE):
            return await work
    return None
