"""A connection to one cluster as the caller: who that is, what they may do, and what the cluster serves."""

from types import TracebackType
from typing import Any, Self

from kubedl.client.connection import connect
from kubedl.client.job_lookup import Cluster
from kubedl.client.kinds import JobKind
from kubedl.client.objects import Objects
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.kube.sync_client import OnCall
from kubedl.kube.sync_credentials import Overrides

_REVIEWS = "authentication.k8s.io/v1"
_ACCESS = "authorization.k8s.io/v1"


class ClusterClient:
    """One cluster. Threads may share a client; `with` closes it."""

    def __init__(
        self,
        *,
        namespace: str | None = None,
        config_file: str | None = None,
        context: str | None = None,
        request_timeout: float = 30.0,
        overrides: Overrides | None = None,
        on_call: OnCall = lambda *_: None,
        backend: str = "kubernetes",
    ) -> None:
        """Read the kubeconfig; `overrides` has everything else that kubectl's flags can say about a connection.

        `on_call` is told each request: method, path, result and seconds.
        """
        if backend != "kubernetes":
            raise ValueError(f"backend {backend!r} is neither kubernetes nor local")
        chosen = overrides or Overrides(kubeconfig=config_file or "", context=context or "")
        self._cluster = Cluster(connect(chosen, request_timeout, on_call))
        self.namespace = namespace or self._cluster.client.credentials.namespace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._cluster.client.close()

    @property
    def objects(self) -> Objects:
        """Return the other objects of the namespace: models, services, crons, queues."""
        return Objects(self._cluster, self.namespace)

    def objects_in(self, namespace: str) -> Objects:
        """Return the objects of another namespace."""
        return Objects(self._cluster, namespace)

    @property
    def server(self) -> str:
        """Return the address of the API server."""
        return self._cluster.client.credentials.server

    def kinds(self) -> tuple[JobKind, ...]:
        """Return the kinds of jobs that the cluster serves."""
        return self._cluster.kinds()

    def kind(self, name: str) -> JobKind:
        """Return the kind of jobs that a word means; raises NotFound with those that there are."""
        return self._cluster.kind(name)

    def server_version(self) -> str:
        """Return the version of the API server."""
        answer = self._cluster.call("GET", "/version", "ask for the version", params={})
        return str(self._cluster.decode(answer, dict).get("gitVersion", ""))

    def whoami(self) -> tuple[str, list[str]]:
        """Return the user and the groups that the server takes the caller for."""
        body = {"apiVersion": _REVIEWS, "kind": "SelfSubjectReview"}
        info = self._review(f"/apis/{_REVIEWS}/selfsubjectreviews", body, "ask who you are")["userInfo"]
        return str(info.get("username", "")), [str(group) for group in info.get("groups") or ()]

    def may(self, verb: str, group: str, resource: str) -> bool:
        """Return whether the caller may do this in the namespace."""
        name, _, part = resource.partition("/")
        wanted = {"namespace": self.namespace, "verb": verb, "group": group, "resource": name, "subresource": part}
        body = {"apiVersion": _ACCESS, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": wanted}}
        status = self._review(f"/apis/{_ACCESS}/selfsubjectaccessreviews", body, "ask for your rights")
        return bool(status.get("allowed"))

    def serves(self, group: str) -> bool:
        """Return whether the cluster serves an API group."""
        try:
            self._cluster.client.call("GET", f"/apis/{group}")
        except NotFoundError:
            return False
        except ApiError as error:
            raise self._cluster.failed(error, f"ask for {group}") from error
        return True

    def _review(self, path: str, body: dict[str, Any], what: str) -> dict[str, Any]:
        try:
            answer = self._cluster.client.call("POST", path, body=body)
        except ApiError as error:
            raise self._cluster.failed(error, what) from error
        found: dict[str, Any] = self._cluster.decode(answer, dict)["status"]
        return found
