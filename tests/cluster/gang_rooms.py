"""Rooms for one gang each, and two jobs for each room: which of them is placed is up to a real scheduler.

A room is a resource of its own on two simulated nodes that have nothing else, so that many pairs of jobs compete side
by side. The pod that finds the commit of a gang asks for processor time: it goes to a node that the test plays.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.drivers.api_connection import Connection, unless_gone
from harness.fakes.node import NODES as NODE_LIST
from harness.fakes.node import played_node
from testbed import kwok
from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.waiting import until

PODS, NODES, ROOMS = 4, 2, 8
TRAINING = "/apis/training.kubedl.io/v1alpha1"
JOB, ATTEMPT = "training.kubedl.io/job-name", "training.kubedl.io/attempt"
ORDER = [{"upstream": "Master", "phase": "Running"}]
SOURCE = {"repository": "https://git.example/team/code.git", "resources": {}}
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SLOW = 120  # seconds: a job may give its pods back a few times, and the machine is busy


@dataclass(frozen=True)
class Room:
    """Where one of two jobs is placed."""

    connection: Connection
    namespace: str
    number: int
    scheduler: str

    @property
    def _jobs(self) -> str:
        return f"{TRAINING}/namespaces/{self.namespace}/pytorchjobs"

    @property
    def _pods(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def compete(self, turn: int, **spec: Any) -> tuple[str, str]:  # noqa: ANN401
        """Create two jobs in any order; returns the one that was placed, and the other."""
        names = (f"a{self.number}-{turn}", f"b{self.number}-{turn}")
        for name in random.sample(names, 2):
            self._create(name, **spec)
        return self.whole(*names)

    def whole(self, *names: str) -> tuple[str, str]:
        """Wait until one job is placed whole, while no other has a pod on a node; returns it, and the other."""

        def found() -> Counter[str] | None:
            placed = self.placed(*names)
            return placed if PODS in placed.values() else None

        placed = until("one gang on nodes", found, deadline=SLOW)
        assert placed is not None
        first = max(names, key=lambda name: placed[name])
        assert placed == {first: PODS}, placed
        return first, next(name for name in names if name != first)

    def take_turns(self, first: str, second: str) -> None:
        """The first goes, and the second is placed; then it goes too."""
        assert self.placed(first, second) == {first: PODS}
        self.connection.delete(f"{self._jobs}/{first}")
        until(f"all pods of {second} on nodes", lambda: self.placed(second)[second] == PODS, deadline=SLOW)
        self.connection.delete(f"{self._jobs}/{second}")
        until("no pods", lambda: not self.pods(first, second), deadline=SLOW)

    def pods(self, *names: str) -> list[Object]:
        """All pods of these jobs. That of a gang's commit is played by the way."""
        found: list[Object] = self.connection.get(f"{self._pods}?labelSelector={JOB}+in+({','.join(names)})")["items"]
        for pod in found:
            if ATTEMPT not in pod["metadata"]["labels"] and pod["spec"].get("nodeName"):
                self._find_commit(pod)
        return found

    def placed(self, *names: str) -> Counter[str]:
        """How many pods of each job are on nodes."""
        replicas = [pod for pod in self.pods(*names) if ATTEMPT in pod["metadata"]["labels"]]
        return Counter(pod["metadata"]["labels"][JOB] for pod in replicas if pod["spec"].get("nodeName"))

    def status(self, name: str) -> Object:
        found: Object = self.connection.get(f"{self._jobs}/{name}").get("status") or {}
        return found

    def says(self, name: str, text: str) -> bool:
        return text in self.status(name).get("message", "")

    def kill(self, job: str) -> None:
        """The container of one pod was killed, for which the whole job restarts."""
        self._end(f"{job}-worker-0", 137)
        until("the restart to count", lambda: self.status(job).get("attempt") == 1, deadline=SLOW)
        until("its old pods to go", lambda: all(_attempt(pod) == "1" for pod in self.pods(job)), deadline=SLOW)

    def _create(self, name: str, *, worker: Object | None = None, **spec: Any) -> None:  # noqa: ANN401
        """A master and three workers."""
        limits = {slot(self.namespace, self.number): "1"}
        container = {"name": "pytorch", "image": "none", "resources": {"limits": limits}}
        tolerations = [{"key": taint(self.namespace)["key"], "operator": "Exists"}]
        role = {"template": {"spec": {"containers": [container], "tolerations": tolerations}}}
        roles = {"Master": role, "Worker": {"replicas": PODS - 1, **role, **(worker or {})}}
        body = {
            "apiVersion": "training.kubedl.io/v1alpha1",
            "kind": "PyTorchJob",
            "metadata": {"name": name},
            "spec": {"pytorchReplicaSpecs": roles, "schedulingPolicy": {"gangScheduler": self.scheduler}, **spec},
        }
        self.connection.create(self._jobs, body)

    def _end(self, pod: str, code: int) -> None:
        ended = {"exitCode": code, "reason": "Error", "startedAt": None, "finishedAt": None}
        status = {"name": "pytorch", "image": "none", "imageID": "", "ready": False, "restartCount": 0}
        containers = [{**status, "state": {"terminated": ended}}]
        change = {"status": {"phase": "Failed", "containerStatuses": containers}}
        self.connection.patch(f"{self._pods}/{pod}/status", change)

    def _find_commit(self, pod: Object) -> None:
        """Play the kubelet of the pod that finds the commit of a gang."""
        path = f"{self._pods}/{pod['metadata']['name']}"
        with unless_gone():
            if pod["metadata"].get("deletionTimestamp"):
                self.connection.delete(path, {"gracePeriodSeconds": 0})
            elif not pod["status"].get("initContainerStatuses"):
                ended = {"exitCode": 0, "reason": "Completed", "message": COMMIT, "startedAt": None, "finishedAt": None}
                status = {"name": "git-sync-code", "image": "none", "imageID": "", "ready": True, "restartCount": 0}
                containers = [{**status, "state": {"terminated": ended}}]
                change = {"status": {"phase": "Running", "initContainerStatuses": containers}}
                self.connection.patch(f"{path}/status", change)


