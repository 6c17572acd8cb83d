"""The client: all of its parts, for a cluster or for this machine."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Self

from kubedl.client.code_client import CodeClient

if TYPE_CHECKING:
    from datetime import timedelta

    from kubedl.client.applying import Applied
    from kubedl.client.local_client import LocalClient
    from kubedl.client.pruning import Prunable
    from kubedl.client.service_logs import ServiceLogs
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

    def apply(
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
        return apply(self._cluster, manifest, place, force=force, dry_run=dry_run)

    def prunable(
        self,
        *,
        older_than: "timedelta",
        states: Collection[str] = ("succeeded", "failed"),
        selector: str | None = None,
        all_namespaces: bool = False,
    ) -> "list[Prunable]":
        """Return jobs that ended so long ago, and code that was sent for jobs which are gone."""
        from datetime import UTC, datetime  # noqa: PLC0415

        from kubedl.client.pruning import find  # noqa: PLC0415

        return find(
            self._cluster,
            self.namespace,
            now=datetime.now(UTC),
            older_than=older_than,
            states=states,
            selector=selector,
            all_namespaces=all_namespaces,
        )

    def prune(self, one: "Prunable") -> bool:
        """Delete what `prunable` found; returns whether it was still there."""
        from kubedl.client.pruning import delete  # noqa: PLC0415

        return delete(self._cluster, one)

    def service_logs(self, name: str, predictor: str = "", *, namespace: str | None = None) -> "ServiceLogs":
        """Return the logs of a service's servers, to read or to follow. Raises NotFound."""
        from kubedl.client.service_logs import ServiceLogs  # noqa: PLC0415

        return ServiceLogs(self._cluster, namespace or self.namespace, name, predictor)

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
