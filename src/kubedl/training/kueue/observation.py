"""Which queue a job asks for, and what the caches have of it."""

from collections.abc import Sequence

from kubedl.api.conditions import is_finished
from kubedl.api.kueue import QUEUE_LABEL
from kubedl.api.training import TrainingJob, cron_policy
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import ObjectKey
from kubedl.training.gang.assignment import chosen
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.informers import Informers
from kubedl.training.job import Job
from kubedl.training.kueue.preemption import preemptor
from kubedl.training.kueue.queue import Queue
from kubedl.training.kueue.types import DEFAULT_QUEUE
from kubedl.training.kueue.workload import unreadable
from kubedl.training.observed import Settings


def queue_name(job: Job, settings: Settings) -> str:
    """The LocalQueue that a job asks for, by Kueue's label or by schedulingPolicy.queue; empty if none.

    A gang scheduler with queues of its own gets the latter instead. A job that has joined a queue, by name or by
    default, does not leave it by losing its label.
    """
    named = job.resource.metadata.labels.get(QUEUE_LABEL, "")
    policy = job.spec.scheduling_policy
    if not named and policy is not None and policy.queue:
        gang = chosen(job, settings)
        named = "" if isinstance(gang, InstalledScheduler) and gang.scheduler.has_queues else policy.queue
    return named or job.resource.status.queue_name


def may_have_queue(resource: TrainingJob) -> bool:
    """Whether a job has or names a queue, of Kueue or of a gang scheduler; an MPIJob has two places for it.

    The template of a Cron is never queued; its runs are.
    """
    if cron_policy(resource) is not None:
        return False
    spec = resource.spec
    places = (spec, getattr(spec, "run_policy", None))
    policies = (getattr(place, "scheduling_policy", None) for place in places)
    named = QUEUE_LABEL in resource.metadata.labels or any(policy and policy.queue for policy in policies)
    return named or bool(resource.status.queue_name)


def observe_queue(job: Job, pods: Sequence[Pod], settings: Settings, informers: Informers) -> Queue | None:
    """The queue of a job with its Workload; None if it has none."""
    name = queue_name(job, settings) or _default_queue(job.resource, pods, informers)
    if not name:
        return None
    workload = next(iter(informers.workloads.owned_by(job.resource)), None)
    flavors = {flavor.metadata.name: flavor for flavor in informers.flavors}
    conflict = informers.queues.conflict(job, name) if workload is None else None
    place = informers.places.of(workload) if workload is not None else None
    by = preemptor(workload, informers.workloads) if workload is not None else ""
    unread = unreadable(job) if workload is None else ""
    return Queue(name, informers.missing_kueue(), workload, flavors, conflict, place, by, unread)


def is_undecided(resource: TrainingJob, informers: Informers) -> bool:
    """Whether the caches of Kueue are still being filled, and decide about this job: at the start of the operator."""
    return informers.kueue_is_loading() and (may_have_queue(resource) or resource.status.start_time is None)


def _default_queue(resource: TrainingJob, pods: Sequence[Pod], informers: Informers) -> str:
    """The LocalQueue named default, for a job that has not started, as Kueue has it for jobs when they are created.

    A queue of a gang scheduler is no way around it.
    """
    status = resource.status
    if status.start_time is not None or pods or is_finished(status.conditions):
        return ""
    found = informers.queues.local.get(ObjectKey(resource.metadata.namespace, DEFAULT_QUEUE))
    return DEFAULT_QUEUE if found is not None else ""
