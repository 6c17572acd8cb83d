"""Reads the log of an ended container by the API, each line with its time, and keeps its end.

A name may belong to another pod, or to the next run of the container, by the time that the log is read; so what the
pod is afterwards decides whether the log is the one that was asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kubedl.history.logs.container_run import ContainerRun, main_status
from kubedl.history.observed_pods import PODS, RecordedPod
from kubedl.kube import codec
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.kube.types.meta import Resource

SILENCE = 30.0  # seconds without data
SHORTEST_LINE = 16  # bytes on average; of a log with shorter lines less than the most bytes is kept
# The kubelet's answer, with status 200, if the container or its files are gone.
NO_FILES = b"unable to retrieve container logs for "
LOGS: Resource[RecordedPod] = Resource(RecordedPod, "Pod", "pods/log")  # as metrics name it


class LogGoneError(Exception):
    """The log does not exist any more: the pod, the container or its files are gone."""


class LogUnreadableError(Exception):
    """The log cannot be read at the moment."""


@dataclass(frozen=True)
class Log:
    """The end of a log."""

    content: bytes
    cut: bool  # whether its beginning is missing

    def marked(self) -> bytes:
        """Return the content; if its beginning is missing, the first line says so."""
        if not self.cut:
            return self.content
        # What is left of the first line is no line.
        whole = self.content.partition(b"\n")[2] or self.content
        return b"[kubedl: the beginning of this log was cut; its last %d bytes follow]\n" % len(whole) + whole


class LogReader:
    """Reads logs of at most so many bytes."""

    def __init__(self, client: Client, most_bytes: int, main_containers: Mapping[str, str]) -> None:
        self._client, self._most, self._main_containers = client, most_bytes, main_containers

    async def read(self, run: ContainerRun) -> Log:
        """Return the log of a run. Raises LogGoneError or LogUnreadableError."""
        try:
            pod = await self._pod(run)
            for _ in range(2):
                previous = self._previous(pod, run)
                log = await self._tail(run, previous=previous)
                pod = await self._pod(run)
                if self._previous(pod, run) == previous:
                    return log
        except NotFoundError as error:
            raise LogGoneError(str(error)) from error
        except ApiError as error:
            failure = LogGoneError if error.code == 400 else LogUnreadableError  # 400: the container has no log
            raise failure(str(error)) from error
        raise LogUnreadableError("the container is being restarted")

    async def _tail(self, run: ContainerRun, *, previous: bool) -> Log:
        lines = max(self._most // SHORTEST_LINE, 1)
        params = {"container": run.container, "tailLines": str(lines), "timestamps": "true"}
        if previous:
            params["previous"] = "true"
        kept, size = bytearray(), 0
        path = PODS.path(*run.pod, subresource="log")
        async with self._client.read(LOGS, path, params, SILENCE) as parts:
            async for part in parts:
                size += len(part)
                kept += part
                if len(kept) > 2 * self._most:
                    del kept[: -self._most]
        content = bytes(kept[-self._most :])
        if size < 300 and content.startswith(NO_FILES):
            raise LogGoneError(content.decode(errors="replace").strip())
        return Log(content, cut=size > self._most or content.count(b"\n") >= lines)

    async def _pod(self, run: ContainerRun) -> RecordedPod:
        """Return the pod as it is now. A list of one: the recorder may list pods, and not get them."""
        selector = {"fieldSelector": f"metadata.name={run.pod.name}"}
        page = await self._client.page(PODS, run.pod.namespace, selector)
        for item in page.items or ():
            try:
                pod = codec.decode(item, RecordedPod)
            except codec.UNREADABLE as error:
                raise LogUnreadableError(f"the pod cannot be decoded: {error}") from error
            if pod.metadata.uid == run.uid:
                return pod
        raise LogGoneError("the pod is gone")

    def _previous(self, pod: RecordedPod, run: ContainerRun) -> bool:
        """Return whether a run is the one before the current one. Raises LogGoneError if it is older."""
        status = main_status(pod, self._main_containers)
        if status is None or status.restart_count - run.restart > 1:
            raise LogGoneError("the container was restarted since")
        return status.restart_count > run.restart
