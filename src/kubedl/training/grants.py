"""Permissions that the operator needs to run jobs, each with its reason.

Kinds, gang schedulers and the controller of scalers declare their own, which are added here.
"""

from kubedl.api.kueue import GROUP as KUEUE
from kubedl.api.training import GROUP
from kubedl.schema.grants import FOLLOW, READ, Grant
from kubedl.training.gang.schedulers import all_gang_schedulers
from kubedl.training.kinds import all_kinds
from kubedl.training.kueue.visibility import PENDING_WORKLOADS, VISIBILITY_GROUP
from kubedl.training.scaling import setup as scaling

_PLURALS = tuple(kind.plural for kind in all_kinds())
GRANTS = (
    Grant(
        GROUP, _PLURALS, (*FOLLOW, "delete"), "Watch jobs, and delete those whose ttlSecondsAfterFinished has passed."
    ),
    Grant(GROUP, tuple(f"{plural}/status" for plural in _PLURALS), ("patch",), "Write the status of jobs."),
    # Needed if the admission plugin OwnerReferencesPermissionEnforcement is enabled.
    Grant(
        GROUP,
        tuple(f"{plural}/finalizers" for plural in _PLURALS),
        ("update",),
        "Set owner references to jobs with blockOwnerDeletion.",
    ),
    Grant("", ("pods",), (*READ, "create", "delete"), "Create and delete the pods of jobs."),
    Grant("", ("services",), (*READ, "create"), "Create the headless Services of jobs."),
    Grant("", ("services",), ("patch",), "Let the Services of replicas on the host network follow their ports."),
    Grant("", ("services",), ("delete",), "Delete TensorBoards after their TTL."),
    Grant("", ("nodes",), FOLLOW, "Detect lost nodes.", cluster_scoped=True),
    Grant("", ("events",), ("list",), "Report why the pods of a job do not start."),
    Grant(
        KUEUE,
        ("workloads",),
        (*READ, "create", "patch", "delete"),
        "Queue jobs with Kueue.",
    ),
    Grant(KUEUE, ("workloads/status",), ("patch",), "Give the quota of evicted and finished jobs back."),
    Grant(KUEUE, ("localqueues",), FOLLOW, "Find the queue of a job, also one that is a namespace's default."),
    Grant(
        KUEUE,
        ("clusterqueues",),
        FOLLOW,
        "Compare the placement of a job with its queue, and report how many workloads hold its quota.",
        cluster_scoped=True,
    ),
    Grant(KUEUE, ("resourceflavors",), FOLLOW, "Send pods to the nodes of their flavor.", cluster_scoped=True),
    Grant(KUEUE, ("workloadpriorityclasses",), ("get",), "Set the priority of queued jobs.", cluster_scoped=True),
    Grant(VISIBILITY_GROUP, (f"localqueues/{PENDING_WORKLOADS}",), ("get",), "Report the position of queued jobs."),
    Grant("scheduling.k8s.io", ("priorityclasses",), ("get",), "Set the priority of queued jobs.", cluster_scoped=True),
    *scaling.GRANTS,
    *(grant for kind in all_kinds() for grant in kind.grants),
    *(grant for scheduler in all_gang_schedulers().values() for grant in scheduler.grants),
)
