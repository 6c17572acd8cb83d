"""The one Service of a job: it has no address and balances nothing, it gives every pod a name in DNS."""

from typing import Any

from kubedl.training import labels
from kubedl.training.job import Job
from kubedl.training.kind import Kind
from kubedl.training.pods import owner_reference
from kubedl.wire.core import SERVICES


def render(kind: Kind, job: Job) -> dict[str, Any]:
    """The Service as it is sent to the API server."""
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {
            "name": job.name,
            "namespace": job.namespace,
            "labels": labels.of_job(job),
            "ownerReferences": [owner_reference(kind, job)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,  # peers meet before anybody is ready
            "selector": {labels.JOB_UID: job.uid},
            "ports": [{"name": kind.port_name, "port": kind.port}],
        },
    }
