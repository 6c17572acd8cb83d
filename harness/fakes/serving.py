"""The world around Inferences, played by a test: their user, the kubelet of their servers, and a gateway.

Deployments, pods and endpoints are Kubernetes' own work. The kubelet and the gateway do at once what they always do
while a test waits for something: a pod that was made gets ready, one that was told to go is gone, a route is taken.
"""

from collections.abc import Callable
from typing import Any

from harness.drivers.api_connection import unless_gone
from harness.scenarios.driver import ScenarioDriver
from testbed.api import Object

SERVING = "/apis/serving.kubedl.io/v1alpha1"
ROUTES = "/apis/gateway.networking.k8s.io/v1"
GATEWAY = {"name": "public", "namespace": "gateways"}


class PlayedInference:
    """One Inference. Its pods are on the node of the test."""

    def __init__(self, world: ScenarioDriver, name: str = "hello") -> None:
        self._world, self.name = world, name
        self._server = world.watcher.connection
        self._collection = f"{SERVING}/namespaces/{world.namespace}/inferences"
        self._addresses = 0

    def predictor(self, name: str, version: str = "", **fields: object) -> Object:
        """As its user writes it."""
        container = {"name": "server", "image": "none", "command": ["true"]}
        template = {"spec": {"nodeName": self._world.node, "containers": [container]}}
        known = {"modelVersion": version} if version else {}
        return {"name": name, "template": template, **known, **fields}

    def create(self, *predictors: Object, **spec: object) -> None:
        """A user makes it."""
        whole = {"framework": "Custom", "gateway": GATEWAY, "predictors": list(predictors), **spec}
        body = {
            "apiVersion": "serving.kubedl.io/v1alpha1",
            "kind": "Inference",
            "metadata": {"name": self.name},
            "spec": {name: value for name, value in whole.items() if value is not None},
        }
        self._server.create(self._collection, body)

    def change(self, *predictors: Object, **spec: object) -> None:
        """A user edits it."""
        changes = {**({"predictors": list(predictors)} if predictors else {}), **spec}
        self._server.patch(f"{self._collection}/{self.name}", {"spec": changes})

    def say(self, word: str) -> None:
        """A user tells a rollout what to do, when what he said before is done: words are counted."""
        self.until("to have done what was said", lambda: "serving.kubedl.io/rollout" not in self.annotations())
        annotation = {"serving.kubedl.io/rollout": word}
        self._server.patch(f"{self._collection}/{self.name}", {"metadata": {"annotations": annotation}})

    def delete(self) -> None:
        """A user deletes it."""
        self._server.delete(f"{self._collection}/{self.name}")

    def until(self, what: str, condition: Callable[[], Any]) -> None:
        """Wait for something of it, while kubelet and gateway do their work."""

        def met() -> bool:
            self._play()
            return bool(condition())

        self._world.until(f"{self.name}: {what}", met)

    def until_ready(self, **shares: int) -> None:
        """Wait until it serves with these shares, and nothing is there that nobody needs."""
        self.until(f"to serve with {shares}", lambda: self.condition() == "True" and self.shares() == shares)
        names = {self._service(name) for name in shares}
        entrance = {self.name}  # of a single predictor, under the name of the whole
        self.until(
            f"nothing but {names}",
            lambda: self.deployments() == names == set(self._all("addresses")) - entrance,
        )

    def until_gone(self) -> None:
        """Wait until nothing is left of it."""
        kinds = ("inferences", "deployments", "addresses", "servers", "routes", "scalers")
        self.until("to be gone", lambda: not any(self._all(kind) for kind in kinds))

    def condition(self, kind: str = "Ready") -> str:
        """Whether it holds."""
        conditions = self.status().get("conditions") or []
        return next((str(one["status"]) for one in conditions if one["type"] == kind), "")

    def status(self) -> Object:
        """What the operator says about it."""
        found = self._world.watcher.get("inferences", self._world.namespace, self.name) or {}
        status: Object = found.get("status") or {}
        return status

    def written(self) -> str:
        """Another whenever somebody writes it."""
        return str(self._metadata.get("resourceVersion"))

    def annotations(self) -> Object:
        """What people and operators noted at it."""
        notes: Object = self._metadata.get("annotations") or {}
        return notes

    def predictor_status(self, name: str) -> Object:
        """What it says about one predictor."""
        return next((one for one in self.status().get("predictorStatuses", ()) if one["name"] == name), {})

    def shares(self) -> dict[str, int]:
        """Of each predictor."""
        return {one["name"]: one["trafficPercent"] for one in self.status().get("predictorStatuses", ())}

    def route(self) -> dict[str, int]:
        """What the gateway is told, by Service."""
        found = self._all("routes").get(self.name) or {"spec": {"rules": []}}
        return {ref["name"]: ref["weight"] for rule in found["spec"]["rules"] for ref in rule.get("backendRefs") or ()}

    def deployments(self) -> set[str]:
        """Their names."""
        return set(self._all("deployments"))

    def replicas(self, name: str) -> int | None:
        """Of a Deployment."""
        found = self._all("deployments").get(self._service(name))
        return int(found["spec"]["replicas"]) if found is not None else None

    @property
    def _metadata(self) -> Object:
        found = self._world.watcher.get("inferences", self._world.namespace, self.name) or {}
        metadata: Object = found.get("metadata") or {}
        return metadata

    def _service(self, predictor: str) -> str:
        return f"{self.name}-{predictor}"

    def _all(self, kind: str) -> dict[str, Object]:
        return self._world.watcher.all(kind, self._world.namespace)

    def _play(self) -> None:
        for name, pod in self._all("servers").items():
            path = f"/api/v1/namespaces/{self._world.namespace}/pods/{name}"
            with unless_gone():
                if "deletionTimestamp" in pod["metadata"]:
                    self._server.delete(path, {"gracePeriodSeconds": 0})
                elif pod["status"]["phase"] != "Running":
                    self._server.patch(f"{path}/status", {"status": self._ready()})
        for name, route in self._all("routes").items():
            with unless_gone():
                self._take(name, route)

    def _take(self, name: str, route: Object) -> None:
        parents = (route.get("status") or {}).get("parents") or []
        seen = [one["observedGeneration"] for parent in parents for one in parent["conditions"]]
        generation = route["metadata"]["generation"]
        if seen != [generation]:
            when = route["metadata"]["creationTimestamp"]
            said = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""}
            said |= {"observedGeneration": generation, "lastTransitionTime": when}
            parent = {"parentRef": GATEWAY, "controllerName": "harness.kubedl.io/played", "conditions": [said]}
            path = f"{ROUTES}/namespaces/{self._world.namespace}/httproutes/{name}/status"
            self._server.patch(path, {"status": {"parents": [parent]}})

    def _ready(self) -> Object:
        self._addresses += 1
        address = f"198.51.{self._addresses // 250}.{self._addresses % 250 + 1}"
        container = {"name": "server", "image": "none", "imageID": "", "ready": True, "restartCount": 0, "state": {}}
        conditions = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady", "Initialized")]
        return {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": conditions,
            "containerStatuses": [container],
        }
