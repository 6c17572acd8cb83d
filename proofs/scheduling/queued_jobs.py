"""Many small jobs in a queue: ours, and batch/v1 Jobs that are the same for Kueue, the scheduler and the nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.drivers.api_connection import Connection
from harness.drivers.team_queue import PRIORITY_LABEL, QUEUE, QUEUE_LABEL, RESOURCE
from testbed.api import Object
from testbed.kwok import ENDS_AFTER

TRAINING, BATCH = "/apis/training.kubedl.io/v1alpha1", "/apis/batch/v1"
TOLERATIONS = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]


@dataclass(frozen=True)
class Order:
    """A job to be submitted."""

    name: str
    pods: int = 1
    priority: str = "low"
    ends_after: str = "0s"


def template(order: Order, container: str) -> Object:
    """Pods of one processor each, on simulated nodes, that end by themselves."""
    resources = {"requests": {RESOURCE: "1"}}
    spec = {
        "containers": [{"name": container, "image": "none", "resources": resources}],
        "tolerations": TOLERATIONS,
    }
    return {"metadata": {"annotations": {ENDS_AFTER: order.ends_after}}, "spec": spec}


def ours(namespace: str, order: Order) -> Object:
    """A PyTorchJob. No retry is allowed, so whatever counts as one fails the job."""
    made = template(order, "pytorch")
    roles: Object = {"Master": {"template": made}}
    if order.pods > 1:
        roles["Worker"] = {"replicas": order.pods - 1, "template": made}
    # All pods at once, as those of a batch/v1 Job, and all of them have to succeed.
    spec = {"backoffLimit": 0, "successPolicy": "AllReplicas", "pytorchReplicaSpecs": roles}
    return {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": {"name": order.name, "labels": _labels(namespace, order)},
        "spec": spec,
    }


def theirs(namespace: str, order: Order) -> Object:
    """A batch/v1 Job, suspended as Kueue's webhook would have it."""
    made = template(order, "main")
    made["spec"]["restartPolicy"] = "Never"
    spec = {"suspend": True, "parallelism": order.pods, "completions": order.pods, "backoffLimit": 0, "template": made}
    meta = {"name": order.name, "labels": _labels(namespace, order)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def submit(connection: Connection, namespace: str, orders: Sequence[Order], *, batch: bool = False) -> None:
    """Create them all, several at a time."""
    path = f"{BATCH}/namespaces/{namespace}/jobs" if batch else f"{TRAINING}/namespaces/{namespace}/pytorchjobs"
    make = theirs if batch else ours
    connection.each(orders, lambda order: connection.call("POST", path, make(namespace, order)))


def _labels(namespace: str, order: Order) -> dict[str, str]:
    return {QUEUE_LABEL: QUEUE, PRIORITY_LABEL: f"{namespace}-{order.priority}"}
