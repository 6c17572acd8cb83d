"""The Workload of a job: what Kueue counts, and how its admission reaches the pods. Pure."""

import hashlib
from typing import Any

from kubedl.kube import codec
from kubedl.runtime.ownership import owner_reference
from kubedl.training import labels, template
from kubedl.training.job import Job, JobRole
from kubedl.training.kind import Kind
from kubedl.training.kueue.plan import POD_SETS
from kubedl.training.kueue.queue import Queue
from kubedl.training.kueue.types import GROUP, WORKLOADS

Body = dict[str, Any]

JOB_UID = f"{GROUP}/job-uid"
OF_THE_POD = ("affinity", "nodeSelector", "overhead", "priorityClassName", "runtimeClassName", "tolerations")
OF_THE_CONTAINER = ("image", "name", "resources", "restartPolicy")
TOPOLOGY = {  # annotations of a template, and what they become in a pod set
    f"{GROUP}/podset-required-topology": "required",
    f"{GROUP}/podset-preferred-topology": "preferred",
    f"{GROUP}/podset-unconstrained-topology": "unconstrained",
}


def workload_name(job: Job) -> str:
    """The name of the Workload, unique to this job by its uid."""
    return job.auxiliary_name("workload")


def render(kind: Kind, job: Job, queue: str, priority: int, priority_class: Body | None) -> Body:
    """Render the Workload. Its priority is always set: without one Kueue's list of waiting jobs breaks."""
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": workload_name(job),
            "namespace": job.namespace,
            "labels": {labels.JOB_NAME: job.name, JOB_UID: job.uid},
            "annotations": {POD_SETS: digest(job)},
            "ownerReferences": [owner_reference(kind.resource, job.resource)],
        },
        "spec": {
            "queueName": queue,
            "priority": priority,
            **({"priorityClassRef": priority_class} if priority_class is not None else {}),
            "podSets": pod_sets(job),
        },
    }


def pod_sets(job: Job) -> list[Body]:
    """What Kueue counts: the pods of each role."""
    return [_pod_set(job, role) for role in job.roles.values() if role.replicas]


def digest(job: Job) -> str:
    """By which a job that was resized or edited is known."""
    return hashlib.sha256(codec.encode(pod_sets(job))).hexdigest()[:16]


def apply_admission(pod: Body, role: str, queue: Queue) -> None:
    """Send a pod to the nodes of the flavors that its role was admitted to."""
    spec = pod["spec"]
    for flavor in queue.flavors_of(role):
        tolerations = [one.unpack() for one in flavor.spec.tolerations]
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **flavor.spec.node_labels}
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *tolerations]


def _pod_set(job: Job, role: JobRole) -> Body:
    given = template.read(role.name, role.template)
    spec, notes = given["spec"], (given.get("metadata") or {}).get("annotations") or {}
    policy = job.spec.scheduling_policy
    kept = {field: spec[field] for field in OF_THE_POD if spec.get(field) is not None}
    if policy is not None and policy.priority_class_name:
        kept.setdefault("priorityClassName", policy.priority_class_name)
    for field in ("initContainers", "containers"):
        containers = spec.get(field) or ()
        kept[field] = [{key: one[key] for key in OF_THE_CONTAINER if one.get(key) is not None} for one in containers]
    topology = {wish: notes[name] for name, wish in TOPOLOGY.items() if name in notes}
    if "unconstrained" in topology:
        topology["unconstrained"] = topology["unconstrained"] == "true"
    return {
        "name": role.name.lower(),
        "count": role.replicas,
        "template": {"spec": {**kept, "restartPolicy": "Never"}},
        **({"topologyRequest": topology} if topology else {}),
    }
