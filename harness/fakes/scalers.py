"""ScaleIns and ScaleOuts, and the user who creates them."""

from harness.scenarios.driver import ScenarioDriver
from kubedl.api.scaling import SCALE_INS, SCALE_OUTS
from testbed.api import Object

RESOURCES = {resource.kind: resource for resource in (SCALE_INS, SCALE_OUTS)}


class PlayedScaler:
    """One scaler of a job."""

    def __init__(self, world: ScenarioDriver, kind: str, name: str) -> None:
        self._world, self._name = world, name
        self._resource = RESOURCES[kind]
        self.collection = self._resource.path(world.namespace)

    def body(self, job: str, **spec: object) -> Object:
        """As its user writes it."""
        return {
            "apiVersion": self._resource.api_version,
            "kind": self._resource.kind,
            "metadata": {"name": self._name},
            "spec": {"selector": {"name": job}, **spec},
        }

    def create(self, job: str, **spec: object) -> None:
        """The user asks for another size."""
        self._world.watcher.connection.create(self.collection, self.body(job, **spec))

    def status(self) -> Object:
        """What the operator says about it."""
        seen = self._world.watcher.get(self._resource.plural, self._world.namespace, self._name) or {}
        status: Object = seen.get("status") or {}
        return status

    def conditions(self) -> list[Object]:
        """Its steps so far."""
        return list(self.status().get("conditions") or [])

    def last(self) -> Object:
        """Its last step."""
        return self.conditions()[-1] if self.conditions() else {}

    def until(self, phase: str) -> None:
        """Wait for a step."""
        self._world.until(f"{self._name} to be {phase}", lambda: self.status().get("phase") == phase)
