"""A version on trial beside an autoscaler: whoever may have to take over is large enough for it."""

import asyncio
from datetime import timedelta

import msgspec

from harness.fakes.api_server import with_metadata
from kubedl.api.inference import Inference
from kubedl.kube.types.apps import DEPLOYMENTS, DeploymentSpec
from kubedl.kube.types.autoscaling import AUTOSCALERS, SCALED_OBJECTS
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.rollout import commands, state_machine
from tests.training_builders import NAMESPACE
from tests.unit.serving.canaries import MAIN, NEXT, phase
from tests.unit.serving.fake_cluster import Stage
from tests.unit.serving.inferences import GATEWAY, OTHER, inference, predictor, version

WHOLE_WAY = {"steps": [{"weight": 50, "pause": 60}, {"weight": 100, "pause": 600}]}


def autoscaled(served: str, **scale: object) -> Inference:
    scale = {"minReplicas": 1, "maxReplicas": 10, **scale}
    return inference(predictor(modelVersion=served, autoScale=scale), rollout=WHOLE_WAY)


def scaled_to(stage: Stage, replicas: int, name: str = MAIN) -> None:
    """An autoscaler has done what it thinks right, and the pods are there."""
    found = stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, name))
    changed = msgspec.structs.replace(found, spec=DeploymentSpec(replicas=replicas))
    stage.api.put(DEPLOYMENTS, with_metadata(changed, generation=found.metadata.generation + 1))
    stage.serves(name)


def pods(stage: Stage, name: str) -> int:
    count: int = stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, name)).spec.replicas
    return count


def on_trial(runner: asyncio.Runner, served: int) -> Stage:
    """The next version is ready, and so many pods of the one before served when its trial began."""
    stage = Stage(runner, autoscaled("v1"), version(), version("v2", OTHER))
    stage.gateway = GATEWAY
    stage.settle()
    scaled_to(stage, served)
    stage.settle()
    stage.edit(autoscaled("v2"))
    stage.settle()
    stage.serves(NEXT)
    stage.settle()
    return stage


def at_the_last_step(runner: asyncio.Runner) -> Stage:
    """Eight pods served when the trial began, and an autoscaler has shrunk them to one, since they are idle."""
    stage = on_trial(runner, 8)
    assert (pods(stage, NEXT), stage.shares()) == (8, {MAIN: 50, NEXT: 50})
    stage.api.now += timedelta(seconds=60)
    stage.settle()
    scaled_to(stage, 1)
    stage.settle()
    return stage


def test_a_version_on_trial_does_not_shrink_with_what_is_idle(runner: asyncio.Runner) -> None:
    """Nor lose its share; and the autoscaler is told to keep what serves as large, in case it has to take over."""
    stage = at_the_last_step(runner)
    assert (phase(stage), pods(stage, NEXT), stage.shares()) == ("Stepping", 8, {NEXT: 100})
    assert stage.body(AUTOSCALERS, MAIN)["spec"]["minReplicas"] == 8
    stage.edit(with_metadata(stage.inference, annotations={commands.ANNOTATION: "abort"}))
    stage.settle()
    assert stage.body(AUTOSCALERS, MAIN)["spec"]["minReplicas"] == 1


def test_a_promotion_ends_when_there_are_pods_enough(runner: asyncio.Runner) -> None:
    stage = at_the_last_step(runner)
    stage.api.now += timedelta(seconds=600)
    stage.settle()
    assert (phase(stage), pods(stage, MAIN)) == ("Promoting", 8)
    scaled_to(stage, 1)
    stage.settle()
    assert (phase(stage), pods(stage, MAIN), stage.shares()) == ("Promoting", 8, {NEXT: 100})
    stage.serves(MAIN)
    stage.settle()
    assert (phase(stage), stage.shares()) == ("Stable", {MAIN: 100})
    assert stage.body(AUTOSCALERS, MAIN)["spec"]["minReplicas"] == 1


def test_an_autoscaler_that_insists_does_not_keep_a_promotion_from_ending(runner: asyncio.Runner) -> None:
    """Somebody else's cannot be told; whatever it wants after a while is right."""
    stage = at_the_last_step(runner)
    stage.api.now += timedelta(seconds=600)
    stage.settle()
    assert stage.look() == state_machine.STARTING.total_seconds()
    stage.api.now += state_machine.STARTING
    scaled_to(stage, 1)
    stage.settle()
    assert (phase(stage), stage.shares()) == ("Stable", {MAIN: 100})


def test_a_predictor_at_rest_goes_over_to_the_next_version_too(runner: asyncio.Runner) -> None:
    """It is woken for it, so that there is somebody to go over; one that is sent to sleep again has gone over."""
    keda = {"minReplicas": 0, "autoScaler": {"kind": "ScaledObject"}, "triggers": [{"type": "cron"}]}
    for slept in (False, True):
        stage = Stage(runner, autoscaled("v1", **keda), version(), version("v2", OTHER))
        stage.gateway = GATEWAY
        stage.settle()
        scaled_to(stage, 0)
        stage.settle()
        stage.edit(autoscaled("v2", **keda))
        stage.settle()
        assert stage.body(SCALED_OBJECTS, MAIN)["spec"]["minReplicaCount"] == 1
        stage.serves(NEXT)
        for _ in range(3):
            stage.settle()
            stage.api.now += timedelta(seconds=600)
        assert (phase(stage), pods(stage, MAIN)) == ("Promoting", 1)
        if slept:
            stage.api.now += state_machine.STARTING
            scaled_to(stage, 0)
        stage.serves(MAIN)
        stage.settle()
        assert (phase(stage), stage.predictors["main"].model_version) == ("Stable", "v2")


def test_a_version_grows_with_what_serves(runner: asyncio.Runner) -> None:
    """And keeps its share while it does."""
    stage = on_trial(runner, 2)
    scaled_to(stage, 6)
    stage.settle()
    assert (phase(stage), pods(stage, NEXT), stage.shares()) == ("Stepping", 6, {MAIN: 50, NEXT: 50})
