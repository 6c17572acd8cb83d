"""What the replicas of a job do: pods, events, logs, and waits for a state of the job."""

import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from kubedl.client import scaling, waiting, watching
from kubedl.client.errors import Forbidden, Invalid, JobFailed, KubedlError, NotFound, WaitTimeout
from kubedl.client.job import Job
from kubedl.client.job_logs import JobLogs, Note
from kubedl.client.job_operations import JobOperations
from kubedl.client.kinds import JobKind
from kubedl.client.log_reader import LogOptions
from kubedl.client.log_sources import pods_of
from kubedl.client.replicas import LEADERS, Event, Replica, first_failure, replicas_of
from kubedl.kube.errors import ApiError
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import Record

if TYPE_CHECKING:
    from kubedl.client.job_follow import JobState

ALL = "all"


class ReplicaOperations(JobOperations):
    """Pods, events, logs and waits. Where a job is asked for, its name will do."""

    async def get_job_pods(
        self,
        name: str | Job,
        namespace: str | None = None,
        *,
        is_master: bool = False,
        replica_type: str | None = None,
        replica_index: int | None = None,
    ) -> list[Replica]:
        """Return the replicas of a job that have a pod, by role and index; or those of one role, or one of them."""
        job = await self._job(name, namespace)
        path, selection = pods_of(job)
        answer = await self._cluster.call("GET", path, f"list the pods of {job}", params=selection)
        roles = LEADERS if is_master else ((replica_type or "").lower(),)
        return [
            replica
            for replica in replicas_of(self._cluster.decode(answer, _PodList).items or ())
            if (not any(roles) or replica.role in roles) and replica_index in (None, replica.index)
        ]

    async def get_job_events(
        self, name: str | Job, replicas: Sequence[Replica] | None = None, *, namespace: str | None = None
    ) -> list[Event]:
        """Return what happened to a job and to these replicas, by default to all that have pods; oldest first.

        Servers keep events for about an hour.
        """
        job = await self._job(name, namespace)
        asked = await self.get_job_pods(job) if replicas is None else replicas
        path, wanted = f"/api/v1/namespaces/{job.namespace}/events", {one.pod.metadata.uid for one in asked}
        selections = [f"involvedObject.uid={job.uid}"] + (["involvedObject.kind=Pod"] if wanted else [])
        found: list[Event] = []
        for one in selections:
            answer = await self._cluster.call("GET", path, "list events", params={"fieldSelector": one})
            found += self._cluster.decode(answer, _EventList).items or ()
        found = [event for event in found if event.involved_object.uid in wanted | {job.uid}]
        return sorted(found, key=lambda event: event.time.timestamp() if event.time else 0.0)

    def get_job_logs(  # noqa: PLR0913 - the names of kubectl logs
        self,
        name: str,
        namespace: str | None = None,
        *,
        follow: bool = False,
        replicas: str | Collection[str] = ALL,
        tail: int | None = None,
        since: timedelta | None = None,
        previous: bool = False,
        wanted: Sequence[str] = (),
        options: LogOptions | None = None,
        on_note: Note = lambda _: None,
    ) -> JobLogs:
        """Return the lines of replicas, one replica after the other; nothing is read before they are taken.

        With `follow`, all replicas are read as they write: it waits for pods, survives breaks of the connection, and
        ends with the job. `replicas` are names such as worker-0, or roles. `on_note` is told what is between the lines:
        replicas without a log, waits, breaks. Raises NotFound when the lines are taken.
        """
        named = (replicas,) if isinstance(replicas, str) else tuple(replicas)
        seconds = int(since.total_seconds()) if since is not None else None
        chosen = options or LogOptions(tail=tail, since_seconds=seconds, previous=previous)
        asked = wanted or tuple(one for one in named if one != ALL)
        return JobLogs(self._cluster, name, namespace or self.namespace, asked, chosen, on_note, follow=follow)

    def follow_job_logs(
        self,
        name: str,
        namespace: str | None = None,
        *,
        wanted: Sequence[str] = (),
        options: LogOptions | None = None,
        on_note: Note = lambda _: None,
    ) -> JobLogs:
        """Return the lines of all replicas as they are written, until the job ends."""
        return self.get_job_logs(name, namespace, follow=True, wanted=wanted, options=options, on_note=on_note)

    async def wait_for_job_status(
        self,
        name: str,
        status: Collection[str] = ("complete",),
        *,
        namespace: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the server is asked to end the watch, too
        callbacks: Sequence[Callable[[Job], None]] = (),
    ) -> Job:
        """Wait for a state: complete, running, ready, deleted, or any condition. `callbacks` are told every change.

        `model` is reached when the image of the job's model exists. The job that is returned has the `result` of its
        function, if it ran one. Raises JobFailed if the job failed and nobody waits for that, or its model cannot be
        built, WaitTimeout, and NotFound if it was deleted.
        """
        kind, job = await self._find(name, namespace)
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        words = {word.lower() for word in status}
        async with aclosing(self._states(kind, job, lambda: deadline - time.monotonic())) as states:
            async for current in states:
                if current is None:
                    if waiting.DELETED in words:
                        return job
                    raise NotFound(f"{job} was deleted while it was waited for")
                job = current
                for callback in callbacks:
                    callback(job)
                if waiting.MODEL in words:
                    await self._check_model(job, lambda: deadline - time.monotonic())
                if waiting.is_reached(job, status):
                    return await self._reached(job)
                if waiting.is_hopeless(job, status):
                    raise await self.failure(job)
        raise WaitTimeout(
            f"{job.name} is not {' or '.join(status)} after {timeout:g} s: {job.state or 'no state yet'}",
            job,
            (f"kubedl get {job.name}",),
        )

    async def _check_model(self, job: Job, until: Callable[[], float]) -> None:
        """Wait for the image of a job that has succeeded; raises if there will be none."""
        from kubedl.client import model_waiting  # noqa: PLC0415 - few wait for it

        model_waiting.check(job)
        if waiting.is_reached(job, (waiting.MODEL,)):
            await model_waiting.wait_for_model(self._cluster, job, until)

    async def _reached(self, job: Job) -> Job:
        """Return a job that was waited for, with what else is known about its end."""
        return job

    async def _states(self, kind: JobKind, job: Job, until: Callable[[], float]) -> AsyncGenerator[Job | None, None]:
        """Yield a job at each change, and None when it is deleted."""
        selection, path = {"fieldSelector": f"metadata.name={job.name}"}, kind.path(job.namespace)
        try:
            async with aclosing(watching.changes(self._cluster.client, path, selection, until)) as changes:
                async for found in changes:
                    known = [Job.of({"kind": job.kind, **one}) for one in found]
                    yield next((one for one in known if one.uid == job.uid), None)
        except ApiError as error:
            raise self._cluster.failed(error, f"watch {job}") from error

    async def follow_job(
        self,
        name: str,
        *,
        namespace: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the server is asked to end the watches, too
        tick: float = 5.0,
    ) -> "AsyncGenerator[JobState, None]":
        """Yield a job with its pods at each change, and at least every `tick` seconds, until the time is over."""
        from kubedl.client.job_follow import follow  # noqa: PLC0415 - few commands ask

        kind, job = await self._find(name, namespace)
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        async with aclosing(follow(self._cluster, kind, job, lambda: deadline - time.monotonic(), tick)) as states:
            async for state in states:
                yield state

    async def failure(self, job: Job) -> JobFailed:
        """Return the error of a failed job, with the exit code of the replica that failed first."""
        try:
            first = first_failure(await self.get_job_pods(job))
        except KubedlError:  # the message of the job must do
            first = None
        steps = [f"kubedl get {job.name}"] + ([f"kubedl logs {job.name} -i {first[0].name}"] if first else [])
        return JobFailed(f"{job.name} failed: {job.message}", job, first[1] if first else None, tuple(steps))

    async def scale_job(
        self,
        name: str,
        *,
        workers: int,
        namespace: str | None = None,
        timeout: float | None = 300,  # noqa: ASYNC109 - as of a wait
    ) -> Job:
        """Change the number of workers; where a Master trains too, it is one of them.

        An elastic job is resized in place. Any other that runs is suspended, changed and resumed: its pods start anew.
        Raises WaitTimeout if they do not end.
        """
        kind, job = await self._find(name, namespace)
        change = scaling.change(job, workers)
        if scaling.is_in_place(job):
            return await self._patch(kind, job, {"spec": change})
        full = f"{kind.word}/{job.name}"
        await self._patch(kind, job, {"spec": {"suspend": True}})
        await self.wait_for_job_status(full, ("Suspended",), namespace=job.namespace, timeout=timeout)
        try:
            return await self._patch(kind, job, {"spec": {**change, "suspend": False}})
        except (Invalid, Forbidden):  # it goes on as it was
            with suppress(KubedlError):
                await self._patch(kind, job, {"spec": {"suspend": False}})
            raise

    async def _job(self, name: str | Job, namespace: str | None) -> Job:
        return name if isinstance(name, Job) else await self.get_job(name, namespace)


class _PodList(Record, frozen=True):
    items: tuple[Pod, ...] | None = ()


class _EventList(Record, frozen=True):
    items: tuple[Event, ...] | None = ()
