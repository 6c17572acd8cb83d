"""Rollouts that cannot go on: another version in the spec, no room for pods, long loading, limits of gateways."""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.model import MODEL_VERSIONS
from kubedl.kube.errors import ForbiddenError
from kubedl.kube.types.apps import DEPLOYMENTS, DeploymentCondition
from kubedl.kube.types.core import PODS, ContainerState, ContainerStatus, Pod, PodCondition, PodStatus, Terminated
from kubedl.kube.types.meta import ObjectKey, ObjectMeta
from kubedl.serving.naming import CANDIDATE, INFERENCE, INFERENCE_UID, PREDICTOR, STABLE, TRACK
from kubedl.serving.rollout import commands, state_machine
from kubedl.serving.routing import HTTP_ROUTES
from kubedl.serving.workload import model_init_container
from tests.training_builders import NAMESPACE
from tests.unit.serving.canaries import JUDGED, MAIN, NEXT, STEPS, left, phase, started
from tests.unit.serving.fake_cluster import KEY, Stage
from tests.unit.serving.inferences import GATEWAY, NAME, OTHER, UID, inference, predictor, version

DEFAULT = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}}


def say(stage: Stage, word: str) -> None:
    notes = {**stage.inference.metadata.annotations, commands.ANNOTATION: word}
    stage.edit(with_metadata(stage.inference, annotations=notes))


@pytest.mark.parametrize("phase_of_v3", ["", "ImageBuilding", "ImageBuildFailed"])
def test_a_trial_ends_when_the_spec_names_a_version_that_is_not_there(runner: asyncio.Runner, phase_of_v3: str) -> None:
    """v3 is misspelt, being built, or failed: v2 is not promoted, and v3 is tried when it is built."""
    stage = started(runner, STEPS)
    if phase_of_v3:
        stage.api.put(MODEL_VERSIONS, version("v3", phase=phase_of_v3))
    stage.edit(inference(predictor(replicas=4, modelVersion="v3"), rollout=STEPS))
    for _ in range(5):
        stage.api.now += timedelta(seconds=60)
        stage.settle()
    assert (phase(stage), stage.shares(), stage.predictors["main"].model_version) == ("Stable", {MAIN: 100}, "v1")
    left(stage)
    stage.api.put(MODEL_VERSIONS, version("v3", "sha256:" + "c" * 64))
    stage.settle()
    found = stage.predictors["main"].rollout
    assert found is not None
    assert (found.phase, found.candidate) == ("Starting", "v3")


def test_a_rejected_version_is_not_served_because_the_rollout_is_removed(runner: asyncio.Runner) -> None:
    """Until a person asks for it, who is not told that nothing came of it."""
    stage = started(runner, STEPS)
    say(stage, "abort")
    stage.settle()
    left(stage)
    stage.edit(with_metadata(inference(predictor(replicas=4, modelVersion="v2")), annotations={}))
    stage.settle()
    assert (phase(stage), stage.predictors["main"].model_version) == ("RolledBack", "v1")
    say(stage, "promote")
    stage.settle()
    assert (phase(stage), stage.predictors["main"].model_version) == ("Stable", "v2")
    assert "Warning Inference NoRollout" not in stage.events


def test_a_word_may_name_one_of_two_predictors(runner: asyncio.Runner) -> None:
    """The other's trial goes on; a name that no predictor has is told."""
    both = [predictor("a"), predictor("b")]
    stage = Stage(runner, inference(*both, rollout=STEPS), version(), version("v2", OTHER))
    stage.gateway = GATEWAY
    stage.settle()
    for name in ("a", "b"):
        stage.serves(f"{NAME}-{name}")
    stage.settle()
    stage.edit(inference(*({**one, "modelVersion": "v2"} for one in both), rollout=STEPS))
    stage.settle()
    for word, expected in (("promote:c", ["Starting", "Starting"]), ("promote:b", ["Starting", "Promoting"])):
        say(stage, word)
        stage.settle()
        states = [one.rollout for one in stage.predictors.values()]
        assert [one.phase for one in states if one is not None] == expected
        assert commands.ANNOTATION not in stage.inference.metadata.annotations
    assert stage.events.count("Warning Inference UnknownPredictor") == 1


def stuck(stage: Stage) -> None:
    """Kubernetes says that no pod of the predictor could be replaced."""
    found = stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN))
    said = DeploymentCondition("Progressing", "False", "ProgressDeadlineExceeded")
    status = msgspec.structs.replace(
        found.status, observed_generation=found.metadata.generation, updated_replicas=0, conditions=(said,)
    )
    stage.api.put(DEPLOYMENTS, msgspec.structs.replace(found, status=status))


