"""The Service of one replica on the host network.

It has a ClusterIP and the port of the kind, which peers know before the replica has a node; its target is the port that
the replica's pod has now.
"""

from typing import Any

from kubedl.kube.types.core import SERVICES, Service
from kubedl.runtime.ownership import owner_reference
from kubedl.training import labels
from kubedl.training.host_network.ports import host_port
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.observed import Observed
from kubedl.training.policies.clean_pod_policy import ENDED


def render(kind: Kind, job: Job, replica: Replica, target: int) -> dict[str, Any]:
    """Render the Service; it has the name of the pod."""
    of_replica = labels.of_replica(job, replica)
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {
            "name": job.pod_name(replica),
            "namespace": job.namespace,
            "labels": of_replica,
            "ownerReferences": [owner_reference(kind.resource, job.resource)],
        },
        "spec": {
            "publishNotReadyAddresses": True,  # peers connect before they are ready
            "selector": of_replica,
            "ports": ports(job, replica, target),
        },
    }


def ports(job: Job, replica: Replica, target: int) -> list[dict[str, Any]]:
    """The ports of the Service."""
    return [{"name": job.port_name, "port": job.port(replica.role), "targetPort": target, "protocol": "TCP"}]


def target(service: Service) -> int | str | None:
    """Return the port to which a Service leads."""
    return service.spec.ports[0].target_port if service.spec.ports else None


def observed_ports(observed: Observed) -> dict[str, int]:
    """Return the host port of each pod that lives, by its name."""
    living = (
        pod
        for pod in observed.pods
        if pod.status.phase not in ENDED and pod.metadata.deletion_timestamp is None  # its successor gets another port
    )
    return {pod.metadata.name: port for pod in living if (port := host_port(pod)) is not None}


def outdated(observed: Observed, wanted: dict[str, int]) -> list[str]:
    """Return the pods whose Service is missing, or leads elsewhere."""
    found = {service.metadata.name: target(service) for service in observed.services}
    return [name for name, port in wanted.items() if found.get(name) != port]
