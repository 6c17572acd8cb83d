"""A job that runs, as its user sees it: status, pods, logs, events."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from testbed.api import ApiError, Object, is_true
from testbed.errors import DeadlineError, TestbedError
from testbed.waiting import until
from tests.e2e.training.checkpoints import Checkpoints
from tests.e2e.training.jobs import API_VERSION, Training, scripts
from tests.e2e.workspace import ENDED, Workspace

START = 420  # seconds: images are pulled, and a framework is imported by several pods at once on few, busy cores
END = 180


@dataclass(frozen=True)
class ObservedJob:
    """One job in one namespace."""

    workspace: Workspace
    training: Training
    checkpoints: Checkpoints

    @property
    def body(self) -> Object:
        return self.workspace.cluster.api.get(f"{self._collection}/{self.training.name}")

    def create(self, image: str, *, held: bool = False) -> None:
        """Bring the scripts and the job into the namespace."""
        self.workspace.create("configmaps", scripts())
        self.workspace.cluster.api.create(self._collection, self.training.build(image, held=held))

    def pods(self) -> dict[str, Object]:
        """The job's pods by name."""
        selector = f"training.kubedl.io/job-name={self.training.name}"
        path = f"/api/v1/namespaces/{self.workspace.namespace}/pods?labelSelector={selector}"
        return {pod["metadata"]["name"]: pod for pod in self.workspace.cluster.api.list(path)}

    def log(self, pod: str) -> str:
        """What a pod has said so far; nothing if it cannot be asked now."""
        path = f"/api/v1/namespaces/{self.workspace.namespace}/pods/{pod}/log"
        try:
            return str(self.workspace.cluster.api.call("GET", path)["message"])
        except ApiError as error:
            return f"(no log: {error})"

    def status(self, counter: str) -> int:
        """A number in the job's status; one that is not there is 0."""
        return int(self.body["status"].get(counter, 0))

    def resumed_at(self, pod: str) -> int:
        """The step from which a pod went on; 0 if it began at the beginning. The last one, if it did so repeatedly."""
        found = re.findall(r"^(?:\[\S+\]:)?resumed at step (\d+)$", self.log(pod), re.MULTILINE)
        return int(found[-1]) if found else 0

    def warnings(self) -> list[str]:
        """The messages of the job's Warning events."""
        chosen = f"type=Warning,involvedObject.kind={self.training.kind.kind},involvedObject.name={self.training.name}"
        path = f"/api/v1/namespaces/{self.workspace.namespace}/events?fieldSelector={chosen}"
        return [event["message"] for event in self.workspace.cluster.api.list(path)]

    def trains(self, beyond: int = 2) -> None:
        """Wait until more steps than these are in a checkpoint."""
        self.wait(f"step {beyond + 1} of {self.training.name}", lambda: self.checkpoints.step() > beyond)

    def succeeded(self) -> None:
        """Wait for the end."""
        self.wait(f"job {self.training.name} to succeed", lambda: is_true(self.body, "Succeeded"))

    def nothing_runs(self) -> None:
        """Wait until every pod has ended, and those that were deleted are gone."""
        self.wait("no pod to run", lambda: all(_is_at_rest(pod) for pod in self.pods().values()), deadline=END)

    def wait(self, what: str, condition: Callable[[], bool], deadline: float = START) -> None:
        """Wait for something that this job is to do; if the job fails instead, that is an error at once."""
        try:
            until(what, lambda: self._insist() and condition(), deadline=deadline)
        except DeadlineError as error:
            error.add_note(self.story())
            raise

    def story(self) -> str:
        """Everything that explains a failure of this job."""
        lines = [f"status: {self.body.get('status')}", *(f"warning: {message}" for message in self.warnings())]
        for name, pod in self.pods().items():
            lines.append(f"--- {name} {_phase(pod)} on {pod['spec'].get('nodeName')}")
            lines += self.log(name).splitlines()[-15:]
        return "\n".join(lines)

    @property
    def _collection(self) -> str:
        return f"/apis/{API_VERSION}/namespaces/{self.workspace.namespace}/{self.training.kind.plural}"

    def _insist(self) -> bool:
        if is_true(self.body, "Failed"):
            raise TestbedError(f"job {self.training.name} failed\n{self.story()}")
        return True


def _is_at_rest(pod: Object) -> bool:
    return _phase(pod) in ENDED and "deletionTimestamp" not in pod["metadata"]


def _phase(pod: Object) -> str:
    return str(pod["status"].get("phase"))