def crowded(stage: Stage) -> None:
    """The scheduler finds no node for a further pod of the predictor."""
    labels = {INFERENCE: NAME, INFERENCE_UID: UID, PREDICTOR: "main", TRACK: STABLE}
    said = PodCondition(
        type="PodScheduled", status="False", reason="Unschedulable", message="Insufficient nvidia.com/gpu"
    )
    meta = ObjectMeta(name="pod-waits", namespace=NAMESPACE, uid="pod-waits", labels=labels)
    stage.api.put(PODS, Pod(metadata=meta, status=PodStatus(phase="Pending", conditions=(said,))))


def test_a_promotion_without_room_needs_no_pod_beyond_those_that_there_are(runner: asyncio.Runner) -> None:
    """A further pod comes first, so no request is lost. Without room for it pods are replaced in place.

    That stays so when the pod that waited has its place: the next one would wait again.
    """
    stage = started(runner, STEPS)
    say(stage, "promote")
    stage.settle()
    assert stage.body(DEPLOYMENTS, MAIN)["spec"]["strategy"] == DEFAULT
    crowded(stage)
    stage.settle()
    replaced_in_place = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%", "maxSurge": 0}}
    assert stage.body(DEPLOYMENTS, MAIN)["spec"]["strategy"] == replaced_in_place
    assert stage.body(DEPLOYMENTS, NEXT)["spec"]["strategy"] == DEFAULT
    stage.api.drop(PODS, ObjectKey(NAMESPACE, "pod-waits"))
    stage.settle()
    assert stage.body(DEPLOYMENTS, MAIN)["spec"]["strategy"] == replaced_in_place
    asked = stage.client.asked
    stage.serves(MAIN)
    stage.settle()
    assert stage.body(DEPLOYMENTS, MAIN)["spec"]["strategy"] == DEFAULT
    assert (phase(stage), stage.client.asked) == ("Stable", asked)  # how the model gets into pods is not chosen anew


def test_a_promotion_that_makes_no_progress_ends(runner: asyncio.Runner) -> None:
    """What served before stays, and the next version can be tried."""
    stage = started(runner, STEPS)
    say(stage, "promote")
    stage.settle()
    stuck(stage)
    stage.settle()
    assert phase(stage) == "Promoting"
    stage.api.now += state_machine.STARTING
    stage.settle()
    assert (phase(stage), stage.condition("RolledBack").reason) == ("RolledBack", "PromotionStuck")
    assert stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"]["serving.kubedl.io/model-version"] == "v1"


def test_a_promotion_whose_pods_are_refused_ends(runner: asyncio.Runner) -> None:
    """The Deployment is not changed then, and so has no progress to report."""
    stage = started(runner, STEPS)
    stage.client.full = True
    say(stage, "promote")
    with pytest.raises(ForbiddenError):
        stage.look()
    assert phase(stage) == "Promoting"
    stage.api.now += state_machine.STARTING
    stage.settle()
    assert (phase(stage), stage.condition("RolledBack").reason) == ("RolledBack", "PromotionStuck")


def test_a_promotion_without_a_way_back_is_not_given_up(runner: asyncio.Runner) -> None:
    stage = started(runner, STEPS)
    say(stage, "promote")
    stage.settle()
    stage.api.drop(MODEL_VERSIONS, ObjectKey(NAMESPACE, "v1"))
    stuck(stage)
    stage.api.now += state_machine.STARTING
    stage.settle()
    assert phase(stage) == "Promoting"


def copying(state: ContainerState) -> Pod:
    """A pod of the candidate, whose loader is so far."""
    labels = {INFERENCE: NAME, INFERENCE_UID: UID, PREDICTOR: "main", TRACK: CANDIDATE}
    status = ContainerStatus(name=model_init_container.CONTAINER, state=state)
    meta = ObjectMeta(name="pod-next", namespace=NAMESPACE, uid="pod-next", labels=labels)
    return Pod(metadata=meta, status=PodStatus(phase="Pending", init_container_statuses=(status,)))


