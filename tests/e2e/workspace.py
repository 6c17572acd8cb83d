"""A namespace seen by a test: create pods, wait for what they do, read what they say."""

from dataclasses import dataclass
from functools import partial

from testbed.api import Object
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.waiting import until
from tests.builders import PodBuilder

ENDED = {"Succeeded", "Failed"}


@dataclass(frozen=True)
class Workspace:
    """One namespace of one cluster."""

    cluster: Cluster
    namespace: str

    def create(self, plural: str, body: Object) -> Object:
        return self.cluster.api.create(f"/api/v1/namespaces/{self.namespace}/{plural}", body)

    def start(self, *pods: PodBuilder) -> None:
        """Create pods without waiting for them."""
        for pod in pods:
            self.create("pods", pod.build())

    def pod(self, name: str) -> Object:
        return self.cluster.api.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}")

    def running(self, *names: str, deadline: float = 120) -> None:
        """Wait until the pods run; one that ends instead is an error at once."""
        for name in names:
            until(f"pod {name} to run", partial(self._phase, name, "Running"), deadline=deadline)

    def succeeded(self, *names: str, deadline: float = 120) -> None:
        for name in names:
            until(f"pod {name} to succeed", partial(self._phase, name, "Succeeded"), deadline=deadline)

    def ended(self, name: str, deadline: float = 120) -> Object:
        """The container's final state, whatever it is."""
        until(f"pod {name} to end", lambda: self.pod(name)["status"].get("phase") in ENDED, deadline=deadline)
        state: Object = self.pod(name)["status"]["containerStatuses"][0]["state"]["terminated"]
        return state

    def logs(self, name: str) -> str:
        return self.kubectl("logs", name)

    def heard(self, name: str) -> str:
        """What a pod has said so far; nothing if it cannot be asked just now."""
        try:
            return self.logs(name)
        except TestbedError:
            return ""

    def execute(self, name: str, *command: str) -> str:
        return self.kubectl("exec", name, "--", *command)

    def kubectl(self, *arguments: str) -> str:
        return self.cluster.kubectl(f"--namespace={self.namespace}", *arguments)

    def _phase(self, name: str, wanted: str) -> bool:
        status = self.pod(name)["status"]
        phase = status.get("phase")
        if phase in ENDED and phase != wanted:
            raise TestbedError(f"pod {name} is {phase}, not {wanted}:\n{self.logs(name)}\n{status}")
        return bool(phase == wanted)
