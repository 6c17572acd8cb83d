"""The life of a gang: its group is declared before its pods, which are created all at once, again after a restart."""

from harness.scenarios import scenario
from harness.scenarios.driver import ScenarioDriver

NATIVE = {"gangScheduler": "native"}


@scenario
def gang_whole_life(world: ScenarioDriver) -> None:
    """Workers do not wait for their master; a kill restarts all together."""
    job = world.create("PyTorchJob", "gang", {"Master": 1, "Worker": 2}, schedulingPolicy=NATIVE, backoffLimit=3)
    job.until_pods(master_0=0, worker_0=0, worker_1=0)
    job.run("master-0", "worker-0", "worker-1")
    job.until_status(state="Running")
    job.fail("worker-1", 137)
    job.until_status(attempt=1, retries=1)
    job.vanish("master-0", "worker-0")
    job.until_pods(master_0=1, worker_0=1, worker_1=1)
    job.run("master-0", "worker-0", "worker-1")
    job.until_status(state="Running")
    for number, pod in enumerate(("worker-1", "worker-0", "master-0"), 1):
        job.succeed(pod)
        job.until_succeeded(number)
    job.until_status(state="Succeeded")


@scenario
def gangs_in_order(world: ScenarioDriver) -> None:
    """With dependsOn in the manifest the second gang is declared when the first one runs."""
    worker = {"replicas": 2, "dependsOn": [{"upstream": "PS", "phase": "Running"}]}
    job = world.create("TFJob", "stages", {"PS": 1, "Worker": worker}, schedulingPolicy={**NATIVE, "minAvailable": 3})
    job.until_pods(ps_0=0)
    job.run("ps-0")
    job.until_pods(ps_0=0, worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running")
    job.succeed("worker-1")
    job.until_succeeded(1)
    job.succeed("worker-0")
    job.until_status(state="Succeeded")