@pytest.mark.parametrize(("seconds", "expected"), [(None, "RolledBack"), (900, "Starting")])
def test_a_model_that_loads_for_twelve_minutes(runner: asyncio.Runner, seconds: int | None, expected: str) -> None:
    how: dict[str, Any] = STEPS if seconds is None else {**STEPS, "startSeconds": seconds}
    stage = Stage(runner, inference(predictor(), rollout=how), version(), version("v2", OTHER))
    stage.gateway = GATEWAY
    stage.settle()
    stage.serves(MAIN)
    stage.settle()
    stage.edit(inference(predictor(modelVersion="v2"), rollout=how))
    stage.settle()
    assert stage.body(DEPLOYMENTS, NEXT)["spec"].get("progressDeadlineSeconds") == seconds
    stage.api.now += timedelta(minutes=12)
    stage.settle()
    assert phase(stage) == expected
    if expected == "Starting":
        stage.serves(NEXT)
        stage.settle()
        assert (phase(stage), stage.shares()) == ("Stepping", {MAIN: 90, NEXT: 10})


def test_the_time_in_which_a_model_is_copied_does_not_count(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(predictor(), rollout=STEPS), version(), version("v2", OTHER))
    stage.gateway = GATEWAY
    stage.settle()
    stage.serves(MAIN)
    stage.settle()
    stage.edit(inference(predictor(modelVersion="v2"), rollout=STEPS))
    stage.settle()
    stage.api.put(PODS, copying(ContainerState()))
    stage.api.now += timedelta(hours=1)
    assert (stage.look(), phase(stage)) == (state_machine.LATE_LOOK.total_seconds(), "Starting")
    stage.api.put(PODS, copying(ContainerState(terminated=Terminated(finished_at=stage.api.now))))
    stage.api.now += state_machine.STARTING - timedelta(seconds=1)
    stage.settle()
    assert phase(stage) == "Starting"
    stage.api.now += timedelta(seconds=1)
    stage.settle()
    assert phase(stage) == "RolledBack"


def test_a_rollout_without_requests_ends(runner: asyncio.Runner) -> None:
    """And its pods with it."""
    stage = started(runner, {**JUDGED, "analysis": {**JUDGED["analysis"], "deadlineSeconds": 3600}})  # type: ignore[dict-item]
    stage.source = None
    stage.api.now += timedelta(seconds=3700)
    stage.settle()
    assert (phase(stage), stage.condition("RolledBack").reason) == ("RolledBack", "NoMetrics")


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (None, DEFAULT),
        ({"type": "Recreate"}, {"type": "Recreate"}),
        ({"maxUnavailable": 1}, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "25%"}}),
        (
            {"maxUnavailable": "50%", "maxSurge": 0},
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%", "maxSurge": 0}},
        ),
    ],
)
def test_a_predictor_says_how_its_pods_are_replaced(
    runner: asyncio.Runner, wish: dict[str, Any] | None, expected: dict[str, Any]
) -> None:
    stage = Stage(runner, inference(predictor(strategy=wish)), version())
    stage.settle()
    assert stage.body(DEPLOYMENTS, MAIN)["spec"]["strategy"] == expected


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (None, None),
        ({}, None),
        ({"requestSeconds": 0}, {"request": "0s"}),
        ({"requestSeconds": 600, "backendRequestSeconds": 30}, {"request": "600s", "backendRequest": "30s"}),
    ],
)
def test_the_route_has_the_timeouts_of_the_spec(
    runner: asyncio.Runner, wish: dict[str, int] | None, expected: dict[str, str] | None
) -> None:
    """Somebody else's are put right."""
    stage = Stage(runner, inference(timeouts=wish) if wish is not None else inference(), version())
    stage.gateway = GATEWAY
    stage.settle()
    assert stage.body(HTTP_ROUTES, NAME)["spec"]["rules"][0].get("timeouts") == expected
    stage.edit(inference(timeouts={"requestSeconds": 7}))
    stage.settle()
    assert stage.body(HTTP_ROUTES, NAME)["spec"]["rules"][0]["timeouts"] == {"request": "7s"}


def test_timeouts_that_the_cluster_does_not_keep_are_told_and_not_written_again(runner: asyncio.Runner) -> None:
    """Before Gateway API 1.2 the HTTPRoutes of the standard channel have no timeouts."""
    stage = Stage(runner, inference(timeouts={"requestSeconds": 7}), version())
    stage.gateway = GATEWAY
    stage.settle()
    route = stage.api.find(HTTP_ROUTES, KEY)
    rules = tuple(msgspec.structs.replace(rule, timeouts=None) for rule in route.spec.rules)
    spec = msgspec.structs.replace(route.spec, rules=rules)
    stage.api.put(HTTP_ROUTES, msgspec.structs.replace(route, spec=spec))
    stage.accepts()
    stage.settle()
    said = stage.condition("Routed")
    assert (said.status, said.reason) == ("True", "TimeoutsDropped")
    stage.look()
    assert stage.writes == []
