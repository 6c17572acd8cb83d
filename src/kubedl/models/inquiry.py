"""What only asking tells about a build: how far the packer is, and why its pod does not start.

Both are words for people. Nothing that is decided depends on them, so whatever goes wrong here is silence.
"""

from dataclasses import dataclass

from kubedl.api.model import BuildProgress
from kubedl.kube.client import Client
from kubedl.models.build_pod import CONTAINER
from kubedl.runtime.pod_events import last_event, patiently
from kubedl.wire.core import PODS, Pod
from kubedl.wire.pattern import Pattern

LONGEST_LINE = 512  # bytes of a log
PROGRESS = Pattern(r"progress ([0-9]{1,18})/([0-9]{1,18}) ", LONGEST_LINE)


@dataclass(frozen=True)
class Heard:
    """What was told about a pod."""

    progress: BuildProgress | None = None
    warning: str = ""


NOTHING = Heard()


async def ask(client: Client, pod: Pod) -> Heard:
    """Ask about a pod that has not ended."""
    if pod.status.phase == "Running":
        return Heard(progress=await patiently(_progress(client, pod)))
    return Heard(warning=await _warning(client, pod))


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
    last = await last_event(client, pod)
    return f"{last.reason}: {last.message}" if last is not None and last.is_warning else ""
