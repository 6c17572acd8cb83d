"""All operations of the client, as coroutines: what both clients have."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kubedl.client.code_operations import CodeOperations
from kubedl.client.job import Job
from kubedl.client.job_logs import JobLogs, Note
from kubedl.client.log_reader import LogOptions

if TYPE_CHECKING:
    from kubedl.client.applying import Applied
    from kubedl.client.job_view import JobView
    from kubedl.client.pruning import Prunable
    from kubedl.why.evidence import Evidence
    from kubedl.why.fitting import Fit
    from kubedl.why.judging import Diagnosis


class Operations(CodeOperations):
    """Training jobs of one cluster, as the caller."""

    async def apply(
        self,
        manifest: Mapping[str, Any],
        *,
        namespace: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> "Applied":
        """Create or change a job, a Cron, an Inference, a Model, a ModelVersion or a CacheBackend from its manifest.

        It is a server-side apply: fields that are not in the manifest stay as they are. Raises Conflict if others
        have set a field to something else, unless `force` takes it over, and Invalid with the server's reasons.
        """
        from kubedl.client.applying import apply  # noqa: PLC0415 - most commands need none

        place = namespace or manifest["metadata"].get("namespace") or self.namespace
        return await apply(self._cluster, manifest, place, force=force, dry_run=dry_run)

    async def create_free_job(
        self, manifests: Iterable[dict[str, Any]], *, dry_run: bool = False, strict: bool = False
    ) -> Job:
        """Create the first of these jobs whose name is free. Code that it mounts is given to it, too.

        With `strict`, the server refuses fields that it does not know.
        """
        from kubedl.client.rerunning import create_free  # noqa: PLC0415

        return await create_free(self, manifests, dry_run=dry_run, strict=strict)

    async def replace_job(self, job: Job, manifest: dict[str, Any]) -> Job:
        """Delete a job, and create another one of its name. Code that was sent with it is kept for the new one."""
        from kubedl.client.rerunning import replace  # noqa: PLC0415

        return await replace(self, job, manifest)

    async def prunable(
        self,
        *,
        older_than: timedelta,
        states: Collection[str] = ("succeeded", "failed"),
        selector: str | None = None,
        all_namespaces: bool = False,
    ) -> "list[Prunable]":
        """Return jobs that ended so long ago, and code that was sent for jobs which are gone."""
        from kubedl.client.pruning import find  # noqa: PLC0415

        return await find(
            self._cluster,
            self.namespace,
            now=datetime.now(UTC),
            older_than=older_than,
            states=states,
            selector=selector,
            all_namespaces=all_namespaces,
        )

    async def prune(self, one: "Prunable") -> bool:
        """Delete what `prunable` found; returns whether it was still there."""
        from kubedl.client.pruning import delete  # noqa: PLC0415

        return await delete(self._cluster, one)

    def service_logs(
        self,
        name: str,
        predictor: str = "",
        *,
        namespace: str | None = None,
        follow: bool = False,
        options: LogOptions | None = None,
        on_note: Note = lambda _: None,
    ) -> JobLogs:
        """Return the lines of a service's servers, or of one predictor's, one server after the other.

        With `follow`, they are read as they are written, also those of servers that come later, until the service is
        deleted. Raises NotFound when the lines are taken.
        """
        from kubedl.client.service_logs import ServiceLogs  # noqa: PLC0415

        wanted, place = (predictor,) if predictor else (), namespace or self.namespace
        return ServiceLogs(self._cluster, name, place, wanted, options or LogOptions(), on_note, follow=follow)

    async def check_job(self, job: Mapping[str, Any], *, namespace: str | None = None) -> "Fit":
        """Return whether a job would start now, wait, or never start. Nothing is created.

        The server checks the manifest first: raises AlreadyExists, Invalid or Forbidden.
        """
        from kubedl.client.fit_check import check_fit  # noqa: PLC0415 - rules are not loaded by other commands

        return await check_fit(self._cluster, await self.create_job(job, namespace=namespace, dry_run=True))

    async def why(self, name: str, *, namespace: str | None = None) -> "Diagnosis":
        """Return why an object waits, failed or is slow; `str()` of it is what `kubedl why` prints."""
        return (await self.explain(name, namespace=namespace))[1]

    async def explain(
        self, name: str, *, namespace: str | None = None, ask_all: bool = False
    ) -> "tuple[Evidence, Diagnosis]":
        """Return why an object waits, failed or is slow, with the evidence. Raises NotFound.

        The name may be that of a job, or of an Inference, ModelVersion or Cron, also as KIND/NAME. A job that was
        deleted is looked up in the history, if its database is named.
        """
        from kubedl.client.explaining import explain  # noqa: PLC0415 - rules are not loaded by other commands

        history = self.history if self._use_history else None
        return await explain(self._cluster, name, namespace or self.namespace, ask_all=ask_all, history=history)

    def watch(self, name: str, *, namespace: str | None = None) -> "JobView":
        """Return a job as a notebook shows it: phases, progress, replicas, and why it waits; it follows the job."""
        from kubedl.client.blocking import ThreadCalls  # noqa: PLC0415
        from kubedl.client.job_view import JobView  # noqa: PLC0415 - for notebooks only
        from kubedl.client.training_client import TrainingClient  # noqa: PLC0415

        calls = ThreadCalls(self._cluster.client.sync)
        return JobView(TrainingClient.over(Operations(calls, namespace or self.namespace, self.job_kind)), name)
