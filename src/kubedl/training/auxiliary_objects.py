"""Auxiliary objects of a job besides the Service: the kind defines their content, and the job owns them."""

from typing import Any

from kubedl.runtime.ownership import owner_reference
from kubedl.training import labels
from kubedl.training.job import Job
from kubedl.training.kind import AuxiliaryObject, Kind


def render(kind: Kind, job: Job, companion: AuxiliaryObject) -> dict[str, Any]:
    """Render the object."""
    return {
        "apiVersion": companion.resource.api_version,
        "kind": companion.resource.kind,
        "metadata": {
            "name": companion.name,
            "namespace": job.namespace,
            "labels": labels.of_job(job),
            "ownerReferences": [owner_reference(kind.resource, job.resource)],
        },
        **companion.content,
    }
