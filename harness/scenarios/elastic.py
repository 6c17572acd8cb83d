"""Jobs that are resized while they run: pods come and go, and the others never notice the operator's death."""

from harness.drivers.api_connection import Connection
from harness.fakes.node import LABEL, NODES, played_node
from harness.fakes.scalers import PlayedScaler
from harness.fakes.training_program import training_program
from harness.scenarios import scenario
from harness.scenarios.driver import Job, ScenarioDriver, template
from testbed.instance import Instance, chosen_index

TAKEN = "karpenter.sh/disrupted"


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


@scenario
def elastic_leaves_a_node_that_is_taken(world: ScenarioDriver) -> None:
    """Two workers save and leave, and come back, while the Master goes on; then a user removes one, which saves too."""
    address = Instance(chosen_index()).gateway  # of this machine, and not of its loopback
    server = world.watcher.connection
    with played_node(server) as spot, training_program(address) as program:
        on_spot = template("PyTorchJob", spot)
        bounds = {"minReplicas": 1, "maxReplicas": 2, "checkpoint": {"port": program.port, "timeoutSeconds": 3600}}
        job = world.create(
            "PyTorchJob",
            "taken",
            {"Master": 1, "Worker": {"replicas": 2, "template": on_spot}},
            elastic=bounds,
            cleanPodPolicy="All",
            backoffLimit=0,
        )
        job.until_pods(master_0=0)
        program.runs_in(job.pod("master-0"))
        job.give_address("master-0", address)
        job.run("master-0")
        job.until_pods(master_0=0, worker_0=0, worker_1=0)
        job.run("worker-0", "worker-1")
        job.until_status(state="Running")
        first = job.uid("master-0")
        taint(server, spot, TAKEN)
        job.vanish("worker-0", "worker-1")
        job.until_pods(master_0=0, worker_0=1, worker_1=1)
        until_reclaims(job, "Settled")
        job.run("worker-0", "worker-1")
        taint(server, spot)
        job.until("the notice to be over", lambda: "endedAt" in job.status()["elastic"]["reclaims"][0])
        resize(job, 1)
        job.vanish("worker-1")
        until_reclaims(job, "Settled", "Settled")
        until_members(job, "0")
        job.until("the first to have gone on", lambda: job.uid("master-0") == first and len(program.saved) == 2)
        for number, pod in enumerate(("worker-0", "master-0"), 1):
            job.succeed(pod)
            job.until_succeeded(number)
        job.until_status(state="Succeeded")
        job.until_pods()


@scenario
def elastic_shrunk_twice(world: ScenarioDriver) -> None:
    """A user removes a worker, and one more while the first still leaves: both save first."""
    address = Instance(chosen_index()).gateway  # of this machine, and not of its loopback
    with training_program(address) as program:
        bounds = {"minReplicas": 1, "maxReplicas": 3, "checkpoint": {"port": program.port, "timeoutSeconds": 3600}}
        roles = {"Master": 1, "Worker": 3}
        job = world.create("PyTorchJob", "shrunk", roles, elastic=bounds, cleanPodPolicy="All", backoffLimit=0)
        job.until_pods(master_0=0)
        program.runs_in(job.pod("master-0"))
        job.give_address("master-0", address)
        job.run("master-0")
        job.until_pods(master_0=0, worker_0=0, worker_1=0, worker_2=0)
        job.run("worker-0", "worker-1", "worker-2")
        job.until_status(state="Running")
        resize(job, 2)
        until_reclaims(job, "Left")
        resize(job, 1)
        until_reclaims(job, "Left", "Left")
        job.vanish("worker-2", "worker-1")
        until_reclaims(job, "Settled", "Settled")
        until_members(job, "0")
        job.until("both to have saved", lambda: len(program.saved) == 2)
        for number, pod in enumerate(("worker-0", "master-0"), 1):
            job.succeed(pod)
            job.until_succeeded(number)
        job.until_status(state="Succeeded")
        job.until_pods()


@scenario
def elastic_restarts_to_resize(world: ScenarioDriver) -> None:
    """A JAXJob from two to three by a ScaleOut, to one by its user: it saves, and all start again with the new size."""
    address = Instance(chosen_index()).gateway  # of this machine, and not of its loopback
    with training_program(address) as program:
        bounds = {"minReplicas": 1, "maxReplicas": 3, "checkpoint": {"port": program.port, "timeoutSeconds": 3600}}
        job = world.create("JAXJob", "again", {"Worker": 2}, elastic=bounds, cleanPodPolicy="All", backoffLimit=0)
        more = PlayedScaler(world, "ScaleOut", "more")
        before: tuple[str, ...] = ()
        for attempt, size in enumerate((2, 3, 1)):
            if attempt == 1:
                more.create("again", toAdd={"count": 1}, timeout=3600)
            elif attempt == 2:
                more.until("ScaleSucceeded")
                job.change(jaxReplicaSpecs={"Worker": {"replicas": size}})
            job.vanish(*before)
            before = tuple(f"worker-{index}" for index in range(size))
            job.until_pods(**{name.replace("-", "_"): attempt for name in before})
            until_reclaims(job, *["Settled"] * attempt)
            program.runs_in(job.pod("worker-0"))
            job.give_address("worker-0", address)
            job.run(*before)
            until_members(job, "0" if size == 1 else f"0-{size - 1}")
        job.until("both to have saved", lambda: len(program.saved) == 2)
        job.succeed("worker-0")
        job.until_status(state="Succeeded")
        job.until_pods()


def taint(server: Connection, node: str, *keys: str) -> None:
    """The tools of a cloud mark a node that exists on paper."""
    taints = [{"key": key, "effect": "NoSchedule"} for key in (LABEL, *keys)]
    server.patch(f"{NODES}/{node}", {"spec": {"taints": taints}})


def until_reclaims(job: Job, *phases: str) -> None:
    """Wait until reclaims have come so far."""

    def reached() -> bool:
        return [one["phase"] for one in job.status()["elastic"].get("reclaims", ())] == list(phases)

    job.until(f"reclaims {phases}", reached)


def resize(job: Job, workers: int) -> None:
    """The user edits the number of workers."""
    job.change(pytorchReplicaSpecs={"Worker": {"replicas": workers}})


def until_members(job: Job, members: str) -> None:
    """Wait until these train, and nobody leaves any more."""

    def settled() -> bool:
        elastic = job.status()["elastic"]
        return elastic.get("members") == members and "leaving" not in elastic

    job.until(f"members {members}", settled)
