"""The packer, played by a test: what a build pod would say when it ends, and the version that it builds."""

import datetime
import json

from harness.drivers.cluster_watcher import MODEL
from harness.scenarios.driver import LONG_AGO, ScenarioDriver
from testbed.api import Object

DIGEST = "sha256:" + "1" * 64
BUILT = {"digest": DIGEST, "size": 9, "layersUploaded": 1, "layersReused": 2, "bytesUploaded": 3}
CONTAINER = "packer"


class PlayedBuild:
    """One version, its user, and the kubelet of its build pod. The pod is on no node; nobody looks."""

    def __init__(self, world: ScenarioDriver, name: str) -> None:
        self._world, self._name = world, name
        self._server = world.watcher.connection
        self._versions = f"{MODEL}/namespaces/{world.namespace}/modelversions"

    def create(self, **spec: object) -> None:
        """A user makes the version."""
        body = {
            "apiVersion": "model.kubedl.io/v1alpha1",
            "kind": "ModelVersion",
            "metadata": {"name": self._name},
            "spec": {"modelName": "resnet", "imageRepo": "hub/resnet", "imageTag": "v1", **spec},
        }
        self._server.create(self._versions, body)

    def delete(self) -> None:
        """A user deletes the version."""
        self._server.delete(f"{self._versions}/{self._name}")

    def end(self, attempt: int, code: int, **answer: object) -> None:
        """The packer of that attempt ends, long enough ago that no pause counts from then."""
        self._world.until(f"attempt {attempt} of {self._name}", lambda: self.attempt() == attempt)
        ended = (datetime.datetime.now(datetime.UTC) - LONG_AGO).strftime("%Y-%m-%dT%H:%M:%SZ")
        state = {"exitCode": code, "message": json.dumps(answer), "startedAt": ended, "finishedAt": ended}
        container = {"name": CONTAINER, "image": "none", "imageID": "", "ready": False, "restartCount": 0}
        status = {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": [container | {"state": {"terminated": state}}],
        }
        path = f"/api/v1/namespaces/{self._world.namespace}/pods/{self._pod_name}/status"
        self._server.patch(path, {"status": status})

    def until(self, **status: object) -> None:
        """Wait until the version's status says so."""
        self._world.until(f"{self._name}: a status with {status}", lambda: status.items() <= self.status().items())

    def until_no_pod(self) -> None:
        """Wait until its build pod is gone."""
        self._world.until(f"no build pod of {self._name}", lambda: self.pod() is None)

    def until_model(self, **status: object) -> None:
        """Wait until its Model's status says so."""
        self._world.until(f"a Model with {status}", lambda: status.items() <= self._model_status().items())

    def until_no_versions(self) -> None:
        """Wait until its Model, which stays, has no versions."""
        self._world.until("a Model without versions", lambda: "versionCount" not in self._model_status())

    def status(self) -> Object:
        """What the operator says about the version."""
        found = self._world.watcher.get("modelversions", self._world.namespace, self._name)
        status: Object = (found or {}).get("status") or {}
        return status

    def condition(self, kind: str) -> Object:
        """What one of its conditions says; nothing if there is none."""
        return next((one for one in self.status().get("conditions") or () if one["type"] == kind), {})

    def pod(self) -> Object | None:
        """Its build pod, if it is there."""
        return self._world.watcher.get("builds", self._world.namespace, self._pod_name)

    def attempt(self) -> int | None:
        """Of its build pod, if it is there and stays."""
        pod = self.pod()
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return None
        return int(pod["metadata"]["labels"]["model.kubedl.io/attempt"])

    @property
    def _pod_name(self) -> str:
        return f"image-build-{self._name}"

    def _model_status(self) -> Object:
        found = self._world.watcher.get("models", self._world.namespace, "resnet") or {}
        status: Object = found.get("status") or {}
        return status
