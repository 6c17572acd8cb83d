"""The Workload of a job: what Kueue counts. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Any

from kubedl.api.kueue import GROUP
from kubedl.kube import codec
from kubedl.podspec.template import TemplateError
from kubedl.runtime.ownership import owner_reference
from kubedl.training import labels, template
from kubedl.training.job import Job, JobRole
from kubedl.training.kind import Kind
from kubedl.training.kueue.admission import LONGEST_NUMBER, PARTIAL_ROLE, TOPOLOGY_REQUESTS, min_count
from kubedl.training.kueue.plan import POD_SETS
from kubedl.training.kueue.types import WORKLOADS
from kubedl.training.placement.pod_spec import use_pools
from kubedl.training.placement.wish import is_requested, wishes

Body = dict[str, Any]

JOB_UID = f"{GROUP}/job-uid"
OF_THE_POD = ("affinity", "nodeSelector", "overhead", "priorityClassName", "runtimeClassName", "tolerations")
OF_THE_CONTAINER = ("image", "name", "resources", "restartPolicy")
TOPOLOGY = dict(zip(TOPOLOGY_REQUESTS, ("required", "preferred", "unconstrained"), strict=True))
TOPOLOGY_PARTS = {  # further annotations of a template, and what they become in a pod set
    f"{GROUP}/podset-slice-required-topology": "podSetSliceRequiredTopology",
    f"{GROUP}/podset-slice-size": "podSetSliceSize",
    f"{GROUP}/podset-group-name": "podSetGroupName",
}
PROVISIONING = "provreq.kueue.x-k8s.io/"  # prefix of a job's annotations for the ProvisioningRequest


def workload_name(job: Job) -> str:
    """The name of the Workload, unique to this job by its uid."""
    return job.auxiliary_name("workload")


def render(
    kind: Kind, job: Job, queue: str, priority: int, priority_class: Body | None, requests: Mapping[str, Body]
) -> Body:
    """Render the Workload, with topology requests by role.

    Its priority is always set: without one Kueue's list of waiting jobs breaks.
    """
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": workload_name(job),
            "namespace": job.namespace,
            "labels": {labels.JOB_NAME: job.name, JOB_UID: job.uid},
            "annotations": {**_provisioning(job), POD_SETS: digest(job)},
            "ownerReferences": [owner_reference(kind.resource, job.resource)],
        },
        "spec": {
            "queueName": queue,
            "priority": priority,
            **({"priorityClassRef": priority_class} if priority_class is not None else {}),
            "podSets": [
                {**one, "topologyRequest": requests[one["name"]]} if one["name"] in requests else one
                for one in pod_sets(job)
            ],
        },
    }


def pod_sets(job: Job) -> list[Body]:
    """What Kueue counts: the pods of each role."""
    return [_pod_set(job, role) for role in job.roles.values() if role.replicas]


def digest(job: Job) -> str:
    """By which a job that was resized or edited is known; empty if a template cannot be read."""
    try:
        return hashlib.sha256(codec.encode(pod_sets(job))).hexdigest()[:16]
    except TemplateError:
        return ""


def unreadable(job: Job) -> str:
    """Why a job can have no Workload: one of its templates is invalid; empty if it can."""
    try:
        pod_sets(job)
    except TemplateError as error:
        return str(error)
    return ""


def _pod_set(job: Job, role: JobRole) -> Body:
    given = template.read(role.name, role.template)
    spec, notes = given["spec"], (given.get("metadata") or {}).get("annotations") or {}
    wish = wishes(job.resource).get(role.name.lower()) if is_requested(job.resource) else None
    if wish is not None:
        use_pools(spec, wish.placement)  # so that Kueue admits to no other flavors
    policy = job.spec.scheduling_policy
    kept = {field: spec[field] for field in OF_THE_POD if spec.get(field) is not None}
    if policy is not None and policy.priority_class_name:
        kept["priorityClassName"] = kept.get("priorityClassName") or policy.priority_class_name
    for field in ("initContainers", "containers"):
        containers = spec.get(field) or ()
        kept[field] = [{key: one[key] for key in OF_THE_CONTAINER if one.get(key) is not None} for one in containers]
    topology = _topology(notes)
    least = min_count(job) if role.name == PARTIAL_ROLE else None
    return {
        "name": role.name.lower(),
        "count": role.replicas,
        **({"minCount": least} if least is not None else {}),
        "template": {"spec": {**kept, "restartPolicy": "Never"}},
        **({"topologyRequest": topology} if topology else {}),
    }


def _topology(notes: Mapping[str, str]) -> Body:
    """The request of a template's annotations. A size that is no number is passed on; the API server refuses it."""
    request: Body = {wish: notes[name] for name, wish in TOPOLOGY.items() if name in notes}
    if "unconstrained" in request:
        request["unconstrained"] = request["unconstrained"] == "true"
    request |= {part: notes[name] for name, part in TOPOLOGY_PARTS.items() if name in notes}
    size = request.get("podSetSliceSize", "")
    if size.isdecimal() and len(size) <= LONGEST_NUMBER:
        request["podSetSliceSize"] = int(size)
    return {**request, "podIndexLabel": labels.REPLICA_INDEX} if request else {}


def _provisioning(job: Job) -> dict[str, str]:
    annotations = job.resource.metadata.annotations.items()
    return {name: value for name, value in annotations if name.startswith(PROVISIONING)}
