"""Jobs as small as they can be, many of them, and what became of them."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.builders import pod

JOBS = "/apis/training.kubedl.io/v1alpha1/namespaces/{}/pytorchjobs"
FOREVER = ("sleep", "infinity")


def job(name: str, image: str, *command: str, security: Object | None = None, **spec: object) -> Object:
    """A PyTorchJob with a Master alone, which PodSecurity *restricted* admits unless told otherwise."""
    template = pod(name, image).running(*(command or FOREVER)).limited(memory="64Mi").build()["spec"]
    [container] = template["containers"]
    container["name"] = "pytorch"
    container["securityContext"] |= security or {}
    template.pop("restartPolicy")
    return {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {**spec, "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": template}}}},
    }


@dataclass(frozen=True)
class Team:
    """A namespace with jobs."""

    cluster: Cluster
    namespace: str

    def create(self, *bodies: Object) -> None:
        for body in bodies:
            self.cluster.api.create(JOBS.format(self.namespace), body)

    def jobs(self) -> dict[str, Object]:
        """By name."""
        return {one["metadata"]["name"]: one for one in self.cluster.api.list(JOBS.format(self.namespace))}

    def states(self) -> Counter[str]:
        """How many jobs are in which state."""
        return Counter((one.get("status") or {}).get("state", "New") for one in self.jobs().values())

    def condition(self, name: str, kind: str) -> Object:
        """One condition of a job, or nothing."""
        conditions = (self.jobs()[name].get("status") or {}).get("conditions") or []
        return next((one for one in conditions if one["type"] == kind), {})

    def lives(self) -> dict[str, tuple[str, int]]:
        """Of every pod its uid and how often its container was restarted."""
        pods = self.cluster.api.list(f"/api/v1/namespaces/{self.namespace}/pods")
        return {one["metadata"]["name"]: (one["metadata"]["uid"], _restarts(one)) for one in pods}

    def until_states(self, wanted: dict[str, int], deadline: float) -> None:
        def met() -> bool:
            if self.states() != wanted:
                raise TimeoutError(f"{dict(self.states())} instead of {wanted}")
            return True

        until(f"jobs to be {wanted}", met, deadline=deadline, interval=0.5)


def _restarts(pod: dict[str, Any]) -> int:
    return sum(one["restartCount"] for one in pod["status"].get("containerStatuses") or ())
