"""The client: all of its parts, for a cluster or for this machine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from kubedl.client.code_client import CodeClient

if TYPE_CHECKING:
    from kubedl.client.local_client import LocalClient
    from kubedl.why.evidence import Evidence
    from kubedl.why.fitting import Fit
    from kubedl.why.judging import Diagnosis


class TrainingClient(CodeClient):
    """Training jobs of one cluster. Threads may share a client; `with` closes it.

    A job is named by its name, by kind and name (`pytorch/bert`), or by the name of one of its pods. With
    `backend="local"`, jobs are processes of this machine.
    """

    def __new__(cls, *, backend: str = "kubernetes", **_: Any) -> Self:  # noqa: ANN401 - those of __init__
        """Return the client of the chosen backend."""
        return _local_client() if backend == "local" else super().__new__(cls)  # type: ignore[return-value]

    def why(self, name: str, *, namespace: str | None = None) -> "Diagnosis":
        """Return why an object waits, failed or is slow; `str()` of it is what `kubedl why` prints."""
        return self.explain(name, namespace=namespace)[1]

    def check_job(self, job: Mapping[str, Any], *, namespace: str | None = None) -> "Fit":
        """Return whether a job would start now, wait, or never start. Nothing is created.

        The server checks the manifest first: raises AlreadyExists, Invalid or Forbidden.
        """
        from kubedl.client.fit_check import check_fit  # noqa: PLC0415 - rules are not loaded by other commands

        return check_fit(self._cluster, self.create_job(job, namespace=namespace, dry_run=True))

    def explain(
        self, name: str, *, namespace: str | None = None, ask_all: bool = False
    ) -> "tuple[Evidence, Diagnosis]":
        """Return why an object waits, failed or is slow, with the evidence. Raises NotFound.

        The name may be that of a job, or of an Inference, ModelVersion or Cron, also as KIND/NAME.
        """
        from kubedl.client.explaining import explain  # noqa: PLC0415 - rules are not loaded by other commands

        return explain(self._cluster, name, namespace or self.namespace, ask_all=ask_all)


def _local_client() -> "LocalClient":
    from kubedl.client.local_client import LocalClient  # noqa: PLC0415 - commands need none

    return LocalClient()
