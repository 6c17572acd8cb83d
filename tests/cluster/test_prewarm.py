"""Images on nodes before they are asked for, with OpenKruise's own definition; OpenKruise itself is played."""

from collections.abc import Iterator

import pytest

from harness.drivers.cluster_watcher import MODEL
from harness.drivers.environment import Stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.fakes.build import BUILT, DIGEST, PlayedBuild
from harness.fakes.kruise import KIND, PlayedKruise
from harness.scenarios.driver import ScenarioDriver
from harness.scenarios.models import CLAIM
from kubedl.api.model import MODEL_VERSIONS
from testbed.api import ApiError, Object
from testbed.faultproxy import AnswerInstead, Match

WISH = {"nodeSelector": {"pool": "gpu"}, "secretName": "hub"}
DONE = "2026-01-01T00:00:00Z"


@pytest.fixture
def world(ready_stage: Stage, namespace: str) -> Iterator[ScenarioDriver]:
    """A namespace that an operator serves."""
    with ProxiedOperator(ready_stage, namespace, ("--no-leader-election", "--namespace", namespace)) as operator:
        operator.start()
        yield ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node, tend=operator.insist)


def test_a_built_version_is_pulled_to_nodes_once(world: ScenarioDriver) -> None:
    """OpenKruise's own definition takes the job; what comes of it is told, and stays when the job is gone."""
    build, kruise = PlayedBuild(world, "version"), PlayedKruise(world, "version")
    build.create(storage=CLAIM, preWarm=WISH)
    world.until("its build pod", lambda: build.pod() is not None)
    assert kruise.job() is None
    build.end(1, 0, **BUILT)
    world.until("the job", lambda: kruise.job() is not None)
    job: Object = kruise.job() or {}
    assert job["spec"]["image"] == f"hub/resnet@{DIGEST}"
    assert job["spec"]["selector"] == {"matchLabels": {"pool": "gpu"}}
    assert job["spec"]["pullSecrets"] == ["hub"]
    assert (job["spec"]["parallelism"], job["spec"]["pullPolicy"]["timeoutSeconds"]) == (5, 3600)
    kruise.say(desired=2, succeeded=2, completionTime=DONE)
    world.until("the images to be there", lambda: build.condition("PreWarmed").get("reason") == "Pulled")
    assert (build.condition("PreWarmed")["status"], build.condition("PreWarmed")["message"]) == (
        "True",
        "on 2 of 2 nodes",
    )
    build.until(imageBuildPhase="ImageBuildSucceeded")
    build.delete()
    world.until("the job to go with its version", lambda: kruise.job() is None)


def test_nodes_that_could_not_pull_are_named(world: ScenarioDriver) -> None:
    build, kruise = PlayedBuild(world, "version"), PlayedKruise(world, "version")
    build.create(storage=CLAIM, preWarm={})
    build.end(1, 0, **BUILT)
    world.until("the job", lambda: kruise.job() is not None)
    assert "selector" not in (kruise.job() or {})["spec"]
    kruise.say(desired=2, succeeded=1, failed=1, failedNodes=["node-b"], completionTime=DONE)
    world.until("the failure", lambda: build.condition("PreWarmed").get("reason") == "PullFailed")
    assert build.condition("PreWarmed")["message"] == "on 1 of 2 nodes; failed: node-b"


def test_a_cluster_without_openkruise_is_told_of(ready_stage: Stage, namespace: str) -> None:
    """An API server that answers as one does which does not know the kind."""
    with ProxiedOperator(ready_stage, namespace, ("--no-leader-election", "--namespace", namespace)) as operator:
        operator.proxy.inject(Match(resource=KIND, times=None), AnswerInstead(404))
        operator.start()
        world = ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node, tend=operator.insist)
        build = PlayedBuild(world, "version")
        build.create(storage=CLAIM, preWarm={})
        build.end(1, 0, **BUILT)
        world.until("the condition", lambda: build.condition("PreWarmed").get("reason") == "KruiseNotInstalled")
        assert build.condition("PreWarmed")["status"] == "False"
        build.until(imageBuildPhase="ImageBuildSucceeded", image=f"hub/resnet@{DIGEST}")


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ({"parallelism": 0}, "spec.preWarm.parallelism in body should be greater than or equal to 1"),
        ({"timeoutSeconds": 0}, "spec.preWarm.timeoutSeconds in body should be greater than or equal to 1"),
        ({"nodes": ["a"]}, 'unknown field "spec.preWarm.nodes"'),
    ],
)
def test_a_wish_that_cannot_be_granted_is_refused(ready_stage: Stage, namespace: str, wish: Object, text: str) -> None:
    spec = {"modelName": "resnet", "imageRepo": "hub/resnet", "storage": CLAIM, "preWarm": wish}
    body = {
        "apiVersion": MODEL_VERSIONS.api_version,
        "kind": MODEL_VERSIONS.kind,
        "metadata": {"name": "version"},
        "spec": spec,
    }
    place = f"{MODEL}/namespaces/{namespace}/modelversions?dryRun=All&fieldValidation=Strict"
    with pytest.raises(ApiError) as refused:
        ready_stage.cluster.api.create(place, body)
    assert text in str(refused.value)
