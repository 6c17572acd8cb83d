"""successPolicy: when a job succeeds, by its kind's rule or by the user's; and whether it still can."""

from collections.abc import Iterable

from kubedl.training.job import Job, Replica
from kubedl.training.kind import Done, Kind

WORKER = "Worker"


def is_done(kind: Kind, job: Job, done: Done) -> bool:
    """Return whether the job has succeeded with these replicas."""
    policy = job.spec.success_policy
    if policy == "AllReplicas":
        return all(len(done.get(role, ())) >= job.count(role) for role in job.roles)
    if policy == "AnyWorker" and WORKER in job:
        return bool(done.get(WORKER))
    workers = policy != "AllWorkers" or len(done.get(WORKER, ())) >= job.count(WORKER)
    return workers and kind.succeeded(job, done)


def can_be_done(kind: Kind, job: Job, lost: Iterable[Replica]) -> bool:
    """Return whether the job can succeed without these replicas."""
    gone = frozenset(lost)
    left = {
        role: frozenset(index for index in range(job.count(role)) if Replica(role, index) not in gone)
        for role in job.roles
    }
    return is_done(kind, job, left)
