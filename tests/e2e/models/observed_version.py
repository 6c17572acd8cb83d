"""A ModelVersion as its user sees it, and an image that it became, as a pod sees it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from testbed.api import Object
from testbed.errors import DeadlineError, TestbedError
from testbed.waiting import until
from tests.builders import pod
from tests.e2e.workspace import Workspace

API_VERSION = "model.kubedl.io/v1alpha1"
BUILT, FAILED = "ImageBuildSucceeded", "ImageBuildFailed"
DEADLINE = 180  # seconds: the packer's image is pulled, and few cores are shared
LIST = "cd /image/models && find . -type f -exec sha256sum {} +"


@dataclass(frozen=True)
class ObservedVersion:
    """One version in one namespace."""

    workspace: Workspace
    name: str

    @property
    def repository(self) -> str:
        """Where tests push to: one for each namespace."""
        return f"{self.workspace.cluster.instance.registry}/models/{self.workspace.namespace}"

    def create(self, storage: Object, tag: str = "v1", **spec: object) -> None:
        """A user makes the version by hand."""
        whole = {
            "modelName": "resnet",
            "createdBy": "user1",
            "imageRepo": self.repository,
            "imageTag": tag,
            "storage": storage,
            "registry": {"insecure": True},
            **spec,
        }
        body = {
            "apiVersion": API_VERSION,
            "kind": "ModelVersion",
            "metadata": {"name": self.name},
            "spec": whole,
        }
        self.workspace.cluster.api.create(self._collection, body)

    @property
    def body(self) -> Object:
        return self.workspace.cluster.api.get(f"{self._collection}/{self.name}")

    @property
    def status(self) -> Object:
        found: Object = self.body.get("status") or {}
        return found

    def built(self) -> str:
        """Wait for the image, and return it by digest."""
        self._until(BUILT)
        return str(self.status["image"])

    def failed(self) -> str:
        """Wait for the end without one, and return the reason."""
        self._until(FAILED)
        return self._reason()

    def says(self, reason: str, words: str) -> None:
        """Wait until it explains itself so."""
        self._wait(f"{reason}: {words}", lambda: self._reason() == reason and words in self.status["message"])

    def _until(self, phase: str) -> None:
        other = FAILED if phase == BUILT else BUILT

        def reached() -> bool:
            if self.status.get("imageBuildPhase") == other:
                raise TestbedError(f"{self.name}: {self.status}")
            return bool(self.status.get("imageBuildPhase") == phase)

        self._wait(phase, reached)

    def _wait(self, what: str, condition: object) -> None:
        try:
            until(f"{self.name}: {what}", condition, deadline=DEADLINE)  # type: ignore[arg-type]
        except DeadlineError as error:
            error.add_note(f"{self.status}\n{self.workspace.kubectl('get', 'pods,events')}")
            raise

    def _reason(self) -> str:
        return next((str(one["reason"]) for one in self.status.get("conditions", ()) if one["type"] == "Ready"), "")

    @property
    def _collection(self) -> str:
        return f"/apis/{API_VERSION}/namespaces/{self.workspace.namespace}/modelversions"


def sums_in_image(workspace: Workspace, image: str, base: str, name: str = "reader") -> dict[str, str]:
    """What a plain pod reads from the image, mounted as a volume: the sum of each file, by its path."""
    workspace.start(pod(name, base).mounting_image(image, "/image").running("sh", "-c", LIST))
    workspace.succeeded(name)
    lines = (line.split(maxsplit=1) for line in workspace.logs(name).splitlines())
    return {path.removeprefix("./"): total for total, path in lines}


def sums_of(directory: Path) -> dict[str, str]:
    """The sum of each file on disk, by its path."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
