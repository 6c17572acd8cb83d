"""Fluid, played by a test: its kinds as its own module ships them, and what its controllers would write.

The module comes from the Go module proxy, checked by its sum, and is never part of this repository.
"""

import json
from functools import cache
from pathlib import Path

from harness.world import World
from testbed.api import ApiError, Object
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.shell import run

MODULE = "github.com/fluid-cloudnative/fluid@v1.0.8"
SUM = "h1:sZEOFWo5N8r+RyyD9PyLB3GgjergRR4yKspn64dltS8="
GROUP = "data.fluid.io"
KINDS = ("datasets", "alluxioruntimes", "juicefsruntimes")
CACHES = "cachebackends"


@cache
def definitions() -> tuple[Path, ...]:
    """The files that define the kinds which we make."""
    answer = json.loads(run("go", "mod", "download", "-json", MODULE, timeout=600))
    if answer["Sum"] != SUM:
        raise TestbedError(f"{MODULE} is not what it was")
    return tuple(Path(answer["Dir"]) / "config" / "crd" / "bases" / f"{GROUP}_{kind}.yaml" for kind in KINDS)


def install(cluster: Cluster) -> None:
    """Let the API server know Fluid's kinds; nobody acts on them."""
    for file in definitions():
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(file))
    names = [f"crd/{kind}.{GROUP}" for kind in KINDS]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)


class PlayedFluid:
    """What Fluid does for one backend."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self._name = world, name
        self._server = world.sightings.connection
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
        return self._world.sightings.get(CACHES, self._world.namespace, self._name)

    def _status(self) -> Object:
        status: Object = (self._backend() or {}).get("status") or {}
        return status
