"""Lives of Inferences: models that come and change, shares, predictors that come and go, trials, autoscalers."""

from harness.fakes.build import BUILT, DIGEST, PlayedBuild
from harness.fakes.serving import PlayedInference
from harness.scenarios import scenario
from harness.scenarios.driver import ScenarioDriver
from harness.scenarios.models import CLAIM

OTHER = "sha256:" + "2" * 64


def built(world: ScenarioDriver, name: str, digest: str = DIGEST) -> None:
    """A model version with an image; nobody needs its build any more."""
    build = PlayedBuild(world, name)
    build.create(storage=CLAIM, imageTag=name)
    build.end(1, 0, **{**BUILT, "digest": digest})
    build.until(imageBuildPhase="ImageBuildSucceeded")
    build.until_no_pod()


@scenario
def inference_whole_life(world: ScenarioDriver) -> None:
    """It waits for its model, serves, goes over to the next version in place, and leaves nothing behind."""
    inference = PlayedInference(world)
    inference.create(inference.predictor("main", "v1", replicas=2), gateway=None)
    inference.until("to wait", lambda: inference.predictor_status("main").get("reason") == "ModelVersionNotFound")
    built(world, "v1")
    inference.until_ready(main=100)
    built(world, "v2", OTHER)
    inference.change(inference.predictor("main", "v2", replicas=3))
    inference.until("three of v2", lambda: settled(inference, "main", OTHER, 3))
    inference.delete()
    inference.until_gone()


@scenario
def inference_shares(world: ScenarioDriver) -> None:
    """Three share; one is turned off, one is taken out: each leaves the route before it goes."""
    inference = PlayedInference(world)
    weights = {"a": 30, "b": 50, "c": 20}
    made = {name: inference.predictor(name, trafficWeight=weight) for name, weight in weights.items()}
    inference.create(*made.values())
    inference.until_ready(a=30, b=50, c=20)
    inference.change(made["a"], made["b"] | {"replicas": 0}, made["c"])
    inference.until("b to be off", lambda: inference.replicas("b") == 0)
    inference.until_ready(a=60, b=0, c=40)
    inference.change(made["a"], made["c"] | {"trafficWeight": 90})
    inference.until_ready(a=25, c=75)


@scenario
def inference_trials(world: ScenarioDriver) -> None:
    """A version is tried and aborted, tried again and promoted; what was made for the trial goes."""
    inference = PlayedInference(world)
    built(world, "v1")
    built(world, "v2", OTHER)
    how = {"steps": [{"weight": 20}]}
    inference.create(inference.predictor("main", "v1"), rollout=how)
    inference.until_ready(main=100)
    inference.change(inference.predictor("main", "v2"))
    trial = {"hello-main": 80, "hello-main-next": 20}
    inference.until("v2 to be tried", lambda: inference.route() == trial)
    inference.say("abort")
    inference.until("to be rolled back", lambda: inference.condition("RolledBack") == "True")
    inference.until_ready(main=100)
    inference.say("retry")
    inference.until("v2 to be tried again", lambda: inference.route() == trial)
    inference.say("promote")
    inference.until("v2 to serve", lambda: settled(inference, "main", OTHER, 1))
    inference.until_ready(main=100)


@scenario
def inference_scaled(world: ScenarioDriver) -> None:
    """An autoscaler is made once and goes with its wish; the number of replicas is left alone meanwhile."""
    inference = PlayedInference(world)
    inference.create(inference.predictor("main", autoScale={"minReplicas": 2, "maxReplicas": 4}), gateway=None)
    inference.until_ready(main=100)
    world.until("its autoscaler", lambda: list(world.watcher.all("scalers", world.namespace)) == ["hello-main"])
    inference.change(inference.predictor("main", replicas=3))
    inference.until("no autoscaler", lambda: not world.watcher.all("scalers", world.namespace))
    inference.until("three pods", lambda: inference.predictor_status("main").get("readyReplicas") == 3)
    inference.until_ready(main=100)


def settled(inference: PlayedInference, predictor: str, digest: str, replicas: int) -> bool:
    """Whether so many pods, and no others, answer with that image."""
    said = inference.predictor_status(predictor)
    counted = {said.get("replicas"), said.get("readyReplicas"), said.get("updatedReplicas")}
    return str(said.get("image", "")).endswith(digest) and counted == {replicas}
