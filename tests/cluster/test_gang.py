"""Two gangs and room for one, placed by a real scheduler: one runs whole, the other holds nothing and waits."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from harness.drivers.environment import times
from harness.drivers.operator_process import Operator
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until

PODS, NODES = 4, 2
BINDING = 1.0  # seconds in which the pods of a gang are bound one after another
TRAINING = "/apis/training.kubedl.io/v1alpha1"
JOB = "training.kubedl.io/job-name"
Record = Callable[[str, object], None]


class Gangs:
    """Jobs of four pods that need a slot each, and simulated nodes with four slots, which nobody else asks for."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace
        self._slot = f"slots.example/{namespace}"
        self._jobs = f"{TRAINING}/namespaces/{namespace}/pytorchjobs"

    def offer(self, number: int | None) -> None:
        """So many slots on each node."""
        value = None if number is None else str(number)
        status = json.dumps({"status": {"capacity": {self._slot: value}, "allocatable": {self._slot: value}}})
        for node in range(1, NODES + 1):
            self.cluster.kubectl("patch", "node", f"kwok-{node}", "--subresource=status", "--type=merge", "-p", status)

    def create(self, name: str, scheduler: str = "native", **spec: object) -> None:
        """A master and three workers."""
        container = {"name": "pytorch", "image": "none", "resources": {"limits": {self._slot: "1"}}}
        tolerations = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
        role = {"template": {"spec": {"containers": [container], "tolerations": tolerations}}}
        roles = {"Master": role, "Worker": {"replicas": PODS - 1, **role}}
        spec = {"pytorchReplicaSpecs": roles, "schedulingPolicy": {"gangScheduler": scheduler}, **spec}
        body = {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "PyTorchJob", "metadata": {"name": name}}
        self.cluster.api.create(self._jobs, {**body, "spec": spec})

    def delete(self, name: str) -> None:
        self.cluster.api.delete(f"{self._jobs}/{name}")

    def status(self, name: str) -> Object:
        found: Object = self.cluster.api.get(f"{self._jobs}/{name}").get("status") or {}
        return found

    def says(self, name: str, text: str) -> bool:
        return text in self.status(name).get("message", "")

    def pods(self) -> list[Object]:
        return self.cluster.api.list(f"/api/v1/namespaces/{self.namespace}/pods")

    def placed(self) -> Counter[str]:
        """How many pods of each job are on nodes."""
        return Counter(pod["metadata"]["labels"][JOB] for pod in self.pods() if pod["spec"].get("nodeName"))

    def wait_placed(self, name: str) -> float:
        """Until all pods of a job are on nodes; returns when that was."""
        until(f"all pods of {name} on nodes", lambda: self.placed()[name] == PODS, deadline=60)
        return time.monotonic()


@pytest.fixture
def gangs(control_plane: Cluster, namespace: str) -> Iterator[Gangs]:
    """With room for one of them."""
    control_plane.up(kwok=NODES, keep=False)
    made = Gangs(control_plane, namespace)
    with Operator(control_plane, arguments=("--namespace", namespace)):
        made.offer(PODS // NODES)
        yield made
        made.offer(None)


def test_of_two_gangs_one_is_placed_whole_and_the_other_not_at_all(gangs: Gangs, record_property: Record) -> None:
    """The other says why it waits, and is placed when the first is gone; without gangs both would have some pods."""
    split = 0
    rounds = times(3, 100)
    for number in range(rounds):
        names = [f"a{number}", f"b{number}"]
        random.shuffle(names)
        for name in names:
            gangs.create(name)
        until("all pods", lambda: len(gangs.pods()) == 2 * PODS, deadline=30)
        until("one gang on nodes", lambda: max(gangs.placed().values(), default=0) == PODS, deadline=60)
        first = max(gangs.placed(), key=lambda name: gangs.placed()[name])
        second = next(name for name in names if name != first)
        split += gangs.placed() != {first: PODS}
        until("its reason", partial(gangs.says, second, "0 of 4 pods of the gang are placed"), deadline=30)
        assert gangs.status(second)["reason"] in ("Unschedulable", "NotScheduled")
        gangs.delete(first)
        gangs.wait_placed(second)
        gangs.delete(second)
        until("no pods", lambda: not gangs.pods(), deadline=30)
    record_property("rounds", rounds)
    record_property("rounds in which both had pods on nodes", split)
    assert not split
