"""Objects beside jobs: models, services, crons, queues, nodes. As the API server has them, without types."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kubedl.client.blocking import blocking
from kubedl.client.errors import NotFound
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.kube.sync_client import NO_PARAMS

if TYPE_CHECKING:
    from kubedl.client.job_lookup import Cluster

Object = dict[str, Any]
MERGE = "application/merge-patch+json"
PAGE = 500


@dataclass(frozen=True)
class Resource:
    """A kind of objects and its address."""

    word: str  # as people read it
    plural: str
    group: str  # group and version; empty: the core
    namespaced: bool = True

    def path(self, namespace: str, name: str = "") -> str:
        """Return the URL path in a namespace (in all, if that is empty), or of one object."""
        root = f"/apis/{self.group}" if self.group else "/api/v1"
        place = f"{root}/namespaces/{namespace}" if self.namespaced and namespace else root
        return f"{place}/{self.plural}/{quote(name, safe='')}" if name else f"{place}/{self.plural}"


MODELS = Resource("model", "models", "model.kubedl.io/v1alpha1")
VERSIONS = Resource("model version", "modelversions", "model.kubedl.io/v1alpha1")
INFERENCES = Resource("service", "inferences", "serving.kubedl.io/v1alpha1")
CRONS = Resource("cron", "crons", "apps.kubedl.io/v1alpha1")
LOCAL_QUEUES = Resource("queue", "localqueues", "kueue.x-k8s.io/v1beta2")
CLUSTER_QUEUES = Resource("cluster queue", "clusterqueues", "kueue.x-k8s.io/v1beta2", namespaced=False)
WORKLOADS = Resource("workload", "workloads", "kueue.x-k8s.io/v1beta2")
NODES = Resource("node", "nodes", "", namespaced=False)
PODS = Resource("pod", "pods", "")
SERVICES = Resource("Service", "services", "")
LEASES = Resource("lease", "leases", "coordination.k8s.io/v1")
POD_METRICS = Resource("pod metrics", "pods", "metrics.k8s.io/v1beta1")


class ObjectOperations:
    """The objects of one namespace of a cluster, as the caller."""

    def __init__(self, cluster: "Cluster", namespace: str) -> None:
        self._cluster = cluster
        self.namespace = namespace

    async def list_all(
        self, resource: Resource, *, all_namespaces: bool = False, params: Mapping[str, str] | None = None
    ) -> list[Object]:
        """Return all objects, page by page."""
        query = {"limit": str(PAGE), **(params or {})}
        found: list[Object] = []
        while True:
            path = resource.path("" if all_namespaces else self.namespace)
            answer = await self._cluster.call("GET", path, f"list {resource.plural}", params=query)
            page = self._cluster.decode(answer, dict)
            found += page.get("items") or ()
            after = (page.get("metadata") or {}).get("continue")
            if not after:
                return found
            query["continue"] = after

    async def list_if_served(
        self, resource: Resource, *, all_namespaces: bool = False, params: Mapping[str, str] | None = None
    ) -> list[Object]:
        """Return all objects; none if the cluster does not know the kind."""
        try:
            return await self.list_all(resource, all_namespaces=all_namespaces, params=params)
        except NotFound:
            return []

    async def get(self, resource: Resource, name: str) -> Object:
        """Return one object; raises NotFound with the command that lists those that there are."""
        return await self._send("GET", resource, name, f"get {resource.word} {name}")

    async def get_if_there(self, resource: Resource, name: str) -> Object | None:
        """Return one object, or None."""
        try:
            return await self.get(resource, name)
        except NotFound:
            return None

    async def create(
        self, resource: Resource, body: Mapping[str, Any], *, dry_run: bool = False, strict: bool = False
    ) -> Object:
        """Create an object; with `dry_run`, only let the server check it, and with `strict`, fields too."""
        what = f"create {resource.word} {body['metadata']['name']}"
        params = ({"dryRun": "All"} if dry_run else {}) | ({"fieldValidation": "Strict"} if strict else {})
        return await self._send("POST", resource, "", what, body, params)

    async def patch(self, resource: Resource, name: str, change: Mapping[str, Any]) -> Object:
        """Change fields of an object (a merge patch)."""
        return await self._send("PATCH", resource, name, f"change {resource.word} {name}", change)

    async def delete(self, resource: Resource, name: str) -> None:
        """Delete an object, and what it owns."""
        await self._send(
            "DELETE", resource, name, f"delete {resource.word} {name}", {"propagationPolicy": "Background"}
        )

    async def _send(
        self,
        method: str,
        resource: Resource,
        name: str,
        what: str,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] = NO_PARAMS,
    ) -> Object:
        content, path = MERGE if method == "PATCH" else "application/json", resource.path(self.namespace, name)
        try:
            answer = await self._cluster.client.call(method, path, params=params, body=body, content=content)
        except NotFoundError as error:
            if not name:
                raise self._cluster.failed(error, what) from error
            raise NotFound(
                f"there is no {resource.word} called {name} in {self.namespace}",
                error.message,
                (
                    f"kubedl {LISTED[resource.plural]}"
                    if resource.plural in LISTED
                    else f"kubectl get {resource.plural}",
                ),
            ) from error
        except ApiError as error:
            raise self._cluster.failed(error, what) from error
        return self._cluster.decode(answer, dict)


class Objects:
    """The objects of one namespace of a cluster, as the caller: `ObjectOperations` without an event loop."""

    def __init__(self, operations: ObjectOperations) -> None:
        self._operations = operations

    @property
    def namespace(self) -> str:
        """Return the namespace."""
        return self._operations.namespace

    list_all = blocking(ObjectOperations.list_all)
    list_if_served = blocking(ObjectOperations.list_if_served)
    get = blocking(ObjectOperations.get)
    get_if_there = blocking(ObjectOperations.get_if_there)
    create = blocking(ObjectOperations.create)
    patch = blocking(ObjectOperations.patch)
    delete = blocking(ObjectOperations.delete)


# The command that lists objects, by their plural.
LISTED = {
    "models": "model list",
    "modelversions": "model list",
    "inferences": "serve list",
    "crons": "cron list",
    "localqueues": "queue list",
    "nodes": "top node",
}
