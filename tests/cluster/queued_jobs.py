"""Small jobs in queues of the real Kueue, on simulated nodes that end their pods when told."""

import json
from typing import Any

from harness.drivers.team_queue import API, PRIORITY_LABEL, QUEUE, QUEUE_LABEL
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.kwok import ENDS_AFTER

NODES = 2
TRAINING = "/apis/training.kubedl.io/v1alpha1"
JOB, ATTEMPT = "training.kubedl.io/job-name", "training.kubedl.io/attempt"
TOLERATIONS = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]


class QueuedJobs:
    """The jobs of one namespace. No retry is allowed, so whatever counts as one fails its job."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace
        self._jobs = f"{TRAINING}/namespaces/{namespace}/pytorchjobs"

    def submit(
        self,
        name: str,
        queue: str = QUEUE,
        *,
        priority: str = "low",
        ends_after: str = "",
        workers: int = 0,
        annotations: dict[str, str] | None = None,
        topology: dict[str, str] | None = None,
        **spec: Any,  # noqa: ANN401
    ) -> None:
        """A job of pods that need one processor each; they run until told unless they end by themselves."""
        labels = {PRIORITY_LABEL: f"{self.namespace}-{priority}"} | ({QUEUE_LABEL: queue} if queue else {})
        notes = {**(topology or {}), **({ENDS_AFTER: ends_after} if ends_after else {})}
        container = {"name": "pytorch", "image": "none", "resources": {"requests": {"cpu": "1"}}}
        template = {"metadata": {"annotations": notes}, "spec": {"containers": [container], "tolerations": TOLERATIONS}}
        roles = {"Master": {"template": template}, "Worker": {"replicas": workers, "template": template}}
        body = {
            "apiVersion": "training.kubedl.io/v1alpha1",
            "kind": "PyTorchJob",
            "metadata": {"name": name, "labels": labels, "annotations": annotations or {}},
            "spec": {"pytorchReplicaSpecs": roles, "backoffLimit": 0, **spec},
        }
        self.cluster.api.create(self._jobs, body)

    def job(self, name: str) -> Object:
        return self.cluster.api.get(f"{self._jobs}/{name}")

    def status(self, name: str) -> Object:
        found: Object = self.job(name).get("status") or {}
        return found

    def states(self) -> dict[str, str]:
        """The state of each job, by name."""
        jobs = self.cluster.api.list(self._jobs)
        return {one["metadata"]["name"]: (one.get("status") or {}).get("state", "") for one in jobs}

    def in_state(self, *states: str) -> set[str]:
        """The jobs in one of these states."""
        return {name for name, state in self.states().items() if state in states}

    def pods(self, job: str) -> list[Object]:
        found = self.cluster.api.list(f"/api/v1/namespaces/{self.namespace}/pods?labelSelector={JOB}%3D{job}")
        return [pod for pod in found if ATTEMPT in pod["metadata"]["labels"]]

    def end(self, job: str) -> None:
        """The pods of a job end well."""
        for pod in self.pods(job):
            name = pod["metadata"]["name"]
            self.cluster.kubectl("annotate", "-n", self.namespace, "pod", name, f"{ENDS_AFTER}=0s")

    def workloads(self) -> dict[str, Object]:
        """The Workloads, by job."""
        found = self.cluster.api.list(f"{API}/namespaces/{self.namespace}/workloads")
        return {one["metadata"]["labels"].get(JOB, one["metadata"]["name"]): one for one in found}

    def change_queue(self, cluster_queue: str, **spec: object) -> None:
        """Another spec of a ClusterQueue."""
        change = json.dumps({"spec": spec})
        self.cluster.kubectl("patch", "clusterqueue", cluster_queue, "--type=merge", "-p", change)
