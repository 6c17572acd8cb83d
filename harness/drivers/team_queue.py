"""A queue of the real Kueue for one namespace, with quota for so many pods."""

from collections.abc import Mapping

from harness.drivers.api_connection import Connection
from testbed.api import Api, Object

API, VERSION = "/apis/kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta2"
QUEUE, QUEUE_LABEL, PRIORITY_LABEL = "team", "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
RESOURCE = "cpu"


def publish(
    server: Connection | Api,
    namespace: str,
    quota: int,
    resource: str = RESOURCE,
    node_labels: Mapping[str, str] | None = None,
) -> None:
    """The queue, with two priorities; all that is in no namespace is called as the namespace."""

    def create(kind: str, plural: str, name: str, **body: object) -> None:
        whole = {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, **body}
        server.create(f"{API}/{plural}", whole)

    create("ResourceFlavor", "resourceflavors", namespace, spec={"nodeLabels": dict(node_labels or {})})
    for priority, value in (("low", 10), ("high", 1000)):
        create("WorkloadPriorityClass", "workloadpriorityclasses", f"{namespace}-{priority}", value=value)
    resources = [{"name": resource, "nominalQuota": str(quota)}]
    group = {"coveredResources": [resource], "flavors": [{"name": namespace, "resources": resources}]}
    spec = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [group],
    }
    create("ClusterQueue", "clusterqueues", namespace, spec=spec)
    create("LocalQueue", f"namespaces/{namespace}/localqueues", QUEUE, spec={"clusterQueue": namespace})


def role(node: str, container: str, replicas: int = 1) -> Object:
    """A role whose pods need one of the resource each, on a node by its name."""
    resources = {"requests": {RESOURCE: "1"}}
    spec = {"nodeName": node, "containers": [{"name": container, "image": "none", "resources": resources}]}
    return {"replicas": replicas, "template": {"spec": spec}}
