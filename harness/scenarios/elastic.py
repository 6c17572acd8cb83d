"""Jobs that are resized while they run: pods come and go, and the others never notice the operator's death."""

from harness.fakes.scalers import PlayedScaler
from harness.scenarios import scenario
from harness.scenarios.driver import Job, ScenarioDriver


@scenario
def elastic_resized_in_place(world: ScenarioDriver) -> None:
    """From two to four, to two, to three while the last one of the four still leaves, and to a success."""
    bounds = {"minReplicas": 1, "maxReplicas": 4}
    job = world.create("PyTorchJob", "resized", {"Worker": 2}, elastic=bounds, cleanPodPolicy="All", backoffLimit=0)
    job.until_pods(worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running")
    first = job.uid("worker-0")
    resize(job, 4)
    job.until_pods(worker_0=0, worker_1=0, worker_2=0, worker_3=0)
    job.run("worker-2", "worker-3")
    until_members(job, "0-3")
    resize(job, 2)
    job.until_pods(worker_0=0, worker_1=0)
    job.vanish("worker-2")
    resize(job, 3)
    job.until("the new size to be seen", lambda: job.status()["elastic"]["size"] == 3)
    job.vanish("worker-3")
    job.until_pods(worker_0=0, worker_1=0, worker_2=1)
    job.run("worker-2")
    until_members(job, "0-2")
    job.until("the first to have gone on", lambda: job.uid("worker-0") == first)
    for number, pod in enumerate(("worker-2", "worker-1", "worker-0"), 1):
        job.succeed(pod)
        job.until_succeeded(number)
    job.until_status(state="Succeeded")
    job.until_pods()


@scenario
def elastic_resized_by_scalers(world: ScenarioDriver) -> None:
    """From two to four by a ScaleOut, and back by a ScaleIn that has to wait for it; another one may not go on."""
    bounds = {"minReplicas": 2, "maxReplicas": 4}
    job = world.create("PyTorchJob", "resized", {"Worker": 2}, elastic=bounds, cleanPodPolicy="All", backoffLimit=0)
    job.until_pods(worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running")
    more, less, least = (PlayedScaler(world, *one) for one in (("ScaleOut", "a"), ("ScaleIn", "b"), ("ScaleIn", "c")))
    more.create("resized", toAdd={"count": 2}, timeout=3600)
    job.until_pods(worker_0=0, worker_1=0, worker_2=0, worker_3=0)
    less.create("resized", toDelete={"podNames": ["resized-worker-2", "resized-worker-3"]}, timeout=3600)
    less.until("Created")
    job.run("worker-2", "worker-3")
    more.until("ScaleSucceeded")
    job.vanish("worker-2", "worker-3")
    less.until("ScaleSucceeded")
    least.create("resized", toDelete={"count": 1})
    least.until("ScaleFailed")
    until_members(job, "0-1")
    for number, pod in enumerate(("worker-1", "worker-0"), 1):
        job.succeed(pod)
        job.until_succeeded(number)
    job.until_status(state="Succeeded")
    job.until_pods()


def resize(job: Job, workers: int) -> None:
    """The user edits the number of workers."""
    job.change(pytorchReplicaSpecs={"Worker": {"replicas": workers}})


def until_members(job: Job, members: str) -> None:
    """Wait until these train, and nobody leaves any more."""

    def settled() -> bool:
        elastic = job.status()["elastic"]
        return elastic.get("members") == members and "leaving" not in elastic

    job.until(f"members {members}", settled)
