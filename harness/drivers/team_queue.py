"""Queues of the real Kueue for one namespace, with quota for so many pods."""

from collections.abc import Mapping, Sequence

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
    *node_labels: Mapping[str, str],
    topology: str = "",
) -> None:
    """A queue, with two priorities; all that is in no namespace is called as the namespace.

    It has a flavor for each of these labels, with so much quota each.
    """
    flavors = publish_flavors(server, namespace, *node_labels, topology=topology)
    publish_queue(server, namespace, QUEUE, quota, resource, cluster_queue=namespace, flavors=flavors)


def publish_flavors(
    server: Connection | Api, namespace: str, *node_labels: Mapping[str, str], topology: str = ""
) -> list[str]:
    """What queues of this namespace have quota of, by name, and two priorities."""
    flavors = {f"{namespace}-{number}" if number else namespace: one for number, one in enumerate(node_labels or [{}])}
    for name, labels in flavors.items():
        spec = {"nodeLabels": dict(labels), **({"topologyName": topology} if topology else {})}
        _create(server, "ResourceFlavor", "resourceflavors", name, spec=spec)
    for priority, value in (("low", 10), ("high", 1000)):
        _create(server, "WorkloadPriorityClass", "workloadpriorityclasses", f"{namespace}-{priority}", value=value)
    return list(flavors)


def publish_queue(  # noqa: PLR0913 - a queue of Kueue has as many parts
    server: Connection | Api,
    namespace: str,
    name: str,
    quota: int,
    resource: str = RESOURCE,
    *,
    cluster_queue: str = "",
    flavors: Sequence[str] = (),
    preemption: Object | None = None,
    **spec: object,
) -> None:
    """One more queue, by default of the first flavor, and with a ClusterQueue that is called as namespace and queue."""
    resources = [{"name": resource, "nominalQuota": str(quota)}]
    quotas = [{"name": flavor, "resources": resources} for flavor in flavors or [namespace]]
    group = {"coveredResources": [resource], "flavors": quotas}
    whole = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "preemption": {"withinClusterQueue": "LowerPriority", **(preemption or {})},
        "resourceGroups": [group],
        **spec,
    }
    theirs = cluster_queue or f"{namespace}-{name}"
    _create(server, "ClusterQueue", "clusterqueues", theirs, spec=whole)
    _create(server, "LocalQueue", f"namespaces/{namespace}/localqueues", name, spec={"clusterQueue": theirs})


def role(node: str, container: str, replicas: int = 1) -> Object:
    """A role whose pods need one of the resource each, on a node by its name."""
    resources = {"requests": {RESOURCE: "1"}}
    spec = {"nodeName": node, "containers": [{"name": container, "image": "none", "resources": resources}]}
    return {"replicas": replicas, "template": {"spec": spec}}


def _create(server: Connection | Api, kind: str, plural: str, name: str, **body: object) -> None:
    server.create(f"{API}/{plural}", {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, **body})
