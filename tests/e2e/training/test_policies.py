"""Policies about failures, against what a real kubelet says of init containers, exit codes and want of memory."""

from dataclasses import dataclass

import pytest

from harness.drivers.operator_process import Operator
from testbed.api import Object, is_true
from testbed.waiting import until
from tests.builders import PodBuilder
from tests.e2e.training.jobs import API_VERSION
from tests.e2e.workspace import Workspace

NAME = "policies"
POD = f"{NAME}-worker-0"
DEADLINE = 120
NO_RETRY = {"backoffLimit": 0}
HUNGRY = ("python3", "-c", "blocks = [bytearray(1 << 20) for _ in range(1 << 14)]")
ONE_FAILS = ("sh", "-c", 'case "$(hostname)" in *-0) exit 3;; esac; sleep 3')


@dataclass(frozen=True)
class Trial:
    """A TFJob of workers alone."""

    workspace: Workspace
    image: str

    def run(self, command: tuple[str, ...], role: Object, spec: Object, **pod: str) -> Object:
        """Run it to its end, with these fields of the role and of the job; returns the condition that ends it."""
        worker = {"restartPolicy": "ExitCode", "template": self._template(command, **pod), **role}
        body = {
            "apiVersion": API_VERSION,
            "kind": "TFJob",
            "metadata": {"name": NAME},
            "spec": {"restartScope": "Replica", **spec, "tfReplicaSpecs": {"Worker": worker}},
        }
        self.workspace.cluster.api.create(self._collection, body)
        until("the end of the job", lambda: self._end() is not None, deadline=DEADLINE)
        ended = self._end()
        assert ended is not None
        return ended

    def retries(self) -> int:
        """What has been counted."""
        return int(self._job()["status"].get("retries", 0))

    @property
    def _collection(self) -> str:
        return f"/apis/{API_VERSION}/namespaces/{self.workspace.namespace}/tfjobs"

    def _job(self) -> Object:
        return self.workspace.cluster.api.get(f"{self._collection}/{NAME}")

    def _end(self) -> Object | None:
        job = self._job()
        conditions: list[Object] = job.get("status", {}).get("conditions", [])
        return next(
            (one for one in conditions if one["type"] in ("Succeeded", "Failed") and is_true(job, one["type"])), None
        )

    def _template(self, command: tuple[str, ...], init: str = "", memory: str = "") -> Object:
        builder = PodBuilder(NAME, self.image, container={"name": "tensorflow"}).running(*command)
        pod = (builder.limited(memory=memory) if memory else builder).build()
        if init:
            [main] = pod["spec"]["containers"]
            pod["spec"]["initContainers"] = [{**main, "name": "fetch", "command": ["sh", "-c", init]}]
        return {"spec": pod["spec"]}


@pytest.fixture
def trial(workspace: Workspace, operator: Operator, base_image: str) -> Trial:
    """In a namespace that is *restricted*."""
    operator.insist()
    return Trial(workspace, base_image)


@pytest.mark.parametrize(
    ("retryable", "expected", "retries"),
    [
        ("41-43", f"backoffLimit (0) reached: {POD} failed with exit code 42 in init container fetch", 1),
        ("41", f"{POD} failed with exit code 42 in init container fetch", 0),
    ],
)
def test_exit_codes_of_an_init_container(trial: Trial, retryable: str, expected: str, retries: int) -> None:
    """It is judged like the main one, and named."""
    ended = trial.run(("true",), {"exitCodes": {"retryable": [retryable]}}, NO_RETRY, init="exit 42")
    assert (ended["type"], ended["message"], trial.retries()) == ("Failed", expected, retries)


@pytest.mark.parametrize(
    ("policy", "expected", "retries"),
    [
        ("Retry", f"backoffLimit (0) reached: {POD} failed with exit code 137 (OOMKilled)", 1),
        ("Fail", f"{POD} failed with exit code 137 (OOMKilled)", 0),
    ],
)
def test_want_of_memory(trial: Trial, policy: str, expected: str, retries: int) -> None:
    """As the kernel and the kubelet tell of it, and whatever is said of its exit code."""
    codes = {"retryable": ["137"] if policy == "Fail" else []}
    ended = trial.run(HUNGRY, {"oomPolicy": policy, "exitCodes": codes}, NO_RETRY, memory="64Mi")
    assert (ended["type"], ended["message"], trial.retries()) == ("Failed", expected, retries)


def test_a_job_goes_on_without_a_replica_that_it_can_spare(trial: Trial) -> None:
    """One worker of two fails for good, and the other one's success is the job's."""
    role = {"replicas": 2, "failurePolicy": "FailReplica"}
    ended = trial.run(ONE_FAILS, role, {"successPolicy": "AnyWorker"})
    assert (ended["type"], trial.retries()) == ("Succeeded", 0)
