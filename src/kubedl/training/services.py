"""The headless Service of a job, which gives every pod a DNS name."""

from typing import Any

from kubedl.kube.types.core import SERVICES
from kubedl.runtime.ownership import owner_reference
from kubedl.training import labels
from kubedl.training.job import Job
from kubedl.training.kind import Kind


def render(kind: Kind, job: Job) -> dict[str, Any]:
    """Render the Service."""
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {
            "name": job.name,
            "namespace": job.namespace,
            "labels": labels.of_job(job),
            "ownerReferences": [owner_reference(kind.resource, job.resource)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,  # peers connect before they are ready
            "selector": {labels.JOB_UID: job.uid},
            "ports": [{"name": kind.port_name, "port": kind.port}],
        },
    }
