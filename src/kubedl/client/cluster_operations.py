"""A connection to one cluster as the caller: who that is, what they may do, and what the cluster serves."""

from typing import TYPE_CHECKING, Any

from kubedl.client.calls import Calls
from kubedl.client.job_lookup import Cluster
from kubedl.client.kinds import JobKind
from kubedl.client.objects import ObjectOperations
from kubedl.kube.errors import ApiError, NotFoundError

if TYPE_CHECKING:
    from kubedl.client.crons import CronOperations
    from kubedl.client.history_database import HistoryDatabase
    from kubedl.client.history_operations import HistoryOperations
    from kubedl.client.models import ModelOperations
    from kubedl.client.queues import QueueOperations
    from kubedl.client.services import ServiceOperations

_REVIEWS = "authentication.k8s.io/v1"
_ACCESS = "authorization.k8s.io/v1"


class ClusterOperations:
    """One cluster, and the namespace in which names are looked up."""

    def __init__(
        self,
        calls: Calls,
        namespace: str | None = None,
        job_kind: str = "PyTorchJob",
        *,
        use_history: bool = False,
        history_database: "HistoryDatabase | None" = None,
        kinds: tuple[JobKind, ...] = (),
    ) -> None:
        """`job_kind` is the kind of jobs that are made from functions, unless one is named.

        `kinds` are kinds of jobs that the server is known to have; without any, it is asked.
        """
        self._cluster = Cluster(calls, kinds)
        self.namespace = namespace or calls.credentials.namespace
        self.job_kind = job_kind
        self._use_history = use_history
        self._history_database = history_database

    async def close(self) -> None:
        """Close the connections."""
        await self._cluster.client.close()

    @property
    def objects(self) -> ObjectOperations:
        """Return all objects of the namespace that are no jobs, as the server has them."""
        return ObjectOperations(self._cluster, self.namespace)

    def objects_in(self, namespace: str) -> ObjectOperations:
        """Return the objects of another namespace."""
        return ObjectOperations(self._cluster, namespace)

    @property
    def models(self) -> "ModelOperations":
        """Return the models of the namespace, with their versions."""
        from kubedl.client.models import ModelOperations  # noqa: PLC0415 - commands about jobs need none

        return ModelOperations(self._cluster, self.namespace)

    @property
    def services(self) -> "ServiceOperations":
        """Return the services of the namespace, with their predictors."""
        from kubedl.client.services import ServiceOperations  # noqa: PLC0415 - commands about jobs need none

        return ServiceOperations(self._cluster, self.namespace)

    @property
    def crons(self) -> "CronOperations":
        """Return the crons of the namespace."""
        from kubedl.client.crons import CronOperations  # noqa: PLC0415 - commands about jobs need none

        return CronOperations(self._cluster, self.namespace)

    @property
    def queues(self) -> "QueueOperations":
        """Return the queues of the namespace, with those who are in them."""
        from kubedl.client.queues import QueueOperations  # noqa: PLC0415 - commands about jobs need none

        return QueueOperations(self._cluster, self.namespace)

    @property
    def history(self) -> "HistoryOperations":
        """Return the jobs that ended or were deleted, from the database of the recorder."""
        from kubedl.client.history_database import HistoryDatabase  # noqa: PLC0415
        from kubedl.client.history_operations import HistoryOperations  # noqa: PLC0415

        database = self._history_database or HistoryDatabase()
        return HistoryOperations(self._cluster.client.in_thread, database, self.namespace)

    @property
    def server(self) -> str:
        """Return the address of the API server."""
        return self._cluster.client.credentials.server

    async def kinds(self) -> tuple[JobKind, ...]:
        """Return the kinds of jobs that the cluster serves."""
        return await self._cluster.kinds()

    async def kind(self, name: str) -> JobKind:
        """Return the kind of jobs that a word means; raises NotFound with those that there are."""
        return await self._cluster.kind(name)

    async def server_version(self) -> str:
        """Return the version of the API server."""
        answer = await self._cluster.call("GET", "/version", "ask for the version", params={})
        return str(self._cluster.decode(answer, dict).get("gitVersion", ""))

    async def whoami(self) -> tuple[str, list[str]]:
        """Return the user and the groups that the server takes the caller for."""
        body = {"apiVersion": _REVIEWS, "kind": "SelfSubjectReview"}
        info = (await self._review(f"/apis/{_REVIEWS}/selfsubjectreviews", body, "ask who you are"))["userInfo"]
        return str(info.get("username", "")), [str(group) for group in info.get("groups") or ()]

    async def may(self, verb: str, group: str, resource: str) -> bool:
        """Return whether the caller may do this in the namespace."""
        name, _, part = resource.partition("/")
        wanted = {"namespace": self.namespace, "verb": verb, "group": group, "resource": name, "subresource": part}
        body = {"apiVersion": _ACCESS, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": wanted}}
        status = await self._review(f"/apis/{_ACCESS}/selfsubjectaccessreviews", body, "ask for your rights")
        return bool(status.get("allowed"))

    async def serves(self, group: str) -> bool:
        """Return whether the cluster serves an API group."""
        try:
            await self._cluster.client.call("GET", f"/apis/{group}")
        except NotFoundError:
            return False
        except ApiError as error:
            raise self._cluster.failed(error, f"ask for {group}") from error
        return True

    async def _review(self, path: str, body: dict[str, Any], what: str) -> dict[str, Any]:
        try:
            answer = await self._cluster.client.call("POST", path, body=body)
        except ApiError as error:
            raise self._cluster.failed(error, what) from error
        found: dict[str, Any] = self._cluster.decode(answer, dict)["status"]
        return found
