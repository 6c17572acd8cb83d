"""The life of TFJobs: with parameter servers a replica is replaced alone, without them all restart together."""

from harness.scenarios import scenario
from harness.scenarios.driver import ScenarioDriver


@scenario
def tf_parameter_servers(world: ScenarioDriver) -> None:
    """Order of start, a kill, an eviction, success, and the cleaning of what still runs."""
    job = world.create("TFJob", "servers", {"PS": 1, "Worker": 2}, backoffLimit=3)
    job.until_pods(ps_0=0)
    job.run("ps-0")
    job.until_pods(ps_0=0, worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running")
    job.fail("worker-1", 137)
    job.until_pods(ps_0=0, worker_0=0, worker_1=1)
    job.run("worker-1")
    job.until_status(state="Running", retries=1)
    job.evict("worker-0")
    job.until("the eviction to be counted", lambda: job.status()["replicaStatuses"]["Worker"]["evicted"] == 1)
    job.vanish("worker-0")
    job.until_pods(ps_0=0, worker_0=1, worker_1=1)
    job.run("worker-0")
    job.until_status(state="Running")
    job.succeed("worker-0")
    job.until_status(state="Succeeded")
    job.vanish("ps-0", "worker-1")
    job.until_pods(worker_0=1)


@scenario
def tf_dependencies_of_the_user(world: ScenarioDriver) -> None:
    """Chief after ready workers, evaluator after the chief's success; all workers must succeed; nothing is left."""
    job = world.create(
        "TFJob",
        "ordered",
        {
            "Worker": {"replicas": 2, "dependsOn": []},
            "Chief": {"replicas": 1, "dependsOn": [{"upstream": "Worker", "phase": "Ready"}]},
            "Evaluator": {"replicas": 1, "dependsOn": [{"upstream": "Chief", "phase": "Succeeded"}]},
        },
        successPolicy="AllWorkers",
        cleanPodPolicy="All",
        restartScope="Replica",
    )
    job.until_pods(worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.until_pods(worker_0=0, worker_1=0, chief_0=0)
    job.run("chief-0")
    job.succeed("chief-0")
    job.until_pods(worker_0=0, worker_1=0, chief_0=0, evaluator_0=0)
    job.run("evaluator-0")
    job.succeed("worker-1")
    job.until("worker 1 to count", lambda: job.status()["replicaStatuses"]["Worker"]["succeededIndexes"] == "1")
    job.succeed("worker-0")
    job.until_status(state="Succeeded")
    job.vanish("evaluator-0")
    job.until_pods()


@scenario
def tf_workers_restart_together(world: ScenarioDriver) -> None:
    """Without parameter servers one death restarts all, is counted once, and a later eviction is not counted."""
    job = world.create("TFJob", "mirrored", {"Worker": 3}, backoffLimit=2, cleanPodPolicy="None")
    job.until_pods(worker_0=0, worker_1=0, worker_2=0)
    job.run("worker-0", "worker-1", "worker-2")
    job.until_status(state="Running")
    job.fail("worker-1", 137)
    job.until_status(attempt=1, retries=1)
    job.vanish("worker-0", "worker-2")
    job.until_pods(worker_0=1, worker_1=1, worker_2=1)
    job.run("worker-0", "worker-1", "worker-2")
    job.until_status(state="Running")
    job.evict("worker-2")
    job.until_status(attempt=2)
    job.vanish("worker-0", "worker-1", "worker-2")
    job.until_pods(worker_0=2, worker_1=2, worker_2=2)
    job.run("worker-0", "worker-1", "worker-2")
    job.until_status(state="Running", retries=1)
    job.succeed("worker-0")
    job.until_status(state="Succeeded")


@scenario
def tf_suspended_and_resumed(world: ScenarioDriver) -> None:
    """What has succeeded stays; the rest goes, and comes back when the last is gone."""
    job = world.create("TFJob", "paused", {"PS": 1, "Worker": 2}, successPolicy="AllWorkers")
    job.until_pods(ps_0=0)
    job.run("ps-0")
    job.until_pods(ps_0=0, worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.succeed("worker-1")
    job.until("worker 1 to count", lambda: job.status()["replicaStatuses"]["Worker"]["succeededIndexes"] == "1")
    job.change(suspend=True)
    job.until_status(state="Suspended")
    job.vanish("ps-0", "worker-0")
    job.until("nobody to be active", lambda: job.status()["replicaStatuses"]["PS"]["active"] == 0)
    job.change(suspend=False)
    job.until_pods(ps_0=0, worker_1=0)
    job.run("ps-0")
    job.until_pods(ps_0=0, worker_0=0, worker_1=0)
    job.run("worker-0")
    job.until_status(state="Running")
    job.succeed("worker-0")
    job.until_status(state="Succeeded")
    job.vanish("ps-0")
    job.until_pods(worker_0=0, worker_1=0)


@scenario
def tf_backoff_limit_exceeded(world: ScenarioDriver) -> None:
    """One retry is allowed, the second fails the job."""
    job = world.create("TFJob", "hopeless", {"PS": 1, "Worker": 1}, backoffLimit=1)
    job.until_pods(ps_0=0)
    job.run("ps-0")
    job.until_pods(ps_0=0, worker_0=0)
    job.run("worker-0")
    job.fail("worker-0", 143)
    job.until_pods(ps_0=0, worker_0=1)
    job.run("worker-0")
    job.fail("worker-0", 137)
    job.until_status(state="Failed", reason="BackoffLimitExceeded")
    job.vanish("ps-0")
    job.until_pods(worker_0=1)


@scenario
def tf_deleted_after_its_time(world: ScenarioDriver) -> None:
    """A finished job goes with all that belongs to it."""
    job = world.create("TFJob", "expiring", {"Worker": 1}, ttlSecondsAfterFinished=1)
    job.until_pods(worker_0=0)
    job.run("worker-0")
    job.succeed("worker-0")
    job.until_gone()


@scenario
def tf_pod_taken_by_force(world: ScenarioDriver) -> None:
    """A pod that is gone at once, without a moment in which it is being deleted."""
    job = world.create("TFJob", "forced", {"PS": 1, "Worker": 2})
    job.until_pods(ps_0=0)
    job.run("ps-0")
    job.until_pods(ps_0=0, worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    job.until_status(state="Running")
    job.take("worker-1")
    job.until_pods(ps_0=0, worker_0=0, worker_1=1)
    job.run("worker-1")
    job.until_status(state="Running")
