"""The life of a TensorBoard beside a job: made once, replaced when it is gone, removed after its time."""

from functools import partial

from harness.scenarios import scenario
from harness.scenarios.driver import Job, ScenarioDriver

BOARD = "tensorboard-0"


@scenario
def tensorboard_whole_life(world: ScenarioDriver) -> None:
    """It outlives the job's pods, and goes by itself; nothing that happens to it concerns the job."""
    board = {"logDir": "/logs", "ttlSecondsAfterFinished": 2}
    job = world.create("TFJob", "watched", {"Worker": 1}, cleanPodPolicy="All", tensorBoard=board)
    job.until_pods(worker_0=0)
    first = _until_there(job)
    job.run("worker-0")
    job.take(BOARD)
    job.until("another TensorBoard", lambda: job.uid(BOARD) not in (None, first))
    job.until_status(state="Running")
    job.succeed("worker-0")
    job.until_status(state="Succeeded")
    job.until_pods()
    job.vanish(BOARD)
    job.until("nothing to be left of it", partial(_is_gone, job))


@scenario
def tensorboard_of_a_suspended_job(world: ScenarioDriver) -> None:
    """No pod runs while a job is suspended, this one included; it comes back with the others."""
    job = world.create(
        "TFJob", "paused", {"Worker": 1}, tensorBoard={"logDir": "/logs", "ttlSecondsAfterFinished": 600}
    )
    job.until_pods(worker_0=0)
    _until_there(job)
    job.run("worker-0")
    job.change(suspend=True)
    job.vanish("worker-0")
    job.vanish(BOARD)
    job.until("nothing to be left of it", partial(_is_gone, job))
    job.until_status(state="Suspended")
    job.change(suspend=False)
    job.until_pods(worker_0=0)
    _until_there(job)
    job.run("worker-0")
    job.until_status(state="Running")


def _until_there(job: Job) -> str:
    job.until("a TensorBoard", lambda: job.uid(BOARD) is not None and job.has_service(BOARD))
    return str(job.uid(BOARD))


def _is_gone(job: Job) -> bool:
    return job.uid(BOARD) is None and not job.has_service(BOARD)
