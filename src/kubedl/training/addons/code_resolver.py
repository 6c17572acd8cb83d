"""The pod that finds out which commit a gang runs.

All pods of a gang are created at once, so no replica can be the first to report its commit. This pod is small, runs
alone, and is deleted when the commit is in the job's status.
"""

from typing import Any

from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import PODS
from kubedl.runtime.ownership import owner_reference
from kubedl.training import labels, template
from kubedl.training.job import Job
from kubedl.training.kind import Kind

Body = dict[str, Any]

ROLE = "code"
# Where the pods of the job may run, and as whom they pull images.
OF_THE_TEMPLATE = ("imagePullSecrets", "nodeSelector", "securityContext", "tolerations")
RESOURCES = {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"cpu": "50m", "memory": "32Mi"}}


def resolver_name(resource: TrainingJob) -> str:
    """Return the name of the pod, unique to this job by its uid."""
    return f"{resource.metadata.name}-{ROLE}-{resource.metadata.uid[:8]}"


def render(kind: Kind, job: Job, image: str, security: Body) -> Body:
    """Render the pod without the init container that fetches the code; its own container does nothing."""
    role = job.roles[job.leader.role]
    given = template.read(role.name, role.template)["spec"]
    container = {
        "name": job.container,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["true"],
        "resources": RESOURCES,
        "securityContext": security,
    }
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            "name": resolver_name(job.resource),
            "namespace": job.namespace,
            # Not those of replicas: the Service of the job must not select it.
            "labels": {labels.JOB_NAME: job.name, labels.REPLICA_TYPE: ROLE, labels.REPLICA_INDEX: "0"},
            "annotations": {},
            "ownerReferences": [owner_reference(kind.resource, job.resource)],
        },
        "spec": {
            **{field: given[field] for field in OF_THE_TEMPLATE if given.get(field) is not None},
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "containers": [container],
        },
    }
