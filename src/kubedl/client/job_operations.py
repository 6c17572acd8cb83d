"""Training jobs of one cluster, as the caller: list, get, create, change, delete."""

from collections.abc import AsyncGenerator, Collection, Mapping
from typing import Any

from kubedl.client import errors, job_list
from kubedl.client.cluster_operations import ClusterOperations
from kubedl.client.errors import AlreadyExists, Conflict, NotFound
from kubedl.client.job import Job, JobSummary
from kubedl.client.job_list import JobChange, JobSelection
from kubedl.client.kinds import JobKind
from kubedl.client.objects import MERGE
from kubedl.kube.errors import AlreadyExistsError, ApiError, ConflictError

UPDATES = 5  # tries, while the operator writes the status


class JobOperations(ClusterOperations):
    """Training jobs of one cluster.

    A job is named by its name, by kind and name (`pytorch/bert`), or by the name of one of its pods.
    """

    async def list_jobs(  # noqa: PLR0913 - a filter each
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
        wanted = JobSelection(place, job_kind, states, queue, user, selector)
        return (await job_list.list_jobs(self._cluster, wanted))[:limit]

    async def select_jobs(self, wanted: JobSelection) -> list[JobSummary]:
        """Return the jobs of a selection, newest first."""
        return await job_list.list_jobs(self._cluster, wanted)

    def watch_jobs(self, wanted: JobSelection) -> AsyncGenerator[list[JobChange], None]:
        """Yield the jobs that there are, and then each change of a row; it goes on for ever."""
        return job_list.watch_jobs(self._cluster, wanted)

    async def get_nodes_of_jobs(
        self, *, namespace: str | None = None, all_namespaces: bool = False
    ) -> dict[str, list[str]]:
        """Return on which nodes the pods of each job are, by its uid."""
        from kubedl.client.job_nodes import nodes_of_jobs  # noqa: PLC0415 - few commands ask

        return await nodes_of_jobs(self._cluster, "" if all_namespaces else namespace or self.namespace)

    async def get_job(self, name: str, namespace: str | None = None, job_kind: str | None = None) -> Job:
        """Return one job of any kind; one that was deleted from the history, if it is known here (`job.gone`).

        Raises NotFound, or Ambiguous if jobs of several kinds have the name.
        """
        try:
            return (await self._find(name, namespace, job_kind))[1]
        except NotFound:
            if (
                self._use_history
                and (gone := await self._gone(name, namespace or self.namespace, job_kind)) is not None
            ):
                return gone
            raise

    async def _gone(self, name: str, namespace: str, job_kind: str | None) -> Job | None:
        from kubedl.client.gone_jobs import find_gone  # noqa: PLC0415 - jobs are seldom gone

        word, _, plain = name.rpartition("/")
        word = word or job_kind or ""
        kind = (await self._cluster.kind(word)).kind if word else ""
        return await find_gone(self.history, plain, namespace, kind)

    async def _find(self, name: str, namespace: str | None, job_kind: str | None = None) -> tuple[JobKind, Job]:
        full = f"{job_kind}/{name}" if job_kind and "/" not in name else name
        return await self._cluster.find(full, namespace or self.namespace)

    async def create_manifest(
        self, job: Mapping[str, Any], namespace: str | None = None, *, dry_run: bool, strict: bool = False
    ) -> Job:
        """Create a job from its manifest. Raises AlreadyExists, Invalid or Forbidden.

        With `strict`, the server refuses fields that it does not know, and keys that are given twice.
        """
        place = namespace or job["metadata"].get("namespace") or self.namespace
        kind, name = await self._cluster.kind(job["kind"]), job["metadata"]["name"]
        params = ({"dryRun": "All"} if dry_run else {}) | ({"fieldValidation": "Strict"} if strict else {})
        try:
            answer = await self._cluster.client.call("POST", kind.path(place), params=params, body=job)
        except AlreadyExistsError as error:
            raise await self._taken(kind, name, place) from error
        except ApiError as error:
            raise self._cluster.failed(error, f"create {job['kind'].lower()}/{name}") from error
        return Job.of(self._cluster.decode(answer, dict))

    async def delete_job(
        self, name: str, namespace: str | None = None, job_kind: str | None = None, *, uid: str | None = None
    ) -> Job:
        """Delete a job, and with it its pods. Returns its last state.

        With `uid`, only that job: raises Conflict if another one has its name now.
        """
        kind, job = await self._find(name, namespace, job_kind)
        _check_uid(job, uid)
        body = {"propagationPolicy": "Background", "preconditions": {"uid": job.uid}}
        try:
            await self._cluster.client.call("DELETE", kind.path(job.namespace, job.name), body=body)
        except ApiError as error:
            raise self._cluster.failed(error, f"delete {job}") from error
        return job

    async def suspend_job(self, name: str, *, namespace: str | None = None, uid: str | None = None) -> Job:
        """Delete the pods of a job and keep the job. With `uid`, raises Conflict if another one has its name now."""
        return await self._change(name, namespace, {"spec": {"suspend": True}}, uid)

    async def resume_job(self, name: str, *, namespace: str | None = None, uid: str | None = None) -> Job:
        """Start a suspended job. With `uid`, raises Conflict if another one has its name now."""
        return await self._change(name, namespace, {"spec": {"suspend": False}}, uid)

    async def update_job(self, job: Job | Mapping[str, Any]) -> Job:
        """Replace spec, labels and annotations of a job by those of a copy that was read and changed.

        Raises Conflict if somebody else changed the spec since it was read; changes of the status do not matter.
        """
        wanted = job.manifest if isinstance(job, Job) else job
        metadata = known = wanted["metadata"]
        own = {name: metadata[name] for name in ("labels", "annotations") if name in metadata}
        for left in reversed(range(UPDATES)):
            kind, current = await self._find(metadata["name"], metadata.get("namespace"), wanted["kind"])
            _check_unchanged(known, current)
            known = current.metadata
            body = {**current.manifest, "metadata": {**current.metadata, **own}, "spec": wanted["spec"]}
            try:
                answer = await self._cluster.client.call("PUT", kind.path(current.namespace, current.name), body=body)
                return Job.of(self._cluster.decode(answer, dict))
            except ApiError as error:
                # The status may have been written since: then what is read again has the same generation.
                if not (left and isinstance(error, ConflictError)):
                    raise self._cluster.failed(error, f"change {current}") from error
        raise AssertionError("unreachable")

    async def _change(self, name: str, namespace: str | None, change: Mapping[str, Any], uid: str | None = None) -> Job:
        kind, job = await self._find(name, namespace)
        _check_uid(job, uid)
        return await self._patch(kind, job, change)

    async def _patch(self, kind: JobKind, job: Job, change: Mapping[str, Any]) -> Job:
        body = {"metadata": {"uid": job.uid}, **change}
        try:
            answer = await self._cluster.client.call(
                "PATCH", kind.path(job.namespace, job.name), body=body, content=MERGE
            )
        except ApiError as error:
            raise self._cluster.failed(error, f"change {job}") from error
        return Job.of(self._cluster.decode(answer, dict))

    async def _taken(self, kind: JobKind, name: str, namespace: str) -> AlreadyExists:
        try:
            job = Job.of(self._cluster.decode(await self._cluster.client.call("GET", kind.path(namespace, name)), dict))
            state = f", {job.state}" if job.state else ""
        except ApiError:
            state = ""
        return errors.AlreadyExists(
            f"{name} is taken: {kind.kind} in {namespace}{state}",
            "a name is free again when its job is deleted",
            (f"--name {name}-2", f"kubedl get {name}", f"kubedl delete {name}"),
        )


def _check_unchanged(known: Mapping[str, Any], current: Job) -> None:
    """Refuse a job that is another one, or has another spec, than what is known of it."""
    for name in ("uid", "generation"):
        if known.get(name) not in (None, current.metadata.get(name)):
            why = "somebody changed it since it was read" if name == "generation" else "it is another job"
            raise Conflict(f"{current} is not changed", why, ("read it again, and change that",))


def _check_uid(job: Job, uid: str | None) -> None:
    """Refuse a job that came after the one that is meant."""
    if uid not in (None, job.uid):
        raise Conflict(f"{job} is not changed", "it is another job of the same name", ("look at it again",))
