"""Lives of caches: made for a job or by a user, waited for, used, mended, and ended when nobody uses them."""

from harness.fakes.fluid import PlayedFluid
from harness.scenarios import scenario
from harness.scenarios.driver import Job, ScenarioDriver
from testbed.api import Object

NAME = "data"
DESCRIBED: Object = {
    "dataset": {"dataSources": [{"location": "s3://bucket/mnist", "subDirName": "mnist"}]},
    "cacheEngine": {
        "fluid": {
            "alluxioRuntime": {"tieredStorage": [{"mediumType": "MEM", "cachePath": "/var/cache/data", "quota": "1Gi"}]}
        }
    },
}


@scenario
def cache_whole_life(world: ScenarioDriver) -> None:
    """A job describes its cache, waits for it, and mounts it in every pod; idle, the cache goes by itself."""
    wish = {"name": NAME, "mountPath": "/data", **DESCRIBED, "options": {"idleTime": 1}}
    job = world.create("TFJob", "cached", {"Worker": 1}, cacheBackend=wish, cleanPodPolicy="None")
    fluid = PlayedFluid(world, NAME)
    job.until("it to wait", lambda: _condition(job, "WaitingForCache") == "True")
    fluid.bind()
    fluid.until_cache(cacheStatus="PVCCreating", usedNum=1)
    fluid.claim()
    fluid.until_cache(cacheStatus="PVCCreated", usedBy=["cached"])
    job.until_pods(worker_0=0)
    job.run("worker-0")
    job.until_status(state="Running", cacheBackendName=NAME)
    job.fail("worker-0", 137)
    job.until_pods(worker_0=1)
    job.run("worker-0")
    job.until_status(state="Running")
    job.succeed("worker-0")
    job.until_status(state="Succeeded")
    fluid.until_gone()


@scenario
def cache_mended(world: ScenarioDriver) -> None:
    """What somebody deletes is made again; a job waits for its first pod, and not while it runs.

    It is created before the cache was ever ready: an operator whose watch of caches lags would not let it wait.
    """
    body = {
        "apiVersion": "cache.kubedl.io/v1alpha1",
        "kind": "CacheBackend",
        "metadata": {"name": NAME},
        "spec": DESCRIBED,
    }
    world.watcher.connection.create(f"/apis/cache.kubedl.io/v1alpha1/namespaces/{world.namespace}/cachebackends", body)
    fluid = PlayedFluid(world, NAME)
    fluid.until_cache(cacheStatus="CacheCreating")
    job = world.create("TFJob", "refers", {"Worker": 1}, cacheBackend={"name": NAME, "mountPath": "/data"})
    job.until("it to wait", lambda: _condition(job, "WaitingForCache") == "True")
    fluid.bind()
    fluid.claim()
    fluid.until_cache(cacheStatus="PVCCreated", usedNum=1)
    job.until_pods(worker_0=0)
    job.run("worker-0")
    job.until_status(state="Running", cacheBackendName=NAME)
    fluid.lose("datasets")
    fluid.until_cache(cacheStatus="CacheCreating")
    fluid.bind()
    fluid.until_cache(cacheStatus="PVCCreated", usedNum=1)
    job.until_status(state="Running", ready="1/1")


def _condition(job: Job, kind: str) -> str:
    conditions = job.status().get("conditions") or []
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "")
