"""Lives beside the scenarios, for rights of the operator that no scenario makes it use.

They are not played at crash points: what they add there is known from others.
"""

import time
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from harness.drivers import team_queue
from harness.fakes.build import BUILT, PlayedBuild
from harness.fakes.fluid import PlayedFluid
from harness.fakes.scheduled import PlayedCron
from harness.fakes.serving import PlayedInference
from harness.scenarios import Scenario, every_kind
from harness.scenarios.cache import DESCRIBED
from harness.scenarios.driver import KINDS, ScenarioDriver
from harness.scenarios.models import CLAIM
from kubedl.models.version_controller import NEW
from kubedl.models.version_plan import LOOK
from kubedl.training.gang.retries import ANNOTATION
from kubedl.training.kind import Kind
from testbed.api import Object

PLAYED = {"volcano": "scheduling.volcano.sh/v1beta1", "coscheduling": "scheduling.x-k8s.io/v1alpha1"}


def uses() -> Iterator[tuple[str, Scenario]]:
    """Each with its name."""
    for kind in KINDS.values():
        yield f"{kind.kind.lower()}_expires", _expiring(kind)
        yield f"cron_of_{kind.kind.lower()}", partial(run_that_somebody_deletes, kind.kind)
    yield "cron_whose_name_is_taken", cron_whose_name_is_taken
    for name, group in PLAYED.items():
        yield f"gang_of_{name}", partial(gang_that_waits, name, group)
    yield "job_stays_in_its_queue", job_stays_in_its_queue
    yield "cache_on_juicefs", cache_on_juicefs
    yield "inference_scaled_by_keda", inference_scaled_by_keda
    yield "inference_leaves_its_gateway", inference_leaves_its_gateway
    yield "build_is_asked_about", build_is_asked_about


def run_that_somebody_deletes(kind: str, world: ScenarioDriver) -> None:
    """A run is created; when it is gone the operator asks for it before it says so."""
    cron = PlayedCron(world, kind)
    cron.create()
    run = cron.run(0)
    world.until("the run to be known", lambda: len(cron.active()) == 1)
    run.delete()
    world.until("it to be missed", lambda: cron.ended() == ["Deleted"])


def cron_whose_name_is_taken(world: ScenarioDriver) -> None:
    """A job with a schedule, and the Cron of another with its name: the operator looks whose it is."""
    cron, server = PlayedCron(world), world.watcher.connection
    server.create(cron.collection, cron.body(suspend=True))
    world.create("TFJob", "timed", {"Worker": 1}, cronPolicy={"schedule": "0 0 1 1 *"})
    events = f"/api/v1/namespaces/{world.namespace}/events?fieldSelector=reason=CronBlocked"
    world.until("an event", lambda: server.get(events)["items"])


