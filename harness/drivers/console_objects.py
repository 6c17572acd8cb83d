"""Objects of every kind that the console shows, as their controllers leave them, on a real API server.

Nobody acts on them: a test writes their status itself. Whatever text a person can write is an argument.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from harness.drivers.api_connection import MERGE_PATCH, Connection, unless_gone
from harness.drivers.operator_process import install_custom_resources
from harness.fakes.node import LEASES, NODES, RENEWAL, lease
from testbed import kueue
from testbed.api import ApiError, Object
from testbed.cluster import Cluster

TRAINING, MODEL, SERVING, APPS = "training.kubedl.io", "model.kubedl.io", "serving.kubedl.io", "apps.kubedl.io"
GPU = "nvidia.com/gpu"
EVERYTHING = ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]},)
# No controller evicts them from a node that nobody plays, and they are gone at once when they are deleted.
STAYS = {"tolerations": [{"operator": "Exists"}], "terminationGracePeriodSeconds": 0}


def define(cluster: Cluster) -> None:
    """Let the API server know every kind that the console shows; Kueue itself need not run."""
    install_custom_resources(cluster)
    cluster.install_custom_resources(kueue.PROGRAM)


def moment() -> str:
    """Now, as the API server writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def nodes(
    connection: Connection, offers: Mapping[str, Mapping[str, str]], cordoned: Collection[str] = ()
) -> Iterator[None]:
    """Nodes by name, with the `cpu`, `memory` and `gpu` that each offers; ready, though nobody runs their pods."""
    ended = asyncio.Event()

    async def live() -> None:
        while not ended.is_set():
            for name, offer in offers.items():
                with suppress(ApiError, OSError):
                    await connection.call("PATCH", f"{LEASES}/{name}", {"spec": lease(name)}, MERGE_PATCH)
                    if not _ready(await connection.call("GET", f"{NODES}/{name}")):  # it was counted as lost
                        status = {"status": node_status(offer)}
                        await connection.call("PATCH", f"{NODES}/{name}/status", status, MERGE_PATCH)
            await asyncio.sleep(RENEWAL)

    try:
        for name, offer in offers.items():
            connection.create(NODES, {"metadata": {"name": name}, "spec": {"unschedulable": name in cordoned}})
            connection.create(LEASES, {"metadata": {"name": name}, "spec": lease(name)})
            connection.patch(f"{NODES}/{name}/status", {"status": node_status(offer)})
        connection.background(live)
        yield
    finally:
        ended.set()
        for name in offers:
            for path in (NODES, LEASES):
                with unless_gone():
                    connection.delete(f"{path}/{name}")


