"""OpenKruise, played by a test: its ImagePullJob as its own module ships it, and what its controllers would write.

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

MODULE = "github.com/openkruise/kruise@v1.8.0"
SUM = "h1:cU5XG9tur17j/CuY+iCTlxOtJ0GNTtJjMLurhh+25YQ="
GROUP, KIND = "apps.kruise.io", "imagepulljobs"


@cache
def definition() -> Path:
    """The file that defines ImagePullJobs."""
    answer = json.loads(run("go", "mod", "download", "-json", MODULE, timeout=600))
    if answer["Sum"] != SUM:
        raise TestbedError(f"{MODULE} is not what it was")
    return Path(answer["Dir"]) / "config" / "crd" / "bases" / f"{GROUP}_{KIND}.yaml"


def install(cluster: Cluster) -> None:
    """Let the API server know ImagePullJobs; nobody acts on them."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(definition()))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{KIND}.{GROUP}")


class PlayedKruise:
    """What OpenKruise does for one version."""

    def __init__(self, world: World, version: str) -> None:
        self._server = world.sightings.connection
        self._path = f"/apis/{GROUP}/v1alpha1/namespaces/{world.namespace}/{KIND}/pre-warm-{version}"

    def job(self) -> Object | None:
        """The job, if it is there."""
        try:
            return self._server.get(self._path)
        except ApiError:
            return None

    def say(self, **status: object) -> None:
        """How far the nodes are."""
        self._server.patch(f"{self._path}/status", {"status": status})

    def delete(self) -> None:
        """Somebody deletes it."""
        self._server.delete(self._path)
