"""Training jobs of one cluster, as the caller: list, get, create, change, delete, logs, waits."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubedl.client import errors, job_list, job_lookup, log_reader, scaling, waiting, watching
from kubedl.client.cluster_client import ClusterClient
from kubedl.client.errors import AlreadyExists, JobFailed, KubedlError, NotFound, WaitTimeout
from kubedl.client.job import Job, JobSummary
from kubedl.client.job_list import JobChange, JobSelection
from kubedl.client.kinds import JobKind
from kubedl.client.log_follower import LogFollower
from kubedl.client.log_line import LogLine
from kubedl.client.log_reader import LogOptions
from kubedl.client.log_sources import pods_of, replica_name
from kubedl.client.objects import MERGE
from kubedl.client.replicas import Event, Replica, first_failure, replicas_of
from kubedl.kube.errors import AlreadyExistsError, ApiError, InvalidError
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import Record

if TYPE_CHECKING:
    from kubedl.client.job_follow import JobState


class JobClient(ClusterClient):
    """Training jobs of one cluster. Threads may share a client; `with` closes it.

    A job is named by its name, by kind and name (`pytorch/bert`), or by the name of one of its pods.
    """

    def list_jobs(  # noqa: PLR0913 - a filter each
        self,
        *,
        namespace: str | None = None,
        all_namespaces: bool = False,
        job_kind: str | None = None,
        states: Collection[str] = (),
        queue: str | None = None,
        user: str | None = None,
        selector: str | None = None,
        limit: int | None = None,
    ) -> list[JobSummary]:
        """Return jobs of all kinds, or of one, newest first. They come from the server's own tables."""
        place = "" if all_namespaces else namespace or self.namespace
        wanted = job_list.JobSelection(place, job_kind, states, queue, user, selector)
        return job_list.list_jobs(self._cluster, wanted)[:limit]

    def select_jobs(self, wanted: JobSelection) -> list[JobSummary]:
        """Return the jobs of a selection, newest first."""
        return job_list.list_jobs(self._cluster, wanted)

    def watch_jobs(self, wanted: JobSelection) -> Iterator[list[JobChange]]:
        """Yield the jobs that there are, and then each change of a row; it goes on for ever."""
        return job_list.watch_jobs(self._cluster, wanted)

    def get_nodes_of_jobs(self, *, namespace: str | None = None, all_namespaces: bool = False) -> dict[str, list[str]]:
        """Return on which nodes the pods of each job are, by its uid."""
        from kubedl.client.job_nodes import nodes_of_jobs  # noqa: PLC0415 - few commands ask

        return nodes_of_jobs(self._cluster, "" if all_namespaces else namespace or self.namespace)

    def get_job(self, name: str, *, namespace: str | None = None) -> Job:
        """Return one job of any kind. Raises NotFound, or Ambiguous if jobs of several kinds have the name."""
        return self._cluster.find(name, namespace or self.namespace)[1]

    def create_job(self, job: Mapping[str, Any], *, namespace: str | None = None, dry_run: bool = False) -> Job:
        """Create a job from its manifest. Raises AlreadyExists, Invalid or Forbidden."""
        place = namespace or job["metadata"].get("namespace") or self.namespace
        kind, name = self._cluster.kind(job["kind"]), job["metadata"]["name"]
        params = {"dryRun": "All"} if dry_run else {}
        try:
            answer = self._cluster.client.call("POST", kind.path(place), params=params, body=job)
        except AlreadyExistsError as error:
            raise self._taken(kind, name, place) from error
        except ApiError as error:
            raise self._cluster.failed(error, f"create {job['kind'].lower()}/{name}") from error
        return Job.of(self._cluster.decode(answer, dict))

    def delete_job(self, name: str, *, namespace: str | None = None) -> Job:
        """Delete a job, and with it its pods. Returns its last state."""
        kind, job = self._cluster.find(name, namespace or self.namespace)
        body = {"propagationPolicy": "Background", "preconditions": {"uid": job.uid}}
        try:
            self._cluster.client.call("DELETE", kind.path(job.namespace, job.name), body=body)
        except ApiError as error:
            raise self._cluster.failed(error, f"delete {job}") from error
        return job

    def suspend_job(self, name: str, *, namespace: str | None = None) -> Job:
        """Delete the pods of a job and keep the job."""
        return self._change(name, namespace, {"spec": {"suspend": True}})

    def resume_job(self, name: str, *, namespace: str | None = None) -> Job:
        """Start a suspended job."""
        return self._change(name, namespace, {"spec": {"suspend": False}})

    def scale_job(self, name: str, *, workers: int, namespace: str | None = None, timeout: float | None = 300) -> Job:
        """Change the number of workers; where a Master trains too, it is one of them.

        A job that runs is suspended, changed and resumed: its pods start anew. Raises WaitTimeout if they do not end.
        """
        kind, job = self._cluster.find(name, namespace or self.namespace)
        change = scaling.change(job, workers)
        if job.spec.get("suspend") or job.is_finished:
            return self._patch(kind, job, {"spec": change})
        full = f"{kind.word}/{job.name}"
        self._patch(kind, job, {"spec": {"suspend": True}})
        self.wait_for_job_status(full, ("Suspended",), namespace=job.namespace, timeout=timeout)
        return self._patch(kind, job, {"spec": {**change, "suspend": False}})

    def _change(self, name: str, namespace: str | None, change: Mapping[str, Any]) -> Job:
        kind, job = self._cluster.find(name, namespace or self.namespace)
        return self._patch(kind, job, change)

    def _patch(self, kind: JobKind, job: Job, change: Mapping[str, Any]) -> Job:
        body = {"metadata": {"uid": job.uid}, **change}
        try:
            answer = self._cluster.client.call("PATCH", kind.path(job.namespace, job.name), body=body, content=MERGE)
        except ApiError as error:
            raise self._cluster.failed(error, f"change {job}") from error
        return Job.of(self._cluster.decode(answer, dict))

    def get_job_pods(self, job: Job) -> list[Replica]:
        """Return the replicas of a job that have a pod, by role and index."""
        path, selection = pods_of(job)
        answer = self._cluster.call("GET", path, f"list the pods of {job}", params=selection)
        return replicas_of(self._cluster.decode(answer, _PodList).items or ())

    def get_job_events(self, job: Job, replicas: Sequence[Replica] = ()) -> list[Event]:
        """Return what happened to a job and to these replicas, oldest first. Servers keep events for about an hour."""
        path, wanted = f"/api/v1/namespaces/{job.namespace}/events", {one.pod.metadata.uid for one in replicas}
        selections = [f"involvedObject.uid={job.uid}"] + (["involvedObject.kind=Pod"] if wanted else [])
        answers = [self._cluster.call("GET", path, "list events", params={"fieldSelector": one}) for one in selections]
        found = [event for answer in answers for event in self._cluster.decode(answer, _EventList).items or ()]
        found = [event for event in found if event.involved_object.uid in wanted | {job.uid}]
        return sorted(found, key=lambda event: event.time.timestamp() if event.time else 0.0)

    def get_job_logs(
        self,
        name: str,
        *,
        namespace: str | None = None,
        wanted: Sequence[str] = (),
        options: LogOptions | None = None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> Iterator[LogLine]:
        """Yield the lines of replicas, one replica after the other; of all, if none is wanted by name.

        `on_note` is told which replicas have no log, because their container has not started.
        """
        job = self.get_job(name, namespace=namespace)
        chosen = options or LogOptions()
        path, selection = pods_of(job)
        answer = self._cluster.decode(
            self._cluster.call("GET", path, f"list the pods of {job}", params=selection), dict
        )
        pods = [pod for pod in answer.get("items") or () if job_lookup.is_wanted(replica_name(pod), name, wanted, job)]
        if not pods:
            raise job_lookup.no_pods(job, wanted)
        for pod in sorted(pods, key=_by_role_and_index):
            container = log_reader.container_of(pod, chosen.container)
            try:
                yield from log_reader.read(self._cluster.client, pod, replica_name(pod), container, chosen.params())
            except InvalidError as error:
                on_note(error.message)
            except ApiError as error:
                raise self._cluster.failed(error, f"read the log of {pod['metadata']['name']}") from error

    def follow_job_logs(
        self,
        name: str,
        *,
        namespace: str | None = None,
        wanted: Sequence[str] = (),
        options: LogOptions | None = None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> LogFollower:
        """Return the lines of all replicas as they are written, until the job ends. `on_note` is told what goes on."""
        kind, job = self._cluster.find(name, namespace or self.namespace)

        def wants(replica: str) -> bool:
            return job_lookup.is_wanted(replica, name, wanted, job)

        path = kind.path(job.namespace)
        return LogFollower(self._cluster.client, job, path, wants, options or LogOptions(), on_note)

    def wait_for_job_status(
        self,
        name: str,
        status: Collection[str] = ("complete",),
        *,
        namespace: str | None = None,
        timeout: float | None = None,
        callbacks: Sequence[Callable[[Job], None]] = (),
    ) -> Job:
        """Wait for a state: complete, running, ready, deleted, or any condition. `callbacks` are told every change.

        Raises JobFailed if the job failed and nobody waits for that, WaitTimeout, and NotFound if it was deleted.
        """
        kind, job = self._cluster.find(name, namespace or self.namespace)
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        selection = {"fieldSelector": f"metadata.name={job.name}"}
        try:
            for found in watching.changes(
                self._cluster.client, kind.path(job.namespace), selection, lambda: deadline - time.monotonic()
            ):
                known = [Job.of({"kind": job.kind, **one}) for one in found]
                current = next((one for one in known if one.uid == job.uid), None)
                if current is None:
                    if waiting.DELETED in status:
                        return job
                    raise NotFound(f"{job} was deleted while it was waited for")
                job = current
                for callback in callbacks:
                    callback(job)
                if waiting.is_reached(job, status):
                    return job
                if waiting.is_hopeless(job, status):
                    raise self.failure(job)
        except ApiError as error:
            raise self._cluster.failed(error, f"watch {job}") from error
        raise WaitTimeout(
            f"{job.name} is not {' or '.join(status)} after {timeout:g} s: {job.state or 'no state yet'}",
            job,
            (f"kubedl get {job.name}",),
        )

    def follow_job(self, name: str, *, timeout: float | None = None, tick: float = 5.0) -> "Iterator[JobState]":
        """Yield a job with its pods at each change, and at least every `tick` seconds, until the time is over."""
        from kubedl.client.job_follow import follow  # noqa: PLC0415 - few commands ask

        kind, job = self._cluster.find(name, self.namespace)
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        return follow(self._cluster, kind, job, lambda: deadline - time.monotonic(), tick)

    def failure(self, job: Job) -> JobFailed:
        """Return the error of a failed job, with the exit code of the replica that failed first."""
        try:
            first = first_failure(self.get_job_pods(job))
        except KubedlError:  # the message of the job must do
            first = None
        steps = [f"kubedl get {job.name}"] + ([f"kubedl logs {job.name} -i {first[0].name}"] if first else [])
        return JobFailed(f"{job.name} failed: {job.message}", job, first[1] if first else None, tuple(steps))

    def _taken(self, kind: JobKind, name: str, namespace: str) -> AlreadyExists:
        try:
            job = Job.of(self._cluster.decode(self._cluster.client.call("GET", kind.path(namespace, name)), dict))
            state = f", {job.state}" if job.state else ""
        except ApiError:
            state = ""
        return errors.AlreadyExists(
            f"{name} is taken: {kind.kind} in {namespace}{state}",
            "a name is free again when its job is deleted",
            (f"--name {name}-2", f"kubedl get {name}", f"kubedl delete {name}"),
        )


class _PodList(Record, frozen=True):
    items: tuple[Pod, ...] | None = ()


class _EventList(Record, frozen=True):
    items: tuple[Event, ...] | None = ()


def _by_role_and_index(pod: Mapping[str, Any]) -> tuple[str, int]:
    role, _, index = replica_name(pod).rpartition("-")
    return role, int(index) if index.isdecimal() else 0