def gang_that_waits(name: str, group: str, world: ScenarioDriver) -> None:
    """Its scheduler is not there; a group that would be forgotten is touched."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}}
    job = world.create(
        "PyTorchJob", "gang", {"Master": {"template": template}}, schedulingPolicy={"gangScheduler": name}
    )
    job.until_pods(master_0=0)

    def declared() -> list[Object]:
        found: list[Object] = world.watcher.connection.get(f"/apis/{group}/namespaces/{world.namespace}/podgroups")[
            "items"
        ]
        return [one for one in found if name == "volcano" or ANNOTATION in one["metadata"].get("annotations", {})]

    world.until("its group", declared)


def job_stays_in_its_queue(world: ScenarioDriver) -> None:
    """It has the priority of its pods; suspended it is not counted; edited, it has another Workload in its queue."""
    server = world.watcher.connection
    team_queue.publish(server, world.namespace, quota=0)
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7}
    server.create("/apis/scheduling.k8s.io/v1/priorityclasses", {**priority, "metadata": {"name": world.namespace}})
    policy = {"queue": team_queue.QUEUE, "priorityClassName": world.namespace}
    job = world.create(
        "TFJob", "leaver", {"Worker": team_queue.role(world.node, "tensorflow")}, schedulingPolicy=policy
    )
    workloads = f"{team_queue.API}/namespaces/{world.namespace}/workloads"

    def priorities() -> list[int]:
        return [one["spec"]["priority"] for one in server.get(workloads)["items"]]

    world.until("a Workload", lambda: priorities() == [7])
    job.change(suspend=True)
    world.until("it to be out of the queue", lambda: not server.get(workloads)["items"][0]["spec"]["active"])
    job.change(suspend=False, schedulingPolicy=None)
    world.until("another Workload", lambda: priorities() == [0])


def cache_on_juicefs(world: ScenarioDriver) -> None:
    """Another engine for the same data."""
    engine = {
        "fluid": {
            "juiceFSRuntime": {"tieredStorage": DESCRIBED["cacheEngine"]["fluid"]["alluxioRuntime"]["tieredStorage"]}
        }
    }
    body = {
        "apiVersion": "cache.kubedl.io/v1alpha1",
        "kind": "CacheBackend",
        "metadata": {"name": "data"},
        "spec": {**DESCRIBED, "cacheEngine": engine},
    }
    place = f"/apis/cache.kubedl.io/v1alpha1/namespaces/{world.namespace}/cachebackends"
    world.watcher.connection.create(place, body)
    fluid = PlayedFluid(world, "data")
    world.until("its runtime", lambda: fluid.get("juicefsruntimes"))
    bound = {"status": {"phase": "Bound", "conditions": []}}
    datasets = f"/apis/data.fluid.io/v1alpha1/namespaces/{world.namespace}/datasets"
    world.watcher.connection.patch(f"{datasets}/data/status", bound)
    fluid.until_cache(cacheStatus="PVCCreating")


def inference_scaled_by_keda(world: ScenarioDriver) -> None:
    """KEDA's object is made, changed, and goes with its wish."""
    inference = PlayedInference(world)
    scale = {"minReplicas": 1, "maxReplicas": 4, "autoScaler": {"kind": "ScaledObject"}, "cpu": 50}
    place = f"/apis/keda.sh/v1alpha1/namespaces/{world.namespace}/scaledobjects"

    def most() -> list[int]:
        found = world.watcher.connection.get(place)["items"]
        return [one["spec"]["maxReplicaCount"] for one in found]

    inference.create(inference.predictor("main", autoScale=scale), gateway=None)
    inference.until("KEDA's object", lambda: most() == [4])
    inference.change(inference.predictor("main", autoScale={**scale, "maxReplicas": 5}))
    inference.until("it to be changed", lambda: most() == [5])
    inference.change(inference.predictor("main", replicas=1))
    inference.until("it to be gone", lambda: most() == [])


def inference_leaves_its_gateway(world: ScenarioDriver) -> None:
    """Its route goes when nobody is to send requests through it."""
    inference = PlayedInference(world)
    inference.create(inference.predictor("main"))
    inference.until("a route", lambda: inference.route() == {"hello-main": 100})
    inference.change(gateway=None)
    inference.until("no route", lambda: not inference.route())


def build_is_asked_about(world: ScenarioDriver) -> None:
    """A build pod that does not start, and then runs for a while: nobody tells what is asked then, so time must do."""
    build, server = PlayedBuild(world, "slow"), world.watcher.connection
    build.create(storage=CLAIM)
    world.until("its pod", lambda: build.attempt() == 1)
    _pass(world, NEW + 2 * LOOK)
    name = (build.pod() or {})["metadata"]["name"]
    server.patch(f"/api/v1/namespaces/{world.namespace}/pods/{name}/status", {"status": {"phase": "Running"}})
    _pass(world, 3 * LOOK)
    build.end(1, 0, **BUILT)
    build.until(imageBuildPhase="ImageBuildSucceeded")


def _pass(world: ScenarioDriver, time_span: timedelta) -> None:
    over = time.monotonic() + time_span.total_seconds()
    world.until("time to pass", lambda: time.monotonic() > over)


def _expiring(kind: Kind) -> Scenario:
    def expires(world: ScenarioDriver) -> None:
        """Done, and gone when its time is over."""
        job = every_kind.create(world, kind)
        every_kind.start(job, kind, attempt=0)
        every_kind.finish(job, kind)
        job.change(ttlSecondsAfterFinished=0)
        job.until("it to be gone", lambda: job.seen() is None)

    return expires
