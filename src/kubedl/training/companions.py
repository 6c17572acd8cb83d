"""The objects beside the Service that a kind asks for: content of the kind's, belonging to the job."""

from typing import Any

from kubedl.training import labels
from kubedl.training.job import Job
from kubedl.training.kind import Companion, Kind
from kubedl.training.pods import owner_reference


def render(kind: Kind, job: Job, companion: Companion) -> dict[str, Any]:
    """The object as it is sent to the API server."""
    return {
        "apiVersion": companion.resource.api_version,
        "kind": companion.resource.kind,
        "metadata": {
            "name": companion.name,
            "namespace": job.namespace,
            "labels": labels.of_job(job),
            "ownerReferences": [owner_reference(kind, job)],
        },
        **companion.content,
    }
