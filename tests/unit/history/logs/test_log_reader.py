"""Reading logs of containers that may be gone, or another's, by the time that they are read."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
import pytest

from kubedl.history.logs.container_run import ContainerRun, ended_runs
from kubedl.history.logs.log_reader import LogGoneError, LogReader, LogUnreadableError
from kubedl.kube import codec
from kubedl.kube.client import Client, ListMeta, Page
from kubedl.kube.errors import ApiError, NotFoundError, UnknownOutcomeError
from tests.history.builders import decoded_pod, job, pod

MOST = 1024


class Kubelet:
    """A pod, the logs of its runs, and what happens while one is read."""

    def __init__(self) -> None:
        self.pod = pod(job("bert", identity="j"), identity="p", phase="Succeeded")
        self.logs = {0: b"hello\n"}
        self.failure: ApiError | None = None
        self.restarts_while_read = 0
        self.replaced_while_read = False
        self.asked: list[Mapping[str, str]] = []

    @property
    def run(self) -> ContainerRun:
        """The run that has ended."""
        [run] = ended_runs(decoded_pod(self.pod), {})
        return run

    @property
    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.pod["status"]["containerStatuses"][0]
        return status

    async def page(self, _: object, namespace: str, params: Mapping[str, str]) -> Page:
        assert (namespace, params) == ("team-a", {"fieldSelector": "metadata.name=bert-worker-0"})
        return Page(metadata=ListMeta(), items=(msgspec.Raw(codec.encode(self.pod)),))

    @asynccontextmanager
    async def read(
        self, _: object, path: str, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        assert path == "/api/v1/namespaces/team-a/pods/bert-worker-0/log"
        self.asked.append(params)
        if self.failure is not None:
            raise self.failure
        if self.restarts_while_read:
            self.restarts_while_read -= 1
            self._status["restartCount"] = self._status.get("restartCount", 0) + 1
        current = self._status.get("restartCount", 0)
        content = self.logs.get(current - 1 if "previous" in params else current, b"another run\n")
        if self.replaced_while_read:
            self.pod["metadata"]["uid"] = "another"
        yield _parts(content)


async def _parts(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 100):
        yield content[start : start + 100]


def reader(kubelet: Kubelet) -> LogReader:
    """A reader of that kubelet."""
    return LogReader(cast("Client", kubelet), MOST, {})


async def test_a_short_log_is_read_whole() -> None:
    """Of the main container."""
    kubelet = Kubelet()
    log = await reader(kubelet).read(kubelet.run)
    assert (log.content, log.cut, log.marked()) == (b"hello\n", False, b"hello\n")
    assert kubelet.asked == [{"container": "pytorch", "tailLines": str(MOST // 16), "timestamps": "true"}]


async def test_of_a_long_log_the_end_is_kept() -> None:
    """And said to be the end, in whole lines."""
    kubelet = Kubelet()
    lines = [b"line %03d %s\n" % (number, b"x" * 40) for number in range(60)]
    kubelet.logs[0] = b"".join(lines)
    log = await reader(kubelet).read(kubelet.run)
    first, _, rest = log.marked().partition(b"\n")
    assert log.cut
    assert len(log.content) == MOST
    assert b"was cut" in first
    assert rest == b"".join(lines[-(len(rest) // len(lines[0])) :])
    assert MOST - len(lines[0]) <= len(rest) <= MOST


async def test_a_log_that_the_server_has_shortened_is_cut() -> None:
    """As many lines as were asked for: there may have been more."""
    kubelet = Kubelet()
    kubelet.logs[0] = b"x\n" * (MOST // 16)
    assert (await reader(kubelet).read(kubelet.run)).cut


async def test_a_run_that_was_followed_by_another_is_read_as_the_previous_one() -> None:
    """The log that was read first is the other run's, and dropped."""
    kubelet = Kubelet()
    kubelet.restarts_while_read = 1
    log = await reader(kubelet).read(kubelet.run)
    assert log.content == b"hello\n"
    assert [params.get("previous") for params in kubelet.asked] == [None, "true"]


async def test_a_run_that_is_too_old_is_gone() -> None:
    """No log is better than that of another run."""
    kubelet = Kubelet()
    run, kubelet.restarts_while_read = kubelet.run, 9
    with pytest.raises((LogGoneError, LogUnreadableError)):
        await reader(kubelet).read(run)


async def test_a_pod_of_the_same_name_is_another() -> None:
    """It may have replaced the pod while the log was read."""
    kubelet = Kubelet()
    run, kubelet.replaced_while_read = kubelet.run, True
    with pytest.raises(LogGoneError):
        await reader(kubelet).read(run)


async def test_a_pod_that_cannot_be_decoded_ends_nothing() -> None:
    """Its log is tried again, and given up at last, as that of a node that does not answer."""
    kubelet = Kubelet()
    run, kubelet.pod["status"]["startTime"] = kubelet.run, "0000-12-31T10:00:00Z"
    with pytest.raises(LogUnreadableError):
        await reader(kubelet).read(run)


async def test_the_kubelets_excuse_is_no_log() -> None:
    """It comes with status 200."""
    kubelet = Kubelet()
    kubelet.logs[0] = b"unable to retrieve container logs for containerd://0"
    with pytest.raises(LogGoneError):
        await reader(kubelet).read(kubelet.run)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (NotFoundError(404, "NotFound", "no"), LogGoneError),
        (ApiError(400, "BadRequest", "no"), LogGoneError),
        (ApiError(500, "InternalError", "no"), LogUnreadableError),
        (UnknownOutcomeError(0, "", "no"), LogUnreadableError),
    ],
)
async def test_only_what_may_pass_is_tried_again(failure: ApiError, expected: type[Exception]) -> None:
    """A node that does not answer may do so later."""
    kubelet = Kubelet()
    kubelet.failure = failure
    with pytest.raises(expected):
        await reader(kubelet).read(kubelet.run)
