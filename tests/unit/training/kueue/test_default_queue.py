"""The queue of jobs that name none: a LocalQueue that is called default."""

from dataclasses import replace

from kubedl.api.training import JobStatus, TrainingJob
from kubedl.kube.types.core import Node, Pod, Service
from kubedl.kube.types.meta import ObjectMeta
from kubedl.runtime.store import Store
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.gang.schedulers import all_gang_schedulers
from kubedl.training.informers import Informers
from kubedl.training.kueue.observation import is_undecided, may_have_queue, observe_queue
from kubedl.training.kueue.queue import Queue
from kubedl.training.kueue.queues import Queues
from kubedl.training.kueue.types import LocalQueue
from kubedl.training.observed import Settings
from kubedl.training.planner import plan
from tests.training_builders import NAMESPACE, NOW, JobBuilder, PodBuilder, observed, pod, torch_job

JOB = torch_job().master().workers(2)


def caches(*queues: tuple[str, str], loading: bool = False) -> Informers:
    """Caches with these LocalQueues, by namespace and name."""
    jobs, pods, services, nodes = Store[TrainingJob](), Store[Pod](), Store[Service](), Store[Node]()
    found = Store[LocalQueue]()
    for namespace, name in queues:
        found.put(LocalQueue(metadata=ObjectMeta(name=name, namespace=namespace, uid=name, resource_version="1")))
    return Informers(jobs, pods, services, nodes, queues=Queues(found), kueue_is_loading=lambda: loading)


DEFAULT = caches((NAMESPACE, "default"))


def queue_of(job: JobBuilder, informers: Informers = DEFAULT, *pods: PodBuilder) -> Queue | None:
    return observe_queue(job.kind.job(job.build()), [one.build() for one in pods], Settings(), informers)


def test_a_job_that_names_no_queue_joins_the_default_of_its_namespace() -> None:
    queue = queue_of(JOB)
    assert queue is not None
    assert queue.name == "default"
    assert queue_of(JOB, caches((NAMESPACE, "team"))) is None
    assert queue_of(JOB, caches(("another", "default"))) is None


def test_a_named_queue_comes_first() -> None:
    named = queue_of(JOB.with_spec(schedulingPolicy={"queue": "team"}))
    assert named is not None
    assert named.name == "team"


def test_jobs_that_run_or_have_ended_are_not_queued() -> None:
    """Somebody creates the LocalQueue while they run."""
    assert queue_of(JOB.with_status(start_time=NOW)) is None
    assert queue_of(JOB, DEFAULT, pod(JOB, "Master").running()) is None
    assert queue_of(JOB.said("Succeeded")) is None


def test_the_queue_is_in_the_status_and_stays_the_queue_of_the_job() -> None:
    """Although the LocalQueue is deleted, and although the job has started."""
    decided = plan_of(JOB)
    assert (decided.state, decided.queue_name) == ("Queuing", "default")
    started = JOB.with_status(queue_name="default", start_time=NOW)
    found = queue_of(started, caches())
    assert found is not None
    assert found.name == "default"
    assert may_have_queue(started.build())
    assert not may_have_queue(JOB.build())


def plan_of(job: JobBuilder) -> JobStatus:
    return plan(replace(observed(job), queue=queue_of(job))).status


def test_nothing_is_decided_while_the_caches_are_being_filled() -> None:
    loading = caches(loading=True)
    assert is_undecided(JOB.build(), loading)
    assert is_undecided(JOB.with_status(queue_name="team", start_time=NOW).build(), loading)
    assert not is_undecided(JOB.with_status(start_time=NOW).build(), loading)
    assert not is_undecided(JOB.build(), DEFAULT)


def test_a_queue_of_a_gang_scheduler_is_no_way_around_the_default() -> None:
    known = {one: InstalledScheduler(scheduler) for one, scheduler in all_gang_schedulers().items()}
    settings = Settings(gang_scheduler="volcano", gang_schedulers=known)
    job = JOB.with_spec(schedulingPolicy={"queue": "team"})
    found = observe_queue(job.kind.job(job.build()), [], settings, DEFAULT)
    assert found is not None
    assert found.name == "default"
    assert observe_queue(job.kind.job(job.build()), [], settings, caches()) is None