def _attempt(pod: Object) -> str:
    return str(pod["metadata"]["labels"].get(ATTEMPT))


def slot(namespace: str, room: int) -> str:
    """The resource of a room."""
    return f"slots.example/{namespace}-{room}"


def taint(namespace: str) -> Object:
    """By which nodes are for the jobs of a namespace only."""
    return {"key": f"rooms.example/{namespace}", "effect": "NoSchedule"}


@contextmanager
def rooms(cluster: Cluster, namespace: str, scheduler: str) -> Iterator[list[Room]]:
    """Rooms that are ready; their nodes are removed afterwards."""
    with Connection(cluster) as connection, played_node(connection) as played:
        names = [f"{namespace}-{number}" for number in range(NODES)]
        try:
            for name in names:
                connection.create(NODE_LIST, _node(name, namespace))
            _give_processors(connection, played, namespace)
            for name in names:
                until(f"node {name}", partial(_is_ready, connection, name), deadline=120)
            yield [Room(connection, namespace, number, scheduler) for number in range(ROOMS)]
        finally:
            for name in names:
                with unless_gone():
                    connection.delete(f"{NODE_LIST}/{name}")


def side_by_side(found: list[Room], rounds: int, play: Callable[[Room, int], None]) -> None:
    """Play this many rounds, one at a time in each room; the first that fails is raised when the others have ended."""

    def turns(room: Room) -> None:
        for turn in range(room.number, rounds, len(found)):
            play(room, turn)

    with ThreadPoolExecutor(len(found)) as pool:
        list(pool.map(turns, found))


def contend(room: Room, turn: int) -> None:
    """One job is placed whole, the other not at all until the first is gone."""
    room.take_turns(*room.compete(turn))


def contend_in_order(room: Room, turn: int) -> None:
    """Workers are created when their master runs: two masters hold what each other's workers need."""
    room.take_turns(*room.compete(turn, worker={"dependsOn": ORDER}))


def contend_with_code(room: Room, turn: int) -> None:
    """Another pod finds the commit first."""
    room.take_turns(*room.compete(turn, codeSource=SOURCE))


def contend_and_restart(room: Room, turn: int) -> None:
    """One kill ends all pods of the job that was placed; then both compete again."""
    first, second = room.compete(turn)
    room.kill(first)
    room.take_turns(*room.whole(first, second))


def _node(name: str, namespace: str) -> Object:
    """A simulated node with slots, and neither processors nor memory."""
    capacity = {"cpu": "0", "memory": "0", "pods": "1000"}
    capacity |= {slot(namespace, room): str(PODS // NODES) for room in range(ROOMS)}
    return {
        "metadata": {
            "name": name,
            "labels": {kwok.LABEL: kwok.KIND, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"taints": [taint(namespace)]},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def _is_ready(connection: Connection, node: str) -> bool:
    return is_true(connection.get(f"{NODE_LIST}/{node}"), "Ready")


def _give_processors(connection: Connection, node: str, namespace: str) -> None:
    capacity = {"cpu": "64", "memory": "64Gi", "pods": "100"}
    connection.patch(f"{NODE_LIST}/{node}", {"spec": {"taints": [taint(namespace)]}})
    connection.patch(f"{NODE_LIST}/{node}/status", {"status": {"capacity": capacity, "allocatable": capacity}})
