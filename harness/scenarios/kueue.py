"""The life of jobs in a queue of the real Kueue: admitted, preempted, admitted again, ended."""

from harness.drivers import team_queue
from harness.drivers.team_queue import PRIORITY_LABEL, QUEUE, QUEUE_LABEL
from harness.scenarios import scenario
from harness.scenarios.driver import Job, ScenarioDriver
from harness.scenarios.pytorch import run_to_success


@scenario
def queued_and_preempted(world: ScenarioDriver) -> None:
    """No retry is allowed: being preempted is none. The quota is given back when the last pod is gone."""
    team_queue.publish(world.watcher.connection, world.namespace, quota=2)
    low = submit(world, "low")
    low.until_pods(master_0=0)
    low.run("master-0")
    low.until_pods(master_0=0, worker_0=0)
    low.run("worker-0")
    low.until_status(state="Running")
    high = submit(world, "high")
    low.until_status(state="Queuing")
    low.vanish("worker-0")
    low.vanish("master-0")
    high.until_pods(master_0=0)
    run_to_success(high)
    low.until_pods(master_0=0)
    run_to_success(low)


def submit(world: ScenarioDriver, priority: str) -> Job:
    """A job of two pods, called as its priority."""
    labels = {QUEUE_LABEL: QUEUE, PRIORITY_LABEL: f"{world.namespace}-{priority}"}
    role = team_queue.role(world.node, "pytorch")
    return world.create("PyTorchJob", priority, {"Master": role, "Worker": role}, labels=labels, backoffLimit=0)
