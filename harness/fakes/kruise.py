"""OpenKruise, played by a test: what its controllers would write."""

from harness.fakes.third_party_crds import ForeignKinds
from harness.scenarios.driver import ScenarioDriver
from testbed.api import ApiError, Object

GROUP, KIND = "apps.kruise.io", "imagepulljobs"
KRUISE = ForeignKinds(
    "github.com/openkruise/kruise@v1.8.0", "h1:cU5XG9tur17j/CuY+iCTlxOtJ0GNTtJjMLurhh+25YQ=", GROUP, (KIND,)
)


class PlayedKruise:
    """What OpenKruise does for one version."""

    def __init__(self, world: ScenarioDriver, version: str) -> None:
        self._server = world.watcher.connection
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
