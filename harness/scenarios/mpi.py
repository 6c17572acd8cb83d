"""The life of MPIJobs: a launcher after workers that are ready, and a Secret before everything."""

from harness.scenarios import scenario
from harness.scenarios.driver import Job, ScenarioDriver


@scenario
def mpi_launcher_fails_once(world: ScenarioDriver) -> None:
    """Its failure restarts everybody, workers first; its success ends the job, and the workers with it."""
    job = world.create(
        "MPIJob",
        "pi",
        {"Worker": 2, "Launcher": {"replicas": 1, "restartPolicy": "OnFailure"}},
        slotsPerWorker=2,
        runPolicy={"backoffLimit": 3},
    )
    _start(job, 0)
    job.fail("launcher-0", 1)
    job.until_status(attempt=1, retries=1)
    job.vanish("worker-0", "worker-1")
    _start(job, 1)
    job.succeed("launcher-0")
    job.until_status(state="Succeeded")
    job.vanish("worker-0", "worker-1")
    job.until_pods(launcher_0=1)


@scenario
def mpi_worker_deleted(world: ScenarioDriver) -> None:
    """The launcher cannot go on without it, so all restart, and nobody is to blame."""
    job = world.create("MPIJob", "pi", {"Worker": 2, "Launcher": 1}, cleanPodPolicy="All")
    _start(job, 0)
    job.evict("worker-1")
    job.until_status(attempt=1)
    job.vanish("launcher-0", "worker-0", "worker-1")
    _start(job, 1)
    job.until_status(state="Running")
    job.succeed("launcher-0")
    job.until_status(state="Succeeded")
    job.vanish("worker-0", "worker-1")
    job.until_pods()


def _start(job: Job, attempt: int) -> None:
    job.until_pods(worker_0=attempt, worker_1=attempt)
    job.run("worker-0", "worker-1")
    job.until_pods(worker_0=attempt, worker_1=attempt, launcher_0=attempt)
    job.run("launcher-0")
    job.until_status(state="Running")
