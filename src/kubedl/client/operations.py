"""All operations of the client, as coroutines: what both clients have."""

from typing import TYPE_CHECKING

from kubedl.client.code_operations import CodeOperations

if TYPE_CHECKING:
    from kubedl.client.job_view import JobView
    from kubedl.why.evidence import Evidence
    from kubedl.why.judging import Diagnosis


class Operations(CodeOperations):
    """Training jobs of one cluster, as the caller."""

    async def why(self, name: str, *, namespace: str | None = None) -> "Diagnosis":
        """Return why an object waits, failed or is slow; `str()` of it is what `kubedl why` prints."""
        return (await self.explain(name, namespace=namespace))[1]

    async def explain(
        self, name: str, *, namespace: str | None = None, ask_all: bool = False
    ) -> "tuple[Evidence, Diagnosis]":
        """Return why an object waits, failed or is slow, with the evidence. Raises NotFound.

        The name may be that of a job, or of an Inference, ModelVersion or Cron, also as KIND/NAME.
        """
        from kubedl.client.explaining import explain  # noqa: PLC0415 - rules are not loaded by other commands

        return await explain(self._cluster, name, namespace or self.namespace, ask_all=ask_all)

    def watch(self, name: str, *, namespace: str | None = None) -> "JobView":
        """Return a job as a notebook shows it: phases, progress, replicas, and why it waits; it follows the job."""
        from kubedl.client.blocking import ThreadCalls  # noqa: PLC0415
        from kubedl.client.job_view import JobView  # noqa: PLC0415 - for notebooks only
        from kubedl.client.training_client import TrainingClient  # noqa: PLC0415

        calls = ThreadCalls(self._cluster.client.sync)
        return JobView(TrainingClient.over(Operations(calls, namespace or self.namespace, self.job_kind)), name)
