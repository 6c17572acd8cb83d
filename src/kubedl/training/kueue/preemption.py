"""Who preempted a job, by Kueue's message about the eviction."""

from kubedl.api.conditions import find
from kubedl.runtime.store import BY_OWNER, OwnerKey, Store
from kubedl.training.kueue.places import owner_name
from kubedl.training.kueue.types import Workload

JOB = "JobUID: "  # in Kueue's message, before the uid of the job that was preferred
LONGEST_UID = 64
UNKNOWN = "another workload"


def preemptor(workload: Workload, workloads: Store[Workload]) -> str:
    """Return kind and name of the job that took the quota; empty if none did.

    Only a job of the same namespace is named.
    """
    evicted = find(workload.status.conditions, "Evicted")
    if evicted is None or (evicted.status, evicted.reason) != ("True", "Preempted"):
        return ""
    uid = evicted.message.partition(JOB)[2].partition(")")[0]
    if not uid or len(uid) > LONGEST_UID:
        return UNKNOWN
    found = workloads.by_index(BY_OWNER, OwnerKey(workload.metadata.namespace, uid))
    return owner_name(found[0]) if found else UNKNOWN
