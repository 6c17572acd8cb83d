"""The life of PyTorchJobs: a collective, in which one death restarts all."""

from harness.scenarios import scenario
from harness.scenarios.driver import Job, ScenarioDriver


@scenario
def pytorch_whole_life(world: ScenarioDriver) -> None:
    """Order of start, a kill with its echo, an eviction, success, and cleaning."""
    job = world.create("PyTorchJob", "life", {"Master": 1, "Worker": 2}, backoffLimit=3, cleanPodPolicy="All")
    job.until_pods(master_0=0)
    job.run("master-0")
    job.until_pods(master_0=0, worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running")
    job.fail("worker-1", 137)
    job.until_status(attempt=1, retries=1)
    job.vanish("master-0", "worker-0")
    job.until_pods(master_0=1)
    job.run("master-0")
    job.until_pods(master_0=1, worker_0=1, worker_1=1)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running")
    job.evict("master-0")
    job.until_status(attempt=2)
    job.vanish("master-0", "worker-0", "worker-1")
    job.until_pods(master_0=2)
    job.run("master-0")
    job.until_pods(master_0=2, worker_0=2, worker_1=2)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running", retries=1)
    for number, pod in enumerate(("worker-1", "worker-0", "master-0"), 1):
        job.succeed(pod)
        job.until_succeeded(number)
    job.until_status(state="Succeeded")
    job.until_pods()


@scenario
def pytorch_suspended_and_resumed(world: ScenarioDriver) -> None:
    """Suspended while a pod is still starting, resumed while the last is still going."""
    job = world.create("PyTorchJob", "paused", {"Master": 1, "Worker": 1}, cleanPodPolicy="Running")
    job.until_pods(master_0=0)
    job.run("master-0")
    job.until_pods(master_0=0, worker_0=0)
    job.change(suspend=True)
    job.until_status(state="Suspended")
    job.vanish("worker-0")
    job.until("one to be active", lambda: job.status()["replicaStatuses"]["Worker"]["active"] == 0)
    job.change(suspend=False)
    job.until_status(observedGeneration=3)
    job.vanish("master-0")
    job.until_pods(master_0=0)
    run_to_success(job)


@scenario
def pytorch_backoff_limit_exceeded(world: ScenarioDriver) -> None:
    """No retry is allowed: the first kill fails the job, and what runs is cleaned away."""
    job = world.create("PyTorchJob", "hopeless", {"Master": 1, "Worker": 2}, backoffLimit=0, cleanPodPolicy="Running")
    job.until_pods(master_0=0)
    job.run("master-0")
    job.until_pods(master_0=0, worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.fail("worker-0", 137)
    job.until_status(state="Failed", reason="BackoffLimitExceeded")
    job.vanish("master-0", "worker-1")
    job.until_pods(worker_0=0)


@scenario
def pytorch_deleted_after_its_time(world: ScenarioDriver) -> None:
    """A job that failed for good is deleted later too."""
    job = world.create("PyTorchJob", "expiring", {"Master": 1}, ttlSecondsAfterFinished=1)
    job.until_pods(master_0=0)
    job.run("master-0")
    job.fail("master-0", 1)
    job.until_gone()


@scenario
def pytorch_deadline(world: ScenarioDriver) -> None:
    """The time is up while everything is well."""
    job = world.create("PyTorchJob", "late", {"Master": 1}, cleanPodPolicy="Running")
    job.until_pods(master_0=0)
    job.run("master-0")
    job.until_status(ready="1/1")  # which the message of the end repeats
    job.change(activeDeadlineSeconds=6)  # not before: on a busy machine it would be up before the job ran
    job.until_status(state="Failed", reason="DeadlineExceeded")
    job.vanish("master-0")
    job.until_pods()


def run_to_success(job: Job) -> None:
    """A master and a worker run, in their order, and succeed."""
    job.run("master-0")
    job.until_pods(master_0=0, worker_0=0)
    job.run("worker-0")
    job.until_status(state="Running")
    job.succeed("worker-0")
    job.until_succeeded(1)
    job.succeed("master-0")
    job.until_status(state="Succeeded")
