"""Jobs on spot nodes: replicas change pools, wait, and end, and the operator may die at any of its writes."""

from harness.fakes.pools import ON_DEMAND, SPOT, pool_node, pool_template
from harness.scenarios import scenario
from harness.scenarios.driver import Job, ScenarioDriver

BOUNDS = {"minReplicas": 1, "maxReplicas": 2}
POOLS = [SPOT, ON_DEMAND]


@scenario
def spot_falls_back_to_on_demand(world: ScenarioDriver) -> None:
    """There is no spot node, so both workers wait, and go to an on-demand node. There they stay."""
    job = spot_job(world, "fallen", maxWaitSeconds=1)
    job.until_pods(worker_0=1, worker_1=1)
    with pool_node(world.watcher.connection, ON_DEMAND, world.namespace) as node:
        until_placed(job, node, "worker-0", "worker-1")
        job.run("worker-0", "worker-1")
        job.until_status(state="Running")
        until_spot(job, mode="OnDemand", pools={ON_DEMAND: "0-1"})
        for number, pod in enumerate(("worker-1", "worker-0"), 1):
            job.succeed(pod)
            job.until_succeeded(number)
        job.until_status(state="Succeeded")
        job.until_pods()


@scenario
def spot_succeeds_without_those_that_have_no_node(world: ScenarioDriver) -> None:
    """The first worker trains alone on an on-demand node, and the second never gets one."""
    job = spot_job(world, "alone", minOnDemand=1)
    until_condition(job, "WaitingForSpot")
    with pool_node(world.watcher.connection, ON_DEMAND, world.namespace) as node:
        until_placed(job, node, "worker-0")
        job.run("worker-0")
        until_condition(job, "Shrunk")
        job.until_status(state="Running")
        job.succeed("worker-0")
        job.until_status(state="Succeeded")
        until_spot(job, excused="1")
        job.until_pods()


@scenario
def spot_suspended_after_the_wait(world: ScenarioDriver) -> None:
    """It waits in vain, and is suspended until its user has more patience, and there is a spot node."""
    server = world.watcher.connection
    job = spot_job(world, "patient", maxWaitSeconds=1, onMaxWait="Suspend")
    job.until_status(state="Suspended", reason="WaitedTooLong")
    job.until_pods()
    with pool_node(server, SPOT, world.namespace) as node:
        job.change(spot={"maxWaitSeconds": 3600})
        job.until("both pods to be there", lambda: len(job.pods()) == 2)
        until_placed(job, node, "worker-0", "worker-1")
        job.run("worker-0", "worker-1")
        job.until_status(state="Running")
        for number, pod in enumerate(("worker-1", "worker-0"), 1):
            job.succeed(pod)
            job.until_succeeded(number)
        job.until_status(state="Succeeded")
        job.until_pods()


def spot_job(world: ScenarioDriver, name: str, **spot: object) -> Job:
    """Two workers, which go where their pools and this run send them."""
    worker = {"replicas": 2, "template": pool_template("pytorch", world.namespace)}
    return world.create(
        "PyTorchJob",
        name,
        {"Worker": worker},
        elastic=BOUNDS,
        spot={"pools": POOLS, **spot},
        cleanPodPolicy="All",
        backoffLimit=0,
    )


def until_placed(job: Job, node: str, *pods: str) -> None:
    """Wait until the scheduler has sent these pods to a node."""
    job.until(f"{pods} to be on {node}", lambda: all(job.node(pod) == node for pod in pods))


def until_spot(job: Job, **fields: object) -> None:
    """Wait until the status says so about the pools."""
    job.until(f"pools with {fields}", lambda: fields.items() <= job.status().get("spot", {}).items())


def until_condition(job: Job, kind: str) -> None:
    """Wait until a condition holds."""

    def holds() -> bool:
        return any(one["type"] == kind and one["status"] == "True" for one in job.status().get("conditions", ()))

    job.until(f"the condition {kind}", holds)
