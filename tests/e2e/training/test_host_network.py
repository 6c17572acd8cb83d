"""Jobs on the network of two real nodes: they share the nodes, their replicas meet, and a replica moves."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from harness.drivers.environment import times
from harness.drivers.operator_process import Operator
from testbed import namespaces
from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.waiting import until
from tests import sampling
from tests.e2e.training.conftest import Submit
from tests.e2e.training.jobs import (
    API_VERSION,
    DDP,
    MEETING,
    MULTI_WORKER,
    PARAMETER_SERVER,
    TORCHRUN,
    Training,
    scripts,
)
from tests.e2e.training.observed import START, ObservedJob
from tests.e2e.training.test_frameworks import loss_fell, on_both_nodes
from tests.e2e.workspace import Workspace

Record = Callable[[str, object], None]
RESTARTED_EVERY = 3  # rounds
HOST_PORT = "training.kubedl.io/host-port"


def on_host(training: Training, mode: str) -> Training:
    """The same on the host network. gloo looks up the name of its machine, which a node of the test bed has not."""
    return replace(training, spec={**training.spec, "networkMode": mode}, variables={"GLOO_SOCKET_IFNAME": "eth0"})


MOVED = (
    on_host(DDP, "Host"),
    on_host(DDP, "HostDirect"),
    on_host(TORCHRUN, "Host"),
    on_host(MULTI_WORKER, "Host"),
    on_host(PARAMETER_SERVER, "Host"),
    on_host(PARAMETER_SERVER, "HostDirect"),
)


@pytest.fixture
def workspace(cluster: Cluster) -> Iterator[Workspace]:
    """A fresh namespace that allows the host network: PodSecurity baseline does not."""
    with namespaces.fresh(cluster.api, "e2e", {"pod-security.kubernetes.io/enforce": "privileged"}) as name:
        yield Workspace(cluster, name)


@pytest.mark.parametrize("mode", sampling.one_of(("Host", "HostDirect"), "shared"))
def test_two_jobs_share_both_nodes(
    workspace: Workspace, operator: Operator, image: Callable[[str], str], mode: str, record_property: Record
) -> None:
    """Every replica listens at its own port, and meets all others of its job and nobody else."""
    jobs, allocations, restarts = Meetings(workspace, image(MEETING.image), mode), 0, 0
    for number in range(times(1, 32)):
        names = f"a{number}", f"b{number}"
        for name in names:
            jobs.create(name)
        if number % RESTARTED_EVERY == 1:
            operator.restart(deadline=120)
            restarts += 1
        for name in names:
            jobs.has_met(name)
        allocations += jobs.allocations(*names)
        for name in names:
            jobs.delete(name)
    record_property("allocations", allocations)
    record_property("restarts", restarts)


class Meetings:
    """Jobs whose replicas look for each other."""

    def __init__(self, workspace: Workspace, image: str, mode: str) -> None:
        self._workspace, self._image, self._mode = workspace, image, mode
        self._jobs = f"/apis/{API_VERSION}/namespaces/{workspace.namespace}/tfjobs"
        workspace.create("configmaps", scripts())

    def create(self, name: str) -> None:
        training = replace(MEETING, name=name, spec={"networkMode": self._mode, "successPolicy": "AllWorkers"})
        body = training.build(self._image)
        for role in body["spec"]["tfReplicaSpecs"].values():
            _without_checkpoints(role["template"])
        self._workspace.cluster.api.create(self._jobs, body)

    def delete(self, name: str) -> None:
        self._workspace.cluster.api.delete(f"{self._jobs}/{name}")

    def has_met(self, name: str) -> None:
        """Wait for its success; whatever else happens to it is an error."""

        def succeeded() -> bool:
            body = self._workspace.cluster.api.get(f"{self._jobs}/{name}")
            status = body.get("status") or {}
            assert not is_true(body, "Failed"), status
            assert status.get("retries", 0) == 0, status
            return is_true(body, "Succeeded")

        until(f"{name} to meet", succeeded, deadline=START)

    def allocations(self, *names: str) -> int:
        """How many ports these jobs got: all different, and on both nodes."""
        pods = self._workspace.cluster.api.list(f"/api/v1/namespaces/{self._workspace.namespace}/pods")
        own = [pod for pod in pods if pod["metadata"]["labels"]["job-name"] in names]
        assert {pod["spec"]["nodeName"] for pod in own} == {"node1", "node2"}
        ports = [pod["metadata"]["annotations"][HOST_PORT] for pod in own]
        assert len(ports) == len(set(ports)) == len(names) * sum(MEETING.roles.values())
        return len(ports)


@pytest.mark.parametrize(
    "training", sampling.one_of(MOVED, "moved"), ids=lambda one: f"{one.name}-{one.spec['networkMode']}"
)
def test_a_worker_moves_to_the_other_node(submit: Submit, training: Training, record_property: Record) -> None:
    """It gets another port there, or keeps the one that its peers know; the training goes on and ends well."""
    job = submit(training, held=True)
    job.trains()
    before = job.pods()
    assert on_both_nodes(job)
    victim = max(name for name, pod in before.items() if pod["spec"]["nodeName"] == "node2")
    _send_workers_to(job, "node1")
    # The operator hears of jobs and of pods apart: it must not miss the pod before it knows the template.
    job.wait("the edit to be seen", lambda: job.status("observedGeneration") == job.body["metadata"]["generation"])
    job.workspace.cluster.api.delete(f"/api/v1/namespaces/{job.workspace.namespace}/pods/{victim}")
    job.wait(f"{victim} on the other node", lambda: _node(job.pods().get(victim)) == "node1")
    job.trains(beyond=job.checkpoints.step() + 1)
    collective = training.kind.kind == "PyTorchJob" or "PS" not in training.roles
    stayed = {name for name, pod in job.pods().items() if pod["metadata"]["uid"] == before[name]["metadata"]["uid"]}
    assert stayed == (set() if collective else set(before) - {victim})
    if not collective:
        job.wait(f"{victim} to work", lambda: "did a share" in job.log(victim))
    assert _targets(job) == (_ports(job) if training.spec["networkMode"] == "Host" else {})
    job.checkpoints.release()
    job.succeeded()
    assert job.status("retries") == 0
    assert loss_fell(job)
    record_property("moves", 1)


def _without_checkpoints(template: Object) -> None:
    spec = template["spec"]
    spec["volumes"] = [volume for volume in spec["volumes"] if "configMap" in volume]
    for container in spec["containers"]:
        kept = {volume["name"] for volume in spec["volumes"]}
        container["volumeMounts"] = [mount for mount in container["volumeMounts"] if mount["name"] in kept]


def _send_workers_to(job: ObservedJob, node: str) -> None:
    """An edit of the template counts for pods that come later."""
    kind = job.training.kind
    template = {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": node}}}}
    change = json.dumps({"spec": {kind.replicas_field: {"Worker": template}}})
    job.workspace.kubectl("patch", kind.resource.name, job.training.name, "--type=merge", "-p", change)


def _node(pod: Object | None) -> str:
    return str(pod["spec"].get("nodeName")) if pod is not None and "deletionTimestamp" not in pod["metadata"] else ""


def _ports(job: ObservedJob) -> dict[str, int]:
    return {name: int(pod["metadata"]["annotations"][HOST_PORT]) for name, pod in job.pods().items()}


def _targets(job: ObservedJob) -> dict[str, int]:
    """Where the Services of replicas lead to."""
    found = job.workspace.cluster.api.list(f"/api/v1/namespaces/{job.workspace.namespace}/services")
    own = [service for service in found if service["spec"]["clusterIP"] != "None"]
    return {service["metadata"]["name"]: service["spec"]["ports"][0]["targetPort"] for service in own}
