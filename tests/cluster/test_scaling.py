"""ScaleIns and ScaleOuts on a real API server: what is refused, what is done, and what an autoscaler is told."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.drivers.environment import Stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.fakes.scalers import PlayedScaler
from harness.scenarios.driver import Job, ScenarioDriver
from testbed.api import ApiError, Object
from testbed.faultproxy import KillClient, Match

TRY = "dryRun=All&fieldValidation=Strict"
NAME = "elastic-training"
TO_DELETE = {"toDelete": {"count": 1}}


@pytest.fixture
def operator(ready_stage: Stage, namespace: str) -> Iterator[ProxiedOperator]:
    """One that serves the namespace."""
    with ProxiedOperator(ready_stage, namespace, ("--no-leader-election", "--namespace", namespace)) as made:
        made.start()
        yield made


@pytest.fixture
def world(ready_stage: Stage, namespace: str, operator: ProxiedOperator) -> ScenarioDriver:
    """The namespace; an operator that a test kills comes back."""
    return ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node, tend=operator.tend)


def elastic(world: ScenarioDriver, workers: int = 3) -> Job:
    """A job with one to four workers, all of which run."""
    job = world.create(
        "PyTorchJob", NAME, {"Worker": workers}, elastic={"minReplicas": 1, "maxReplicas": 4}, backoffLimit=0
    )
    job.until_pods(**{f"worker_{index}": 0 for index in range(workers)})
    job.run(*(f"worker-{index}" for index in range(workers)))
    return job


def manifest(kind: str, name: str, **spec: object) -> Object:
    """Shaped as the examples of et-operator."""
    body = {"apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": kind, "metadata": {"name": name}}
    return body | {"spec": {"selector": {"name": NAME}, **spec}}


def replicas(job: Job) -> int:
    """The size that the job is asked to have."""
    return int((job.seen() or {})["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"])


@pytest.mark.parametrize(
    ("kind", "spec", "text"),
    [
        ("ScaleIn", {}, "spec.toDelete: Required value"),
        ("ScaleIn", {"toDelete": {}}, "spec.toDelete: Invalid value: set count or podNames"),
        ("ScaleIn", {"toDelete": {"count": -1}}, "should be greater than or equal to 0"),
        ("ScaleIn", {"toDelete": {"podNames": ["a"] * 1001}}, "spec.toDelete.podNames: Too many: 1001"),
        ("ScaleIn", {"toDelete": {"podNames": ["a" * 254]}}, "Too long"),
        ("ScaleOut", {}, "spec.toAdd: Required value"),
        ("ScaleOut", {"toAdd": {"count": 0}}, "should be greater than or equal to 1"),
        (
            "ScaleOut",
            {"toAdd": {"count": 1}, "timeout": 0},
            "spec.timeout in body should be greater than or equal to 1",
        ),
        ("ScaleOut", {"toAdd": {"count": 1}, "selector": {}}, "spec.selector.name: Required value"),
        ("ScaleOut", {"toAdd": {"count": 1}, "script": "a" * 65_537}, "spec.script: Too long"),
        ("ScaleOut", {"toAdd": {"count": 1}, "env": [{"name": "A"}] * 101}, "spec.env: Too many: 101"),
        ("ScaleOut", {"toAdd": {"count": 1, "podNames": ["a"]}}, 'unknown field "spec.toAdd.podNames"'),
    ],
)
def test_a_scaler_that_says_nothing_is_refused(
    ready_stage: Stage, namespace: str, kind: str, spec: dict[str, Any], text: str
) -> None:
    """With the field, at admission."""
    scaler = PlayedScaler(ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node), kind, "a")
    with pytest.raises(ApiError) as refused:
        ready_stage.cluster.api.create(f"{scaler.collection}?{TRY}", manifest(kind, "a", **spec))
    assert text in str(refused.value)


def test_a_scaler_is_not_edited(ready_stage: Stage, namespace: str) -> None:
    """It is done once; its labels may change, and an apply of the same text is no change."""
    scaler = PlayedScaler(ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node), "ScaleOut", "a")
    server, path = ready_stage.watcher.connection, f"{scaler.collection}/a"
    made = ready_stage.cluster.api.create(scaler.collection, manifest("ScaleOut", "a", toAdd={"count": 1}, env=[]))
    assert made["spec"]["timeout"] == 60
    with pytest.raises(ApiError, match="spec: Forbidden: a scaler is done once; create another one"):
        server.patch(path, {"spec": {"toAdd": {"count": 2}}})
    server.patch(path, {"metadata": {"labels": {"training.kubedl.io/kind": "PyTorchJob"}}})
    server.patch(path, {"spec": {"toAdd": {"count": 1}, "timeout": 60}})


def test_the_manifests_of_et_operator_are_carried_out(world: ScenarioDriver, ready_stage: Stage) -> None:
    """One by count, one by the name of a pod, one that adds; and kubectl shows how far they are."""
    job = elastic(world)
    server, place = ready_stage.cluster.api, world.namespace
    by_count, by_name, adds = (
        PlayedScaler(world, kind, name) for kind, name in (("ScaleIn", "in"), ("ScaleIn", "pod"), ("ScaleOut", "out"))
    )
    server.create(by_count.collection, manifest("ScaleIn", "in", **TO_DELETE))
    job.vanish("worker-2")
    by_count.until("ScaleSucceeded")
    assert by_count.status()["toDeletePods"] == [f"{NAME}-worker-2"]
    server.create(by_name.collection, manifest("ScaleIn", "pod", toDelete={"podNames": [f"{NAME}-worker-1"]}))
    job.vanish("worker-1")
    by_name.until("ScaleSucceeded")
    server.create(adds.collection, manifest("ScaleOut", "out", timeout=300, toAdd={"count": 1}))
    job.until_pods(worker_0=0, worker_1=1)
    job.run("worker-1")
    adds.until("ScaleSucceeded")
    assert adds.status()["addPods"] == [f"{NAME}-worker-1"]
    assert [(one["type"], one["status"]) for one in adds.conditions()] == [
        ("Created", "True"),
        ("Scaling", "False"),
        ("ScaleSucceeded", "True"),
    ]
    table = ready_stage.cluster.kubectl("get", "scaleouts.kai.alibabacloud.com", "-n", place).split()
    assert table[:6] == ["NAME", "PHASE", "AGE", "out", "ScaleSucceeded", table[5]]
    assert (replicas(job), job.status().get("retries", 0)) == (2, 0)


@pytest.mark.parametrize(
    ("kind", "spec", "reason", "words"),
    [
        (
            "ScaleIn",
            {"toDelete": {"count": 3}},
            "ScalingInFailed",
            ".spec.toDelete.count should be less than current replicas 3",
        ),
        ("ScaleOut", {"toAdd": {"count": 2}}, "OutOfBounds", "would have 5 replicas; allowed are 1 to 4"),
        ("ScaleOut", {"toAdd": {"count": 1}, "script": "true"}, "ScriptNotSupported", "remove script and env"),
        ("ScaleIn", {"toDelete": {"podNames": [f"{NAME}-worker-0"]}}, "PodsNotRemovable", f"not {NAME}-worker-0"),
        ("ScaleIn", {**TO_DELETE, "selector": {"name": "other"}}, "JobNotFound", "there is no elastic job other"),
    ],
)
def test_a_scaler_that_cannot_be_done_says_why(
    world: ScenarioDriver, kind: str, spec: dict[str, Any], reason: str, words: str
) -> None:
    """And leaves the job as it is."""
    job = elastic(world)
    generation = (job.seen() or {})["metadata"]["generation"]
    scaler = PlayedScaler(world, kind, "a")
    world.watcher.connection.create(scaler.collection, manifest(kind, "a", **spec))
    scaler.until("ScaleFailed")
    assert scaler.last()["reason"] == reason
    assert words in scaler.last()["message"]
    assert (job.seen() or {})["metadata"]["generation"] == generation


def test_pods_that_do_not_run_are_taken_back(world: ScenarioDriver) -> None:
    """By a timeout that is over soon."""
    job, scaler = elastic(world, 2), PlayedScaler(world, "ScaleOut", "a")
    scaler.create(NAME, toAdd={"count": 2}, timeout=2)
    scaler.until("ScaleFailed")
    assert scaler.last()["reason"] == "ScalingOutFailed"
    assert f"{NAME}-worker-2, {NAME}-worker-3 did not run in time" in scaler.last()["message"]
    job.until_pods(worker_0=0, worker_1=0)
    job.until("its old size", lambda: replicas(job) == 2)


@pytest.mark.parametrize("after_commit", [False, True])
def test_an_operator_that_dies_at_the_write_of_the_job_resizes_it_once(
    world: ScenarioDriver, operator: ProxiedOperator, after_commit: bool
) -> None:
    """Before the API server has it, and after."""
    job, scaler = elastic(world), PlayedScaler(world, "ScaleIn", "a")
    match = Match(verb="patch", resource="pytorchjobs", subresource="scale")
    operator.proxy.inject(match, KillClient(after_commit=after_commit))
    scaler.create(NAME, **TO_DELETE)
    job.vanish("worker-2")
    scaler.until("ScaleSucceeded")
    assert len(operator.killed_at) == 1
    assert replicas(job) == 2
    assert (job.seen() or {})["metadata"]["generation"] == 2


def test_an_autoscaler_is_told_what_it_needs(world: ScenarioDriver, ready_stage: Stage) -> None:
    """A selector that finds the workers and nobody else, how many there are, and a size that it may write."""
    job = elastic(world, 2)
    path, server, writer = f"{job.collection}/{NAME}", ready_stage.cluster.api, world.watcher.connection
    job.until("a selector", lambda: server.get(f"{path}/scale")["status"].get("selector"))
    scale = server.get(f"{path}/scale")
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (2, 2)
    selected = server.list(f"/api/v1/namespaces/{world.namespace}/pods?labelSelector={scale['status']['selector']}")
    assert {pod["metadata"]["name"] for pod in selected} == {f"{NAME}-worker-{index}" for index in range(2)}
    # A patch: the version that was read is no longer the newest when the operator writes the status meanwhile.
    writer.patch(f"{path}/scale", {"spec": {"replicas": 3}})
    job.until_pods(worker_0=0, worker_1=0, worker_2=0)
    job.until("it to be counted", lambda: server.get(f"{path}/scale")["status"]["replicas"] == 3)
    with pytest.raises(ApiError, match="which are 1 to 4"):
        writer.patch(f"{path}/scale", {"spec": {"replicas": 5}})
