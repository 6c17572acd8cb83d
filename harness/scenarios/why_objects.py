"""Objects for situations in which a job does not run: jobs, and what a kubelet would write about their pods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.drivers.api_connection import Connection
from testbed.api import Object
from testbed.waiting import until

TRAINING = "training.kubedl.io/v1alpha1"
TOLERATION = {"key": "kwok.x-k8s.io/node", "operator": "Exists"}
ANYWHERE = {"operator": "Exists"}


@dataclass
class World:
    """A namespace for ordinary situations, names of others, a node without kubelet, and the means to make objects."""

    connection: Connection
    namespace: str
    spaces: Mapping[str, str]  # purpose → namespace with its own admission
    mute: str  # node without kubelet

    def create(self, path: str, body: Object) -> None:
        self.connection.create(path, body)

    def job(self, name: str, *, space: str = "", labels: Object | None = None, **parts: Any) -> None:  # noqa: ANN401
        """A PyTorchJob of a master and `workers`; `pod`, `container` and `spec` are fields of those."""
        container = {"name": "pytorch", "image": "none", **parts.get("container", {})}
        pod = {
            "containers": [container],
            "tolerations": [TOLERATION],
            "nodeSelector": {"type": "kwok"},
            **parts.get("pod", {}),
        }
        role = {"template": {"spec": pod}, "restartPolicy": parts.get("policy", "Never")}
        roles: Object = {"Master": role}
        if parts.get("workers"):
            roles["Worker"] = {**role, "replicas": parts["workers"], **parts.get("worker", {})}
        namespace = self.spaces[space] if space else self.namespace
        metadata = {"name": name, "labels": labels or {}, "annotations": parts.get("annotations", {})}
        body = {"apiVersion": TRAINING, "kind": "PyTorchJob", "metadata": metadata}
        spec = {"pytorchReplicaSpecs": roles, **parts.get("spec", {})}
        self.create(f"/apis/{TRAINING}/namespaces/{namespace}/pytorchjobs", {**body, "spec": spec})

    def pod(self, name: str) -> str:
        """The path of a pod, when it is there."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}"
        until(f"pod {name}", lambda: self._exists(path), deadline=60)
        return path

    def _exists(self, path: str) -> bool:
        listed = self.connection.get(path.rpartition("/")[0])["items"]
        return any(one["metadata"]["name"] == path.rpartition("/")[2] for one in listed)

    def play(self, name: str, **status: Any) -> None:  # noqa: ANN401
        """Write the status of a pod as its kubelet would."""
        self.connection.patch(f"{self.pod(name)}/status", {"status": status})

    def mute_job(self, name: str, **parts: Any) -> None:  # noqa: ANN401
        """A job on the node without kubelet."""
        self.job(
            name,
            pod={"nodeName": self.mute, "nodeSelector": {}, "tolerations": [ANYWHERE], **parts.pop("pod", {})},
            **parts,
        )

    def waits(self, name: str, reason: str, message: str = "") -> None:
        """A job whose container waits, by its kubelet."""
        self.mute_job(name)
        state = {"waiting": {"reason": reason, "message": message}}
        self.play(f"{name}-master-0", containerStatuses=[_status(state)])

    def ends(self, name: str, code: int, reason: str = "Error", message: str = "", **parts: Any) -> None:  # noqa: ANN401
        """A job whose container has ended, by its kubelet."""
        self.mute_job(name, **parts)
        ended = {"exitCode": code, "reason": reason, "message": message, "startedAt": None, "finishedAt": None}
        self.play(f"{name}-master-0", phase="Failed", containerStatuses=[_status({"terminated": ended})])

    def event(self, pod: str, reason: str, message: str) -> None:
        """An event as a kubelet writes it."""
        found = self.connection.get(self.pod(pod))
        about = {
            "kind": "Pod",
            "namespace": self.namespace,
            "name": pod,
            "uid": found["metadata"]["uid"],
            "apiVersion": "v1",
        }
        moment = found["metadata"]["creationTimestamp"]
        body = {"involvedObject": about, "reason": reason, "message": message, "type": "Warning", "count": 1}
        body |= {"metadata": {"name": f"{pod}.{reason.lower()}"}, "firstTimestamp": moment, "lastTimestamp": moment}
        self.create(f"/api/v1/namespaces/{self.namespace}/events", {**body, "source": {"component": "kubelet"}})


def _status(state: Object) -> Object:
    return {"name": "pytorch", "image": "none", "imageID": "", "ready": False, "restartCount": 0, "state": state}
