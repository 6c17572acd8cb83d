"""The watch events of many training jobs and their pods, in one order, as an API server sends them.

The stream is a function of its size: the server that sends it and the process that checks the outcome each make it for
themselves. Of 100 jobs, 7 fail, 10 are deleted with their pods after their end, and 5 while they run. About 100 are
alive at a time. The resourceVersion of an event is its number.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from kubedl.kube import codec

JOBS, PODS, NODES = "pytorchjobs", "pods", "nodes"
ALIVE = 100
GROUP = "training.kubedl.io"
Body = dict[str, Any]


class Event(NamedTuple):
    """One line of a watch."""

    number: int
    resource: str
    line: bytes


class Outcome(NamedTuple):
    """What the row of an object must say in the end."""

    state: str
    deletion: str
    version: int


@dataclass(frozen=True)
class Stream:
    """A number of jobs, each with as many pods, created from a moment on."""

    jobs: int
    pods: int
    start: datetime

    def events(self) -> Iterator[Event]:
        """Yield all events in order."""
        for number, (resource, kind, body) in enumerate(self._steps(), 1):
            body["metadata"]["resourceVersion"] = str(number)
            yield Event(number, resource, codec.encode({"type": kind, "object": body}) + b"\n")

    def outcomes(self) -> tuple[dict[str, dict[str, Outcome]], int]:
        """Return the last state of every object, by resource and uid, and the number of events."""
        found: dict[str, dict[str, Outcome]] = {JOBS: {}, PODS: {}}
        number = 0
        for number, (resource, kind, body) in enumerate(self._steps(), 1):
            state = body["status"]["state" if resource == JOBS else "phase"]
            if kind == "DELETED" and resource == JOBS and state == "Running":
                state = "Deleted"
            deletion = "Observed" if kind == "DELETED" else ""
            found[resource][body["metadata"]["uid"]] = Outcome(state, deletion, number)
        return found, number

    def nodes(self) -> list[Body]:
        """Return the nodes that the pods run on."""
        labels = {"kubedl.io/node-pool": "gpu"}
        return [
            {
                "metadata": {**_meta(f"node-{number}", "", 9, number, self.start), "labels": labels},
                "status": {"allocatable": {"cpu": "96", "memory": "512Gi", "nvidia.com/gpu": 8}},
            }
            for number in range(self.pods)
        ]

    def _steps(self) -> Iterator[tuple[str, str, Body]]:
        """Interleave the lives of jobs."""
        draw = random.Random(self.jobs)  # noqa: S311 - no secret
        waiting, alive = iter(range(self.jobs)), list[Iterator[tuple[str, str, Body]]]()
        while True:
            while len(alive) < ALIVE and (number := next(waiting, None)) is not None:
                alive.append(self._life(number))
            if not alive:
                return
            place = draw.randrange(len(alive))
            step = next(alive[place], None)
            if step is None:
                alive.pop(place)
            else:
                yield step

    def _life(self, number: int) -> Iterator[tuple[str, str, Body]]:
        fate = number % 100
        end = "Failed" if fate < 7 else "Succeeded"
        dies_early, is_removed = fate in range(10, 15), fate in range(20, 30)
        yield JOBS, "ADDED", self._job(number, "Created")
        for phase, kind in (("Pending", "ADDED"), ("Running", "MODIFIED")):
            for index in range(self.pods):
                yield PODS, kind, self._pod(number, index, phase)
        yield JOBS, "MODIFIED", self._job(number, "Running")
        if not dies_early:
            for index in range(self.pods):
                yield PODS, "MODIFIED", self._pod(number, index, end)
            yield JOBS, "MODIFIED", self._job(number, end)
        if dies_early or is_removed:
            last = "Running" if dies_early else end
            yield JOBS, "DELETED", self._job(number, last)
            for index in range(self.pods):
                yield PODS, "DELETED", self._pod(number, index, last)

    def _created(self, number: int) -> datetime:
        return self.start + timedelta(seconds=number // 10)

    def _job(self, number: int, state: str) -> Body:
        created = self._created(number)
        status: Body = {"state": state}
        if state != "Created":
            status["startTime"] = _moment(created + timedelta(seconds=30))
        if state in ("Succeeded", "Failed"):
            status["completionTime"] = _moment(created + timedelta(hours=1))
        template = {"spec": {"containers": [_container()]}}
        return {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "PyTorchJob",
            "metadata": {
                **_meta(f"job-{number}", f"team-{number % 20}", 1, number, created),
                "annotations": {"kubedl.io/user": f"user-{number % 50}"},
            },
            "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": self.pods, "template": template}}},
            "status": status,
        }

    def _pod(self, number: int, index: int, phase: str) -> Body:
        created = self._created(number)
        owner = _meta(f"job-{number}", f"team-{number % 20}", 1, number, created)
        identity = _meta(f"job-{number}-worker-{index}", f"team-{number % 20}", 2, number * 1000 + index, created)
        kept = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "PyTorchJob", "name": owner["name"], "uid": owner["uid"]}
        labels = {f"{GROUP}/job-name": owner["name"], f"{GROUP}/replica-type": "worker"}
        labels[f"{GROUP}/replica-index"] = str(index)
        bound, started = _moment(created + timedelta(seconds=20)), _moment(created + timedelta(seconds=30))
        status: Body = {"phase": phase}
        if phase != "Pending":
            status["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": bound}]
            state: Body = {"running": {"startedAt": started}}
            if phase != "Running":
                finished = _moment(created + timedelta(hours=1))
                code = int(phase == "Failed")
                state = {"terminated": {"exitCode": code, "startedAt": started, "finishedAt": finished}}
            status["containerStatuses"] = [{"name": "pytorch", "image": "train:1", "ready": True, "state": state}]
        node = {} if phase == "Pending" else {"nodeName": f"node-{index}"}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**identity, "labels": labels, "ownerReferences": [{**kept, "controller": True}]},
            "spec": {**node, "containers": [_container()], "restartPolicy": "Never", "volumes": []},
            "status": status,
        }


def _container() -> Body:
    return {
        "name": "pytorch",
        "image": "registry.example/train:1",
        "command": ["python", "-m", "train"],
        "env": [{"name": f"VARIABLE_{number}", "value": "some value of usual length"} for number in range(10)],
        "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "4", "memory": "16Gi"}},
    }


def _meta(name: str, namespace: str, kind: int, number: int, created: datetime) -> Body:
    uid = str(UUID(int=(kind << 96) + number * 2_654_435_761 % (1 << 64)))
    found = {"name": name, "uid": uid, "creationTimestamp": _moment(created)}
    return {**found, "namespace": namespace} if namespace else found


def _moment(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
