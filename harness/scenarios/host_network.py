"""Jobs on the host network: Services lead to the ports of pods, and follow those that are replaced."""

from harness.scenarios import scenario
from harness.scenarios.driver import ScenarioDriver
from kubedl.training.host_network.ports import HOST_PORT

ENDED = ("Succeeded", "Failed")


@scenario
def host_network_follows(world: ScenarioDriver) -> None:
    """One worker is replaced alone; its Service leads to its new port, and the others are left alone."""
    job = world.create("TFJob", "host", {"PS": 1, "Worker": 2}, networkMode="Host", backoffLimit=3)
    job.until_pods(ps_0=0)
    job.run("ps-0")
    job.until_pods(ps_0=0, worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running", networkMode="Host")
    world.until("Services that lead to all pods", lambda: leads(world) == ports(world))
    job.take("worker-1")
    job.until_pods(ps_0=0, worker_0=0, worker_1=1)
    world.until("Services that lead to all pods", lambda: leads(world) == ports(world))
    job.run("worker-1")
    job.until_status(state="Running")
    job.succeed("worker-1")
    job.until_succeeded(1)
    job.succeed("worker-0")
    job.until_status(state="Succeeded")


@scenario
def host_network_without_services(world: ScenarioDriver) -> None:
    """A replica that is replaced keeps its port, which its peers know from their start."""
    roles = {"Master": 1, "Worker": 1}
    job = world.create("PyTorchJob", "direct", roles, networkMode="HostDirect", restartScope="Replica")
    job.until_pods(master_0=0)
    job.run("master-0")
    job.until_pods(master_0=0, worker_0=0)
    job.run("worker-0")
    job.until_status(state="Running", networkMode="HostDirect")
    before = ports(world)
    job.take("worker-0")
    job.until_pods(master_0=0, worker_0=1)
    world.until("the same ports", lambda: ports(world) == before)
    job.run("worker-0")
    for number, pod in enumerate(("worker-0", "master-0"), 1):
        job.succeed(pod)
        job.until_succeeded(number)
    job.until_status(state="Succeeded")


def ports(world: ScenarioDriver) -> dict[str, int]:
    """The host ports of pods that live, by name."""
    pods = world.watcher.all("pods", world.namespace).items()
    living = {name: pod for name, pod in pods if pod["status"]["phase"] not in ENDED}
    return {name: int(pod["metadata"]["annotations"][HOST_PORT]) for name, pod in living.items()}


def leads(world: ScenarioDriver) -> dict[str, int]:
    """Where the Services of replicas lead to, by name."""
    services = world.watcher.all("services", world.namespace).items()
    return {
        name: body["spec"]["ports"][0]["targetPort"] for name, body in services if body["spec"]["clusterIP"] != "None"
    }
