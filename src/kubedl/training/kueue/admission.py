"""How an admission reaches the pods of a job: their number, their nodes, and what admission checks add. Pure."""

from typing import Any

from kubedl.api.kueue import GROUP
from kubedl.training.job import Job
from kubedl.training.kueue.queue import Queue
from kubedl.training.kueue.types import PodSetUpdate

Body = dict[str, Any]

MIN_PARALLELISM = f"{GROUP}/job-min-parallelism"  # annotation of a job, as of a batch/v1 Job
PARTIAL_ROLE = "Worker"
LONGEST_NUMBER = 9  # digits
POD_SET, WORKLOAD = f"{GROUP}/podset", f"{GROUP}/workload"  # label and annotation of a pod whose nodes Kueue chooses
TOPOLOGY_GATE = f"{GROUP}/topology"
UNCONSTRAINED = f"{GROUP}/podset-unconstrained-topology"
TOPOLOGY_REQUESTS = (
    f"{GROUP}/podset-required-topology",
    f"{GROUP}/podset-preferred-topology",
    UNCONSTRAINED,
)


def min_count(job: Job) -> int | None:
    """The number of workers that suffice to start, if the job asks for partial admission."""
    text = job.resource.metadata.annotations.get(MIN_PARALLELISM, "")
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else None


def refusal(job: Job) -> str | None:
    """Why a job cannot be in a queue: it is elastic, or asks for partial admission and cannot have it."""
    if job.spec.elastic is not None:
        return "spec.elastic: an elastic job cannot wait in a queue, since quota is for a fixed number of pods"
    if MIN_PARALLELISM not in job.resource.metadata.annotations:
        return None
    least, most = min_count(job), job.count(PARTIAL_ROLE)
    if least is not None and 1 <= least <= most:
        return None
    return f"annotation {MIN_PARALLELISM} is a number from 1 to that of the workers, which is {most}"


def apply_counts(job: Job, queue: Queue) -> None:
    """Give each role the number of replicas that it was admitted with."""
    for role in tuple(job.roles):
        assignment = queue.assignment_of(role)
        if assignment is not None and assignment.count is not None:
            job.limit(role, assignment.count)


def apply_admission(pod: Body, role: str, queue: Queue) -> None:
    """Send a pod to the nodes that its role was admitted to. What Kueue decides replaces what the template has."""
    spec, workload, assignment = pod["spec"], queue.workload, queue.assignment_of(role)
    for flavor in queue.flavors_of(role):
        _update(pod, PodSetUpdate("", node_selector=flavor.spec.node_labels, tolerations=flavor.spec.tolerations))
    for update in queue.updates_of(role):
        _update(pod, update)
    if workload is None or assignment is None or assignment.topology_assignment is None:
        return
    # Kueue gives each pod its node and then removes the gate. It finds pods by these, and by a request for a topology.
    notes = {WORKLOAD: workload.metadata.name}
    if not any(name in (pod["metadata"].get("annotations") or {}) for name in TOPOLOGY_REQUESTS):
        notes[UNCONSTRAINED] = "true"
    _update(pod, PodSetUpdate("", labels={POD_SET: assignment.name}, annotations=notes))
    spec["schedulingGates"] = [*(spec.get("schedulingGates") or ()), {"name": TOPOLOGY_GATE}]


def _update(pod: Body, update: PodSetUpdate) -> None:
    meta, spec = pod["metadata"], pod["spec"]
    changes = ((meta, "labels", update.labels), (meta, "annotations", update.annotations))
    for place, name, values in (*changes, (spec, "nodeSelector", update.node_selector)):
        if values:
            place[name] = {**(place.get(name) or {}), **values}
    if update.tolerations:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *(one.unpack() for one in update.tolerations)]
