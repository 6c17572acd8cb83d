"""How often replicas of a job were lost. To be resized, or to leave a node, is a new attempt too, and no loss. Pure."""

from kubedl.api.elastic import ElasticStatus
from kubedl.api.training import JobStatus
from kubedl.training.job import Job
from kubedl.training.policies.failure_policy import DISRUPTED


def replaced(status: JobStatus) -> int:
    """Return how many replicas were replaced after a failure or a loss."""
    return sum(one.restarts + one.evicted for one in status.replica_statuses.values())


def counted(job: Job, status: JobStatus, attempts: int) -> int:
    """Return how many of so many attempts count for the pause before the next one."""
    if job.spec.elastic is None and job.spec.spot is None:
        return attempts
    records = (status.elastic or ElasticStatus()).reclaims
    evictions = sum(one.source == DISRUPTED and one.left_at is not None for one in records)
    return min(attempts, replaced(status) + evictions)
