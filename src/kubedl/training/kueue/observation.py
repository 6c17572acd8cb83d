"""Which queue a job asks for, and what the caches have of it."""

from kubedl.api.training import TrainingJob
from kubedl.training.gang.assignment import chosen
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.informers import Informers
from kubedl.training.job import Job
from kubedl.training.kueue.queue import Queue
from kubedl.training.kueue.types import QUEUE_LABEL
from kubedl.training.observed import Settings


def queue_name(job: Job, settings: Settings) -> str:
    """The LocalQueue that a job asks for, by Kueue's label or by schedulingPolicy.queue; empty if none.

    A gang scheduler with queues of its own gets the latter instead.
    """
    named = job.resource.metadata.labels.get(QUEUE_LABEL, "")
    policy = job.spec.scheduling_policy
    if named or policy is None or not policy.queue:
        return named
    gang = chosen(job, settings)
    return "" if isinstance(gang, InstalledScheduler) and gang.scheduler.has_queues else policy.queue


def may_have_queue(resource: TrainingJob) -> bool:
    """Whether a job names a queue, of Kueue or of a gang scheduler; an MPIJob has two places for it."""
    spec = resource.spec
    places = (spec, getattr(spec, "run_policy", None))
    policies = (getattr(place, "scheduling_policy", None) for place in places)
    return QUEUE_LABEL in resource.metadata.labels or any(policy and policy.queue for policy in policies)


def observe_queue(job: Job, settings: Settings, informers: Informers) -> Queue | None:
    """The queue of a job with its Workload; None if it asks for none."""
    name = queue_name(job, settings)
    if not name:
        return None
    workload = next(iter(informers.workloads.owned_by(job.resource)), None)
    flavors = {flavor.metadata.name: flavor for flavor in informers.flavors}
    return Queue(name, informers.missing_kueue(), workload, flavors)
