"""Caches on a real API server, with Fluid's own definitions; Fluid itself is played."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from harness.drivers.environment import Stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.fakes.fluid import PlayedFluid
from harness.scenarios.cache import DESCRIBED, NAME
from harness.scenarios.driver import ScenarioDriver, job_body
from kubedl.api.cachebackend import CACHE_BACKENDS
from kubedl.datasets import fluid_objects
from kubedl.datasets.host_paths import HostPaths
from kubedl.datasets.plan import Observed, plan
from kubedl.kube import codec
from testbed.api import ApiError, Object
from tests.training_builders import NOW

CACHES = f"/apis/{CACHE_BACKENDS.api_version}/namespaces/{{}}/cachebackends"
TRY = "dryRun=All&fieldValidation=Strict"
JUICEFS = {"fluid": {"juiceFSRuntime": {"replicas": 2, "tieredStorage": [{"mediumType": "SSD", "quota": "40Gi"}]}}}


@pytest.fixture
def world(ready_stage: Stage, namespace: str) -> Iterator[ScenarioDriver]:
    """A namespace that an operator serves."""
    arguments = ("--no-leader-election", "--namespace", namespace)
    with ProxiedOperator(ready_stage, namespace, arguments) as operator:
        operator.start()
        yield ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node, tend=operator.insist)


def body(**spec: object) -> Object:
    """A backend as its user writes it."""
    return {
        "apiVersion": CACHE_BACKENDS.api_version,
        "kind": CACHE_BACKENDS.kind,
        "metadata": {"name": NAME},
        "spec": {**deepcopy(DESCRIBED), **spec},
    }


def alluxio(**fields: object) -> Object:
    """An engine."""
    return {"cacheEngine": {"fluid": {"alluxioRuntime": fields}}}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"dataset": None}, "spec: Invalid value: dataset and cacheEngine belong together"),
        ({"dataset": {"dataSources": []}}, "spec.dataset.dataSources in body should have at least 1 items"),
        ({"cacheEngine": {}}, "spec.cacheEngine.fluid: Required value: set fluid"),
        ({"cacheEngine": {"fluid": {}}}, "spec.cacheEngine.fluid: Invalid value: set exactly one of alluxioRuntime"),
        (alluxio(tieredStorage=[{"mediumType": "RAM"}]), 'Unsupported value: "RAM"'),
        (alluxio(tieredStorage=[{"mediumType": "MEM", "quota": "much"}]), "quota: Invalid value: a quantity"),
        (alluxio(tieredStorage=[{"mediumType": "MEM", "quota": "0"}]), "quota: Invalid value: a quantity"),
        ({"name": "other"}, "spec.name: Invalid value: must equal metadata.name"),
        ({"options": {"idleTime": -1}}, "spec.options.idleTime in body should be greater than or equal to 0"),
    ],
)
def test_a_backend_that_cannot_be_had_is_refused(
    ready_stage: Stage, namespace: str, spec: dict[str, Any], text: str
) -> None:
    """With the field, at admission."""
    with pytest.raises(ApiError) as refused:
        ready_stage.cluster.api.create(f"{CACHES.format(namespace)}?{TRY}", body(**spec))
    assert text in str(refused.value)


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ({"mountPath": "/data"}, "spec.cacheBackend.name: Invalid value: Fluid's objects have the same name"),
        ({"name": NAME}, "spec.cacheBackend.mountPath: Invalid value: the mount path of the data"),
        ({"name": NAME, "mountPath": "data"}, "spec.cacheBackend.mountPath: Invalid value"),
        (
            {"name": "job", "mountPath": "/data"},
            "spec.cacheBackend.name: Invalid value: must differ from the name of the job",
        ),
        (
            {"name": NAME, "mountPath": "/data", **alluxio()},
            "spec.cacheBackend: Invalid value: dataset and cacheEngine",
        ),
    ],
)
def test_a_job_whose_cache_cannot_be_had_is_refused(
    ready_stage: Stage, namespace: str, wish: Object, text: str
) -> None:
    """With the field, at admission."""
    job = job_body("TFJob", "job", {"Worker": 1}, ready_stage.node, cacheBackend=wish)
    with pytest.raises(ApiError) as refused:
        ready_stage.cluster.api.create(f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/tfjobs?{TRY}", job)
    assert text in str(refused.value)


def test_a_cache_is_made_once(ready_stage: Stage, namespace: str) -> None:
    """An edit that nobody would act on is refused; how long it lives can be changed."""
    place = CACHES.format(namespace)
    ready_stage.cluster.api.create(place, body())
    server = ready_stage.watcher.connection
    with pytest.raises(ApiError, match="immutable: create a new CacheBackend"):
        server.patch(f"{place}/{NAME}", {"spec": alluxio(replicas=7)})
    server.patch(f"{place}/{NAME}", {"spec": {"options": {"idleTime": 5}}})


@pytest.mark.parametrize("engine", [DESCRIBED["cacheEngine"], JUICEFS])
def test_fluids_own_definitions_take_what_is_made(ready_stage: Stage, namespace: str, engine: Object) -> None:
    """Every field by its name, none unknown."""
    api = ready_stage.cluster.api
    made = api.create(f"{CACHES.format(namespace)}?{TRY}", body(cacheEngine=engine))
    backend = CACHE_BACKENDS.decoder.decode(codec.encode(made))
    observed = Observed(
        backend, (), None, None, None, installed=True, now=NOW, host_paths=HostPaths.parse("/var/cache")
    )
    creations = plan(observed).creations
    assert len(creations) == 2
    for resource, rendered in creations:
        taken = api.create(f"{resource.path(namespace)}?{TRY}", rendered)
        kept = ("mounts", "replicas")  # beside which Fluid has defaults
        assert {name: taken["spec"].get(name) for name in kept} == {name: rendered["spec"].get(name) for name in kept}


def test_a_job_mounts_its_cache_in_every_pod(world: ScenarioDriver, ready_stage: Stage) -> None:
    """After it has waited for it; the users of the cache are counted."""
    wish = {"name": NAME, "mountPath": "/data", **DESCRIBED}
    job = world.create("TFJob", "cached", {"Worker": 2}, restartScope="Replica", cacheBackend=wish)
    played = PlayedFluid(world, NAME)
    job.until_status(reason="WaitingForCache")
    assert job.pods() == {}
    played.bind()
    played.claim()
    job.until_pods(worker_0=0, worker_1=0)
    job.run("worker-0", "worker-1")
    played.until_cache(usedBy=["cached"], usedNum=1)
    job.fail("worker-1", 137)
    job.until_pods(worker_0=0, worker_1=1)
    for found in ready_stage.watcher.all("pods", world.namespace).values():
        [container] = found["spec"]["containers"]
        assert {"name": "cachevolume", "mountPath": "/data"} in container["volumeMounts"]
        assert {"name": "KUBEDL_CACHE_NAME", "value": NAME} in container["env"]
        assert {"name": "cachevolume", "persistentVolumeClaim": {"claimName": NAME}} in found["spec"]["volumes"]
    owners = [
        (played.get(kind) or {})["metadata"]["ownerReferences"][0]["kind"]
        for kind in ("datasets", fluid_objects.ALLUXIO.plural)
    ]
    assert owners == ["CacheBackend"] * 2
