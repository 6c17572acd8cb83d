"""Two gangs and room for one, placed by a real scheduler: one runs whole, the other holds nothing and waits."""

import json
import random
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
TRAINING = "/apis/training.kubedl.io/v1alpha1"
JOB, ATTEMPT = "training.kubedl.io/job-name", "training.kubedl.io/attempt"
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

    def has_restarted(self, name: str) -> bool:
        return bool(self.status(name).get("attempt") == 1)

    def says(self, name: str, text: str) -> bool:
        return text in self.status(name).get("message", "")

    def pods(self) -> list[Object]:
        return self.cluster.api.list(f"/api/v1/namespaces/{self.namespace}/pods")

    def placed(self) -> Counter[str]:
        """How many pods of each job are on nodes."""
        replicas = [pod for pod in self.pods() if ATTEMPT in pod["metadata"]["labels"]]
        return Counter(pod["metadata"]["labels"][JOB] for pod in replicas if pod["spec"].get("nodeName"))

    def compete(self, *names: str) -> tuple[str, str]:
        """Create two jobs in any order; returns the one that was placed, and the other."""
        for name in random.sample(names, 2):
            self.create(name)
        until("all pods", lambda: len(self.pods()) == 2 * PODS, deadline=30)
        return self.whole(*names)

    def whole(self, *names: str) -> tuple[str, str]:
        """Wait until one job is placed whole, while no other holds a slot; returns it, and the other."""
        until("one gang on nodes", lambda: max(self.placed().values(), default=0) == PODS, deadline=60)
        first = max(names, key=lambda name: self.placed()[name])
        assert self.placed() == {first: PODS}
        return first, next(name for name in names if name != first)

    def take_turns(self, first: str, second: str) -> None:
        """The first goes, and the second is placed; then it goes too."""
        self.delete(first)
        until(f"all pods of {second} on nodes", lambda: self.placed()[second] == PODS, deadline=60)
        self.delete(second)
        until("no pods", lambda: not self.pods(), deadline=60)

    def fail(self, pod: str) -> None:
        """Its container was killed."""
        ended = {"exitCode": 137, "reason": "Error", "startedAt": None, "finishedAt": None}
        status = {"name": "pytorch", "image": "none", "imageID": "", "ready": False, "restartCount": 0}
        self.report(pod, {"phase": "Failed", "containerStatuses": [{**status, "state": {"terminated": ended}}]})

    def report(self, pod: str, status: Object) -> None:
        change = json.dumps({"status": status})
        where = ("-n", self.namespace, "pod", pod, "--subresource=status", "--type=merge")
        self.cluster.kubectl("patch", *where, "-p", change)


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
    rounds = times(2, 100)
    for number in range(rounds):
        first, second = gangs.compete(f"a{number}", f"b{number}")
        until("its reason", partial(gangs.says, second, "0 of 4 pods of the gang are placed"), deadline=30)
        gangs.take_turns(first, second)
    record_property("rounds", rounds)


def test_a_gang_that_restarts_is_placed_whole_again(gangs: Gangs, record_property: Record) -> None:
    """One kill ends all its pods; then the two compete again, and neither is in the other's way."""
    rounds = times(1, 20)
    for number in range(rounds):
        first, _ = gangs.compete(f"a{number}", f"b{number}")
        gangs.fail(f"{first}-worker-0")
        until("the restart to count", partial(gangs.has_restarted, first), deadline=60)
        gangs.take_turns(*gangs.whole(f"a{number}", f"b{number}"))
    record_property("rounds", rounds)