def _ready(node: Object) -> bool:
    conditions = node["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def node_status(offer: Mapping[str, str]) -> Object:
    """What a kubelet says of a node that is ready."""
    offered = {GPU if key == "gpu" else key: value for key, value in offer.items()} | {"pods": "1000"}
    ready = {"type": "Ready", "status": "True", "reason": "Played", "message": ""}
    ready |= {"lastHeartbeatTime": moment(), "lastTransitionTime": moment()}
    return {"capacity": offered, "allocatable": offered, "conditions": [ready]}


@dataclass(frozen=True)
class Team:
    """The objects of one namespace."""

    connection: Connection
    namespace: str

    def path(self, group: str, plural: str, version: str = "v1alpha1") -> str:
        """Where objects of a kind are."""
        root = f"/apis/{group}/{version}" if group else "/api/v1"
        return f"{root}/namespaces/{self.namespace}/{plural}"

    def job(
        self,
        name: str,
        spec: Object | None = None,
        /,
        *,
        user: str = "",
        replicas: int = 1,
        status: Object,
        image: str = "train:1",
        queue: str = "",
        **requests: str,
    ) -> Object:
        """A job, with more of its spec and the requests of each replica."""
        container = {"name": "pytorch", "image": image, "resources": _requests(requests)}
        workers = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
        metadata: Object = {"annotations": {"kubedl.io/user": user}} if user else {}
        if queue:
            metadata["labels"] = {"kueue.x-k8s.io/queue-name": queue}
        whole = {"pytorchReplicaSpecs": {"Worker": workers}, **(spec or {})}
        return self._create((TRAINING, "PyTorchJob", "pytorchjobs"), name, whole, status, metadata)

    def pod(self, name: str, job: Object | None, on: str = "", phase: str = "Running", **requests: str) -> Object:
        """A pod of a job, whose replica is the end of its name (worker-0), or of nobody; on a node."""
        owners, labels = [], {}
        if job is not None:
            role, _, index = name.removeprefix(f"{job['metadata']['name']}-").rpartition("-")
            labels = {f"{TRAINING}/job-uid": job["metadata"]["uid"]}
            if index.isdecimal():
                labels |= {f"{TRAINING}/replica-type": role, f"{TRAINING}/replica-index": index}
            whose = {"apiVersion": job["apiVersion"], "kind": job["kind"], "controller": True}
            owners = [{**whose, "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}]
        container = {"name": "pytorch", "image": "train:1", "resources": _requests(requests)}
        spec = {"containers": [container], "schedulerName": "nobody", **STAYS, **({"nodeName": on} if on else {})}
        path = self.path("", "pods")
        metadata = {"name": name, "labels": labels, "ownerReferences": owners}
        made = self.connection.create(path, {"metadata": metadata, "spec": spec})
        if phase != "Pending":
            self.connection.patch(f"{path}/{name}/status", {"status": {"phase": phase}})
        return made

    def pod_status(self, name: str, **status: object) -> None:
        """What a kubelet says about a pod."""
        self.connection.patch(f"{self.path('', 'pods')}/{name}/status", {"status": status})

    def event(self, name: str, about: Object, kind: str, reason: str, message: str) -> None:
        """An event about an object."""
        meta = about["metadata"]
        subject = {"kind": kind, "name": meta["name"], "namespace": self.namespace, "uid": meta["uid"]}
        times = {"firstTimestamp": moment(), "lastTimestamp": moment()}
        body = {"metadata": {"name": name}, "involvedObject": subject, "reason": reason, "message": message}
        self.connection.create(self.path("", "events"), {**body, "type": "Warning", "count": 1, **times})

    def model(self, name: str, description: str, latest: str = "", versions: int = 0) -> Object:
        """A Model."""
        status = {"latestVersion": {"modelVersion": latest}, "versionCount": versions} if latest else {}
        return self._create((MODEL, "Model", "models"), name, {"description": description}, status)

    def version(self, name: str, model: str, status: Object, **spec: Any) -> Object:  # noqa: ANN401 - any field
        """A ModelVersion."""
        whole = {"modelName": model, "imageRepo": "hub.example/models", **spec}
        whole.setdefault("storage", {"claim": {"claimName": "models"}})
        return self._create((MODEL, "ModelVersion", "modelversions"), name, whole, status)

    def service(
        self, name: str, predictors: dict[str, tuple[str, int]], status: Object, rollout: Object | None = None
    ) -> Object:
        """An Inference; predictors have a version and a weight."""
        server = {"spec": {"containers": [{"name": "server", "image": "serve:1"}]}}
        wanted = [
            {"name": predictor, "modelVersion": version, "trafficWeight": weight, "template": server}
            for predictor, (version, weight) in predictors.items()
        ]
        spec = {"framework": "vLLM", "predictors": wanted, **({"rollout": rollout} if rollout else {})}
        return self._create((SERVING, "Inference", "inferences"), name, spec, status)

    def cron(self, name: str, status: Object, **spec: Any) -> Object:  # noqa: ANN401 - any field
        """A Cron of PyTorchJobs, suspended so that an operator beside it does nothing."""
        role = {"template": {"spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}}}
        workload = {"spec": {"pytorchReplicaSpecs": {"Master": role}}}
        template = {"apiVersion": f"{TRAINING}/v1alpha1", "kind": "PyTorchJob", "workload": workload}
        whole = {"schedule": "0 3 * * *", "template": template, "suspend": True, **spec}
        return self._create((APPS, "Cron", "crons"), name, whole, status)

    def local_queue(self, name: str, cluster_queue: str, status: Object) -> Object:
        """A LocalQueue of Kueue."""
        return self._create((kueue.GROUP, "LocalQueue", "localqueues"), name, {"clusterQueue": cluster_queue}, status)

    def workload(self, name: str, queue: str, message: str, **requests: str) -> Object:
        """A Workload that waits."""
        container = {"name": "pytorch", "image": "train:1", "resources": _requests(requests)}
        template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
        spec = {"queueName": queue, "podSets": [{"name": "worker", "count": 1, "template": template}]}
        condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": message}
        status = {"conditions": [{**condition, "lastTransitionTime": moment()}]}
        return self._create((kueue.GROUP, "Workload", "workloads"), name, spec, status)

    def _create(
        self, what: tuple[str, str, str], name: str, spec: Object, status: Object, metadata: Object | None = None
    ) -> Object:
        group, kind, plural = what
        version = "v1beta2" if group == kueue.GROUP else "v1alpha1"
        path = self.path(group, plural, version)
        head = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": name, **(metadata or {})}}
        made = self.connection.create(path, {**head, "spec": spec})
        return self.connection.patch(f"{path}/{name}/status", {"status": status}) if status else made


def cluster_queue(connection: Connection, name: str, quota: dict[str, str], status: Object) -> None:
    """A ClusterQueue of Kueue with one flavor."""
    resources = [{"name": key, "nominalQuota": value} for key, value in quota.items()]
    group = {"coveredResources": list(quota), "flavors": [{"name": "a100", "resources": resources}]}
    path = f"/apis/{kueue.GROUP}/v1beta2/clusterqueues"
    head = {"apiVersion": f"{kueue.GROUP}/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name}}
    connection.create(path, {**head, "spec": {"resourceGroups": [group]}})
    if status:
        connection.patch(f"{path}/{name}/status", {"status": status})


def _requests(given: dict[str, str]) -> Object:
    """Requests by short names; extended resources must have a limit too."""
    wanted = {GPU if key == "gpu" else key: value for key, value in given.items()}
    limits = {GPU: wanted[GPU]} if GPU in wanted else {}
    return {"requests": wanted, **({"limits": limits} if limits else {})}
