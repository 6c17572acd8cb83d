"""Diagnostics of a build: the packer's progress from its log, and why its pod does not start.

Both are informational. No decision depends on them, so every error here is ignored.
"""

from dataclasses import dataclass

from kubedl.api.model import BuildProgress
from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.kube.client import Client
from kubedl.kube.types.core import PODS, Pod
from kubedl.models.build_pod import CONTAINER
from kubedl.models.pack_protocol import RETRYING
from kubedl.runtime.pod_events import last_event, within_deadline

LONGEST_LINE = 512  # bytes read from the end of a log
PROGRESS = BoundedPattern(r"progress ([0-9]{1,18})/([0-9]{1,18}) ", LONGEST_LINE)


@dataclass(frozen=True)
class BuildDiagnostics:
    """The diagnostics of one pod."""

    progress: BuildProgress | None = None
    warning: str = ""
    retrying: str = ""  # the error after which a running packer tries again


NOTHING = BuildDiagnostics()


async def fetch_diagnostics(client: Client, pod: Pod) -> BuildDiagnostics:
    """Fetch diagnostics of a pod that has not ended."""
    if pod.status.phase == "Running":
        line = await within_deadline(_last_line(client, pod)) or ""
        return BuildDiagnostics(progress=read_progress(line), retrying=read_retrying(line))
    return BuildDiagnostics(warning=await _warning(client, pod))


def read_progress(text: str) -> BuildProgress | None:
    """Return the last line of the packer's log, if it reports progress."""
    match = PROGRESS.match(text)
    return BuildProgress(bytes_done=int(match[1]), bytes_total=int(match[2])) if match else None


def read_retrying(text: str) -> str:
    """Return the error in the last line of the packer's log, if it reports one."""
    return text.rstrip("\n").removeprefix(RETRYING) if text.startswith(RETRYING) else ""


async def _last_line(client: Client, pod: Pod) -> str:
    params = {"container": CONTAINER, "tailLines": "1", "limitBytes": str(LONGEST_LINE)}
    answer = await client.call("get", PODS, PODS.path(*pod.metadata.key, subresource="log"), params=params)
    return answer.decode(errors="replace")


async def _warning(client: Client, pod: Pod) -> str:
    """Return the kubelet's latest warning: a volume that cannot be mounted, a missing Secret."""
    last = await last_event(client, pod)
    return f"{last.reason}: {last.message}" if last is not None and last.is_warning else ""
