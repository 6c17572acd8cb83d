"""Every node is lost for a while, then one alone: `python -m proofs.defects.nodeloss`.

A job has a pod on each simulated node. First nobody renews the nodes' Leases, as when kubelets cannot reach the API
server: no pod may be deleted, and the job must say why. Then a single node stays lost: its pod must be replaced.
"""

import json
import sys
import time
from dataclasses import dataclass

from benchmarks.environment import FULL, fresh_namespace, say, stage
from harness.drivers.operator_process import Operator
from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.faults import Faults
from testbed.kwok import KIND, LABEL
from testbed.waiting import until

JOBS = "/apis/training.kubedl.io/v1alpha1/namespaces/{}/pytorchjobs"
NODES = f"/api/v1/nodes?labelSelector={LABEL}%3D{KIND}"


@dataclass(frozen=True)
class Size:
    """How many nodes, how long they may be away, and how long they are."""

    nodes: int
    grace: int
    outage: int


SIZE = Size(30, 60, 120) if FULL else Size(10, 4, 10)


@dataclass(frozen=True)
class Job:
    """The job that has a pod on every node."""

    cluster: Cluster
    namespace: str

    def create(self) -> None:
        """One pod for each node, wherever the scheduler puts it."""
        spread = {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"job-name": "spread"}},
        }
        pod = {
            "containers": [{"name": "pytorch", "image": "none"}],
            "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}],
            "topologySpreadConstraints": [spread],
        }
        role = {"replicas": SIZE.nodes, "template": {"spec": pod}}
        spec = {"restartScope": "Replica", "pytorchReplicaSpecs": {"Worker": role}}
        body = {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "PyTorchJob", "metadata": {"name": "spread"}}
        self.cluster.api.create(JOBS.format(self.namespace), {**body, "spec": spec})

    def condition(self, kind: str) -> str:
        """The reason of a condition that holds; empty if it does not."""
        status = self.cluster.api.get(f"{JOBS.format(self.namespace)}/spread").get("status", {})
        found = [one for one in status.get("conditions", []) if one["type"] == kind and one["status"] == "True"]
        return str(found[0]["reason"]) if found else ""

    def pods(self) -> dict[str, Object]:
        """By uid."""
        found = self.cluster.api.list(f"/api/v1/namespaces/{self.namespace}/pods")
        return {pod["metadata"]["uid"]: pod for pod in found}

    def touched(self, before: dict[str, Object]) -> int:
        """How many of these pods are gone, or told to go."""
        now = self.pods()
        return sum(uid not in now or "deletionTimestamp" in now[uid]["metadata"] for uid in before)


def main() -> int:
    """Both losses, and what became of the pods."""
    with stage(kwok=SIZE.nodes) as cluster, fresh_namespace(cluster) as namespace:
        arguments = ("--namespace", namespace, "--node-grace-seconds", str(SIZE.grace))
        with Operator(cluster, arguments=arguments) as operator:
            job = Job(cluster, namespace)
            job.create()
            until("every pod to run", lambda: operator.insist() or job.condition("Running"), deadline=120)
            print(json.dumps({"nodes": SIZE.nodes, **lose_all(cluster, job), **lose_one(cluster, job)}))
    return 0


def lose_all(cluster: Cluster, job: Job) -> dict[str, str | float]:
    """Nobody renews a Lease any more, for as long as the outage is."""
    before = job.pods()
    with Faults(cluster).dead("kwok"):
        until("every node to be lost", lambda: _lost(cluster) == SIZE.nodes, deadline=60)
        began = time.monotonic()
        until("the job to say so", lambda: job.condition("NodesLost"), deadline=SIZE.grace + 60)
        said = job.condition("NodesLost")
        until("the outage to be over", lambda: time.monotonic() - began >= SIZE.outage, deadline=SIZE.outage + 60)
        lost, touched, lasted = _lost(cluster), job.touched(before), time.monotonic() - began
    until("every node to be back", lambda: _lost(cluster) == 0, deadline=120)
    until("the job to say so", lambda: not job.condition("NodesLost"), deadline=120)
    say(f"{lost} of {SIZE.nodes} nodes were lost for {lasted:.0f} s: {said}")
    return {
        "lost": lost,
        "outage seconds": round(lasted),
        "condition": said,
        "pods deleted in the outage": touched,
        "pods deleted after the outage": job.touched(before),
    }


def lose_one(cluster: Cluster, job: Job) -> dict[str, float]:
    """One node is nobody's any more: its Lease runs out, and its pod comes back elsewhere."""
    before = job.pods()
    name = next(iter(before.values()))["spec"]["nodeName"]
    _label(cluster, name, "nobody")
    try:
        until(f"{name} to be lost", lambda: not is_true(cluster.api.get(f"/api/v1/nodes/{name}"), "Ready"), deadline=60)
        began = time.monotonic()
        until("its pod to be replaced", lambda: _is_whole(job, before), deadline=SIZE.grace + 60)
        took = time.monotonic() - began
    finally:
        _label(cluster, name, KIND)
    until("the node to be back", lambda: is_true(cluster.api.get(f"/api/v1/nodes/{name}"), "Ready"), deadline=120)
    return {"replaced after one loss": sum(uid not in before for uid in job.pods()), "seconds": round(took, 1)}


def _is_whole(job: Job, before: dict[str, Object]) -> bool:
    now = job.pods()
    return len(now) == SIZE.nodes and now.keys() != before.keys()


def _label(cluster: Cluster, name: str, value: str) -> None:
    """kwok plays the nodes that have its label."""
    path = f"/api/v1/nodes/{name}"
    node = cluster.api.get(path)
    node["metadata"]["labels"][LABEL] = value
    node["metadata"].pop("resourceVersion")  # the node controller writes at the same time
    cluster.api.call("PUT", path, node)


def _lost(cluster: Cluster) -> int:
    return sum(not is_true(node, "Ready") for node in cluster.api.list(NODES))


if __name__ == "__main__":
    sys.exit(main())
