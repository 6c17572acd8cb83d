"""Ends a job whose training is done although some replicas have no node: nobody waits for those. Pure.

When the first replica has succeeded, whoever does not run would find nobody to train with. That is in the status, and
their pods are deleted, before the job succeeds: a pod that got a node later would be paid for nothing.
"""

import msgspec

from kubedl.kube.types.core import Pod
from kubedl.training import replica_status
from kubedl.training.job import Job
from kubedl.training.kind import Done
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import PlanBuilder
from kubedl.training.policies import index_ranges

Replicas = list[ObservedReplica]


def excuse(builder: PlanBuilder, replicas: Replicas) -> Replicas:
    """Record who is not waited for; returns the others."""
    observed, status = builder.observed, builder.status.spot
    if observed.job.spec.spot is None or status is None or not replicas:
        return replicas
    known = index_ranges.read(status.excused)
    excused: set[int] = set()
    if replicas[0].succeeded and not _is_one_enough(observed.job):
        excused = {
            rank for rank, seen in enumerate(replicas) if _never_trains(seen) or (rank in known and not seen.succeeded)
        }
    text = index_ranges.write(excused)
    if text != status.excused:
        builder.set(spot=msgspec.structs.replace(status, excused=text))
    return [seen for rank, seen in enumerate(replicas) if rank not in excused]


def done(observed: Observed, succeeded: Done) -> Done:
    """Return the replicas that need not succeed any more, by what the status that was read says."""
    status, job = observed.job.resource.status.spot, observed.job
    if job.spec.spot is None or status is None or not status.excused or _is_one_enough(job):
        return succeeded
    excused = index_ranges.read(status.excused)
    found = {role: set(succeeded.get(role, ())) for role in job.roles}
    for rank, replica in enumerate(job.replicas()):
        if rank in excused:
            found[replica.role].add(replica.index)
    return {role: frozenset(indexes) for role, indexes in found.items()}


def is_left_over(observed: Observed, pod: Pod) -> bool:
    """Return whether a pod of a finished job never ran: it must not get a node any more."""
    return observed.job.spec.spot is not None and pod.status.phase in ("", "Pending")


def _is_one_enough(job: Job) -> bool:
    """Return whether one Worker that succeeds is enough: one that never ran is none, and nobody waits for it."""
    return bool(job.spec.success_policy == "AnyWorker")


def _never_trains(seen: ObservedReplica) -> bool:
    """Return whether a replica does not run, and has not failed either, which is judged as ever."""
    pod = seen.current
    if seen.succeeded or seen.gone is not None:
        return False
    return pod is None or (pod.status.phase in ("", "Pending") and not replica_status.is_running(pod))
