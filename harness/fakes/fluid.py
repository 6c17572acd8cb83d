"""Fluid, played by a test: what its controllers would write."""

from harness.fakes.third_party_crds import ForeignKinds
from harness.scenarios.driver import ScenarioDriver
from testbed.api import ApiError, Object

GROUP = "data.fluid.io"
KINDS = ("datasets", "alluxioruntimes", "juicefsruntimes")
CACHES = "cachebackends"
FLUID = ForeignKinds(
    "github.com/fluid-cloudnative/fluid@v1.0.8", "h1:sZEOFWo5N8r+RyyD9PyLB3GgjergRR4yKspn64dltS8=", GROUP, KINDS
)


class PlayedFluid:
    """What Fluid does for one backend."""

    def __init__(self, world: ScenarioDriver, name: str) -> None:
        self._world, self._name = world, name
        self._server = world.watcher.connection
        self._place = f"/apis/{GROUP}/v1alpha1/namespaces/{world.namespace}"
        self._claims = f"/api/v1/namespaces/{world.namespace}/persistentvolumeclaims"

    def bind(self) -> None:
        """The data is there: wait for what Fluid needs, and say so."""
        for kind in KINDS[:2]:
            self._world.until(f"{kind} {self._name}", lambda kind=kind: self.get(kind))  # type: ignore[misc]
        status = {"status": {"phase": "Bound", "conditions": []}}
        self._server.patch(f"{self._place}/datasets/{self._name}/status", status)

    def claim(self) -> None:
        """Pods can mount it."""
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": self._name, "annotations": {"CreatedBy": "fluid"}},
            "spec": {
                "accessModes": ["ReadOnlyMany"],
                "storageClassName": "fluid",
                "resources": {"requests": {"storage": "100Pi"}},
            },
        }
        self._server.create(self._claims, body)

    def lose(self, kind: str) -> None:
        """Somebody deletes an object of Fluid's."""
        self._server.delete(f"{self._place}/{kind}/{self._name}")

    def get(self, kind: str) -> Object | None:
        """An object of Fluid's, if it is there."""
        try:
            return self._server.get(f"{self._place}/{kind}/{self._name}")
        except ApiError:
            return None

    def until_cache(self, **status: object) -> None:
        """Wait until the backend's status says so."""
        self._world.until(f"{self._name}: a status with {status}", lambda: status.items() <= self._status().items())

    def until_gone(self) -> None:
        """Wait until the backend is no more."""
        self._world.until(f"{self._name} to be gone", lambda: self._backend() is None)

    def _backend(self) -> Object | None:
        return self._world.watcher.get(CACHES, self._world.namespace, self._name)

    def _status(self) -> Object:
        status: Object = (self._backend() or {}).get("status") or {}
        return status
