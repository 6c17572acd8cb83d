"""Jobs of four pods that need a slot each, and simulated nodes with slots that nobody else asks for."""

import json
from collections import Counter
from typing import Any

from testbed.api import Object
from testbed.cluster import Cluster

PODS, NODES = 4, 2
TRAINING = "/apis/training.kubedl.io/v1alpha1"
JOBS = "pytorchjobs.training.kubedl.io"  # other tests have the kind in groups of their own
JOB, ATTEMPT = "training.kubedl.io/job-name", "training.kubedl.io/attempt"


class SlotJobs:
    """The jobs of one namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace
        self.slot = f"slots.example/{namespace}"
        self._jobs = f"{TRAINING}/namespaces/{namespace}/pytorchjobs"

    def offer(self, number: int | None) -> None:
        """So many slots on each node."""
        for node in range(1, NODES + 1):
            self.offer_on(node, number)

    def offer_on(self, node: int, number: int | None) -> None:
        """So many slots on one node."""
        value = None if number is None else str(number)
        status = json.dumps({"status": {"capacity": {self.slot: value}, "allocatable": {self.slot: value}}})
        self.cluster.kubectl("patch", "node", f"kwok-{node}", "--subresource=status", "--type=merge", "-p", status)

    def create(self, name: str, labels: dict[str, str] | None = None, **spec: Any) -> None:  # noqa: ANN401
        """A master and three workers."""
        container = {"name": "pytorch", "image": "none", "resources": {"limits": {self.slot: "1"}}}
        tolerations = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
        role = {"template": {"spec": {"containers": [container], "tolerations": tolerations}}}
        roles = {"Master": role, "Worker": {"replicas": PODS - 1, **role}}
        metadata = {"name": name, "labels": labels or {}}
        body = {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "PyTorchJob", "metadata": metadata}
        self.cluster.api.create(self._jobs, {**body, "spec": {"pytorchReplicaSpecs": roles, **spec}})

    def edit(self, name: str, **spec: Any) -> None:  # noqa: ANN401
        """Fields of the spec, as a merge patch."""
        change = json.dumps({"spec": spec})
        self.cluster.kubectl("patch", "-n", self.namespace, JOBS, name, "--type=merge", "-p", change)

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
        replicas = [pod for pod in self.pods() if ATTEMPT in pod["metadata"]["labels"]]
        return Counter(pod["metadata"]["labels"][JOB] for pod in replicas if pod["spec"].get("nodeName"))

    def fail(self, pod: str) -> None:
        """Its container was killed."""
        self._end(pod, 137)

    def succeed(self, job: str) -> None:
        """All containers of a job end well."""
        for pod in self.pods():
            if pod["metadata"]["labels"][JOB] == job:
                self._end(pod["metadata"]["name"], 0)

    def _end(self, pod: str, code: int) -> None:
        ended = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": None, "finishedAt": None}
        status = {"name": "pytorch", "image": "none", "imageID": "", "ready": False, "restartCount": 0}
        phase = "Failed" if code else "Succeeded"
        change = json.dumps(
            {"status": {"phase": phase, "containerStatuses": [{**status, "state": {"terminated": ended}}]}}
        )
        where = ("-n", self.namespace, "pod", pod, "--subresource=status", "--type=merge")
        self.cluster.kubectl("patch", *where, "-p", change)
