"""Reads the log of one container."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from kubedl.client.calls import Calls
from kubedl.client.log_line import LogLine, parse
from kubedl.client.log_sources import attempt_of, rank_of

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"  # annotation of a pod
SILENCE = 60.0  # seconds without data of a log that is read to its end


@dataclass(frozen=True)
class LogOptions:
    """Which part of a log is read."""

    container: str = ""  # empty: the pod's first one, or the one that its annotation names
    tail: int | None = None
    since_seconds: int | None = None
    previous: bool = False

    def params(self) -> dict[str, str]:
        """Return the query parameters."""
        given = {"tailLines": self.tail, "sinceSeconds": self.since_seconds}
        found = {name: str(value) for name, value in given.items() if value is not None}
        return found | ({"previous": "true"} if self.previous else {})


def container_of(pod: Mapping[str, Any], wanted: str) -> str:
    """Return the container to read, as kubectl chooses it."""
    annotations = pod["metadata"].get("annotations") or {}
    return str(wanted or annotations.get(DEFAULT_CONTAINER) or pod["spec"]["containers"][0]["name"])


async def read(
    client: Calls, pod: Mapping[str, Any], replica: str, container: str, params: Mapping[str, str]
) -> AsyncGenerator[LogLine, None]:
    """Yield the lines of a container. With `follow` among the parameters it goes on while the container runs."""
    namespace, name = pod["metadata"]["namespace"], quote(pod["metadata"]["name"], safe="")
    query = {"container": container, "timestamps": "true", **params}
    rank, attempt = rank_of(pod, container), attempt_of(pod)
    silence = None if "follow" in params else SILENCE
    async with client.stream(f"/api/v1/namespaces/{namespace}/pods/{name}/log", query, silence) as lines:
        async for line in lines:
            yield parse(line, replica, rank, attempt)
