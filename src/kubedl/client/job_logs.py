"""The logs of one job: lines of all replicas, read when they are taken."""

import functools
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Concatenate, ParamSpec

from kubedl.client import job_lookup, log_reader
from kubedl.client.blocking import blocking, each
from kubedl.client.errors import NotFound
from kubedl.client.job import Job
from kubedl.client.job_lookup import Cluster
from kubedl.client.log_follower import LogFollower
from kubedl.client.log_line import LogLine
from kubedl.client.log_reader import LogOptions
from kubedl.client.log_sources import pods_of, replica_name
from kubedl.kube.errors import ApiError, InvalidError

Note = Callable[[str], None]
P = ParamSpec("P")


class JobLogs:
    """Lines (`str` with `.replica`, `.rank`, `.time` and `.attempt`): `async for line in logs`."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        namespace: str,
        wanted: Sequence[str],
        options: LogOptions,
        on_note: Note,
        *,
        follow: bool,
    ) -> None:
        self._cluster, self._name, self._namespace = cluster, name, namespace
        self._wanted, self._options, self._on_note, self._follow = wanted, options, on_note, follow
        self._job: Job | None = None
        self._follower: LogFollower | None = None

    @property
    def job(self) -> Job:
        """Return the last known state of the job, which is final when followed lines have ended."""
        found = self._follower.job if self._follower is not None else self._job
        if found is None:
            raise ValueError("no line has been asked for yet")
        return found

    async def __aiter__(self) -> AsyncGenerator[LogLine, None]:
        path, self._job = await self._found()
        if self._follow:
            self._follower = LogFollower(
                self._cluster.client, self._job, path, self._wants, self._options, self._on_note
            )
            lines = self._guarded(self._follower.lines(), f"follow {self._job}")
        else:
            lines = self._one_by_one(self._job)
        async with aclosing(lines):
            async for line in lines:
                yield line

    async def by_pod(self) -> dict[str, str]:
        """Return the whole text of each pod by its name; of a service, by the names of its servers."""
        found: dict[str, list[str]] = {}
        async with aclosing(aiter(self)) as lines:
            async for line in lines:
                found.setdefault(self._pod_of(line.replica), []).append(f"{line}\n")
        return {pod: "".join(lines) for pod, lines in found.items()}

    async def _found(self) -> tuple[str, Job]:
        """Return the job, and the path of its kind."""
        kind, job = await self._cluster.find(self._name, self._namespace)
        return kind.path(job.namespace), job

    def _wants(self, replica: str) -> bool:
        return job_lookup.is_wanted(replica, self._name, self._wanted, self.job)

    def _no_pods(self, job: Job) -> NotFound:
        return job_lookup.no_pods(job, self._wanted)

    def _order(self, pod: Mapping[str, Any]) -> tuple[Any, ...]:
        role, _, index = replica_name(pod).rpartition("-")
        return role, int(index) if index.isdecimal() else 0

    def _pod_of(self, replica: str) -> str:
        return f"{self.job.name}-{replica}"

    async def _one_by_one(self, job: Job) -> AsyncGenerator[LogLine, None]:
        path, selection = pods_of(job)
        answer = await self._cluster.call("GET", path, f"list the pods of {job}", params=selection)
        pods = [pod for pod in self._cluster.decode(answer, dict).get("items") or () if self._wants(replica_name(pod))]
        if not pods:
            raise self._no_pods(job)
        for pod in sorted(pods, key=self._order):
            container = log_reader.container_of(pod, self._options.container)
            read = log_reader.read(self._cluster.client, pod, replica_name(pod), container, self._options.params())
            async with aclosing(self._guarded(read, f"read the log of {pod['metadata']['name']}")) as lines:
                async for line in lines:
                    yield line

    async def _guarded(self, lines: AsyncGenerator[LogLine, None], what: str) -> AsyncGenerator[LogLine, None]:
        """Yield lines; errors are the client's. A container that has not started has no lines yet."""
        try:
            async with aclosing(lines):
                async for line in lines:
                    yield line
        except ApiError as error:
            if not isinstance(error, InvalidError) or self._follow:
                raise self._cluster.failed(error, what) from error
            self._on_note(error.message)


class Logs:
    """Lines (`str` with `.replica`, `.rank`, `.time` and `.attempt`): `for line in logs`."""

    def __init__(self, logs: JobLogs) -> None:
        self._operations = logs

    def __iter__(self) -> Iterator[LogLine]:
        return each(aiter(self._operations))

    @property
    def job(self) -> Job:
        """Return the last known state of the job, which is final when followed lines have ended."""
        return self._operations.job

    by_pod = blocking(JobLogs.by_pod)


def blocking_logs(operation: Callable[Concatenate[Any, P], JobLogs]) -> Callable[Concatenate[Any, P], Logs]:
    """Return the method that gives the lines of an operation of `self._operations` without an event loop."""

    @functools.wraps(operation)
    def method(self: Any, /, *arguments: P.args, **named: P.kwargs) -> Logs:  # noqa: ANN401 - a client
        return Logs(operation(self._operations, *arguments, **named))

    return method
