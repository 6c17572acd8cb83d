"""From one model version to the next: what is made, who gets which share, what is left in the end."""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.inference import INFERENCES
from kubedl.kube.errors import ApiError
from kubedl.kube.types.apps import DEPLOYMENTS
from kubedl.serving import routing
from kubedl.serving.rollout import commands, state_machine
from kubedl.serving.rollout.analysis import Metrics
from kubedl.serving.rollout.promql import Target
from kubedl.serving.routing import GatewayRef
from tests.training_builders import NAMESPACE
from tests.unit.serving.canaries import JUDGED, MAIN, NEXT, STEPS, Gauge, left, phase, started
from tests.unit.serving.fake_cluster import KEY, Stage
from tests.unit.serving.inferences import GATEWAY, NAME, OTHER, inference, predictor, version
from tests.unit.training.api_model import Crash, Harm


def test_a_good_version_is_promoted(runner: asyncio.Runner) -> None:
    """Step by step; then the predictor itself goes over, and the second Deployment leaves when nobody needs it."""
    stage = started(runner, JUDGED)
    assert stage.look() == state_machine.LOOK.total_seconds()
    stage.api.now += timedelta(seconds=60)
    stage.settle()
    assert stage.shares() == {MAIN: 50, NEXT: 50}
    stage.api.now += timedelta(seconds=60)
    stage.settle()
    assert (phase(stage), stage.shares()) == ("Promoting", {MAIN: 50, NEXT: 50})
    assert stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"]["serving.kubedl.io/model-version"] == "v2"
    stage.serves(MAIN)
    stage.settle()
    assert (phase(stage), stage.shares()) == ("Stable", {MAIN: 100})
    left(stage)
    assert stage.predictors["main"].model_version == "v2"
    assert (stage.ready, stage.source.asked[0][0]) == (("True", "Serving"), Target(NAMESPACE, NEXT, 8080))  # type: ignore[union-attr]


def test_a_bad_version_is_rolled_back(runner: asyncio.Runner) -> None:
    """At the next look, with one condition, and not tried again."""
    stage = started(runner, JUDGED)
    stage.source = Gauge(100, 5)
    stage.api.now += state_machine.LOOK
    stage.look()
    assert stage.shares() == {MAIN: 100}
    said = stage.condition("RolledBack")
    assert (said.status, said.reason) == ("True", "ErrorRate")
    assert said.message.startswith("predictor main: ModelVersion v2: 5.00% of 100 requests failed")
    assert "Warning Inference ErrorRate" in stage.events
    left(stage)
    stage.api.now += timedelta(hours=1)
    stage.settle()
    assert (stage.found(DEPLOYMENTS), stage.predictors["main"].model_version) == ([MAIN], "v1")
    stage.edit(inference(predictor(replicas=4), rollout=JUDGED))
    stage.settle()
    assert stage.condition("RolledBack").status == "False"


def test_a_version_that_turns_bad_late_is_rolled_back(runner: asyncio.Runner) -> None:
    """While it waits for a person, too."""
    stage = started(
        runner, {"steps": [{"weight": 10}, {"weight": 50}], "analysis": {"errorRate": 2, "minRequests": 50}}
    )
    stage.api.now += timedelta(hours=12)
    gauge = stage.source = Gauge()
    gauge.figure = Metrics(432_000, 200, None, Metrics(3000, 200))
    stage.settle()
    assert (phase(stage), stage.condition("RolledBack").reason) == ("RolledBack", "ErrorRate")


def test_a_version_that_is_rolled_back_goes_even_if_nobody_else_answers(runner: asyncio.Runner) -> None:
    """What was judged bad is not asked because it is there."""
    stage = started(runner, JUDGED)
    stage.serves(MAIN, 0)
    stage.settle()
    assert stage.shares() == {NEXT: 100}
    stage.source = Gauge(100, 5)
    stage.api.now += state_machine.LOOK
    stage.settle()
    assert (phase(stage), stage.shares()) == ("RolledBack", {MAIN: 100})


def test_a_version_that_leaves_is_not_scaled_any_more(runner: asyncio.Runner) -> None:
    """New pods of it would start for nothing."""
    stage = started(runner, STEPS)
    stage.edit(inference(predictor(replicas=9), rollout=STEPS))
    stage.look()
    assert f"scale deployments {MAIN}" in stage.writes
    stage.look()
    assert [write for write in stage.writes if NEXT in write] == []


def test_a_version_that_crashes_again_and_again_is_rolled_back(runner: asyncio.Runner) -> None:
    """Though it is ready in between, and too few requests are seen each time to judge it."""
    stage = started(runner, JUDGED)
    stage.source = Gauge(20, 20)
    for _ in range(state_machine.MOST_INTERRUPTIONS + 1):
        assert phase(stage) == "Stepping"
        stage.api.now += timedelta(seconds=20)
        stage.serves(NEXT, ready=0)
        stage.settle()
        stage.start()
        stage.serves(NEXT)
        stage.settle()
    assert (phase(stage), stage.condition("RolledBack").reason) == ("RolledBack", "Unstable")


def test_a_version_that_loses_one_of_its_pods_goes_on(runner: asyncio.Runner) -> None:
    """It has its share as long as one is there; it begins with all."""
    stage = started(runner, STEPS)
    stage.serves(NEXT, ready=1)
    stage.settle()
    assert (phase(stage), stage.shares()) == ("Stepping", {MAIN: 90, NEXT: 10})
    stage.serves(NEXT, ready=0)
    stage.settle()
    stage.serves(NEXT, ready=1)
    stage.settle()
    found = stage.predictors["main"].rollout
    assert found is not None
    assert (found.phase, found.message, stage.shares()) == ("Starting", state_machine.LOST, {MAIN: 100})


def test_what_is_measured_counts_from_before_an_interruption(runner: asyncio.Runner) -> None:
    """A version that answers badly and falls over is judged by all that it answered in its step."""
    stage = started(runner, JUDGED)
    gauge = stage.source = Gauge(20, 20)
    began = stage.api.now
    stage.serves(NEXT, ready=0)
    stage.settle()
    stage.api.now += timedelta(seconds=60)
    stage.serves(NEXT)
    stage.settle()
    assert {since for _, since in gauge.asked} == {began}


def test_not_knowing_is_no_reason_to_go_on(runner: asyncio.Runner) -> None:
    stage = started(runner, JUDGED)
    for source in (None, Gauge(1)):
        stage.source = source
        stage.api.now += timedelta(seconds=120)
        stage.settle()
        assert stage.shares() == {MAIN: 90, NEXT: 10}


def test_figures_that_grow_change_nothing_that_is_written(runner: asyncio.Runner) -> None:
    """A step waits for requests in peace, and a person is heard meanwhile."""
    stage = started(runner, JUDGED)
    stage.api.now += timedelta(seconds=120)
    stage.source = Gauge(10)
    stage.settle()
    stage.edit(with_metadata(stage.inference, annotations={commands.ANNOTATION: "hurry"}))
    for requests in range(11, 15):
        stage.source = Gauge(requests)
        stage.api.now += state_machine.LOOK
        stage.look()
    assert (stage.writes, commands.ANNOTATION in stage.inference.metadata.annotations) == ([], False)


class Slow(Gauge):
    """Who never answers."""

    async def metrics(self, target: Target, since: datetime, now: datetime) -> Metrics:
        await super().metrics(target, since, now)
        await asyncio.Event().wait()
        raise AssertionError("nobody waits so long")


def test_nobody_waits_for_figures(runner: asyncio.Runner) -> None:
    """A version that dies loses its share at once, whoever is being asked about it; and is asked about once."""
    stage = started(runner, JUDGED)
    slow = stage.source = Slow()
    stage.api.now += state_machine.LOOK
    stage.settle()
    stage.api.now += state_machine.LOOK
    stage.serves(NEXT, ready=0)
    stage.look()
    assert (stage.shares(), len(slow.asked)) == ({MAIN: 100}, 1)


def test_nobody_is_asked_before_a_version_has_requests_nor_too_often(runner: asyncio.Runner) -> None:
    stage = started(runner, JUDGED)
    gauge = stage.source
    assert isinstance(gauge, Gauge)
    assert len(gauge.asked) == 1
    for _ in range(3):
        stage.look()
    assert len(gauge.asked) == 1
    stage.api.now += state_machine.LOOK
    stage.look()
    assert len(gauge.asked) == 2


def test_what_was_known_of_a_trial_is_forgotten_with_it(runner: asyncio.Runner) -> None:
    """Of a version that is rejected, and of an Inference that is gone."""
    for number in range(2):
        stage = started(runner, JUDGED)
        stage.source = Gauge(100, 5 * number)
        stage.look()
        known = stage.measurements._known  # noqa: SLF001 - that memory is bounded
        assert [*known[KEY]] == [Target(NAMESPACE, NEXT, 8080)]
        stage.api.now += state_machine.LOOK
        if not number:
            stage.api.drop(INFERENCES, KEY)
        stage.look()
        assert known == {}


def test_going_back_ends_the_trial(runner: asyncio.Runner) -> None:
    stage = started(runner, STEPS)
    stage.edit(inference(predictor(replicas=4), rollout=STEPS))
    stage.settle()
    left(stage)
    assert stage.predictors["main"].model_version == "v1"


@pytest.mark.parametrize("gateway", [GATEWAY, None])
def test_a_model_that_is_taken_out_of_the_spec_is_not_served(
    runner: asyncio.Runner, gateway: GatewayRef | None
) -> None:
    stage = started(runner, STEPS)
    stage.gateway = gateway
    stage.edit(inference(predictor(replicas=4, modelVersion=None), rollout=STEPS))
    stage.settle()
    found = stage.predictors["main"]
    made = stage.body(DEPLOYMENTS, MAIN)["spec"]["template"]["spec"]
    assert (found.model_version, found.rollout, made["volumes"]) == ("", None, [])


def test_a_predictor_that_is_off_tries_nothing(runner: asyncio.Runner) -> None:
    """Neither from the beginning nor when it is turned off on the way; it begins when it is on again."""
    stage = started(runner, STEPS)
    stage.edit(inference(predictor(replicas=0, modelVersion="v2"), rollout=STEPS))
    stage.settle()
    stage.accepts()
    stage.api.now += routing.SETTLING
    stage.settle()
    stage.serves(MAIN)
    stage.settle()
    assert (phase(stage), stage.found(DEPLOYMENTS), stage.ready) == ("Stable", [MAIN], ("True", "Serving"))
    stage.edit(inference(predictor(replicas=4, modelVersion="v2"), rollout=STEPS))
    stage.settle()
    assert (phase(stage), stage.found(DEPLOYMENTS)) == ("Starting", [MAIN, NEXT])


def test_a_promotion_ends_without_pods(runner: asyncio.Runner) -> None:
    """Where the predictor is turned off meanwhile."""
    stage = started(runner, STEPS)
    stage.edit(with_metadata(stage.inference, annotations={commands.ANNOTATION: "promote"}))
    stage.settle()
    assert phase(stage) == "Promoting"
    stage.edit(inference(predictor(replicas=0, modelVersion="v2"), rollout=STEPS))
    stage.settle()
    stage.accepts()
    stage.api.now += routing.SETTLING
    stage.settle()
    stage.serves(MAIN)
    stage.settle()
    assert (phase(stage), stage.predictors["main"].model_version) == ("Stable", "v2")


def test_a_process_that_starts_anew_goes_on_where_the_last_one_was(runner: asyncio.Runner) -> None:
    """Nothing of a rollout is in memory."""
    stage = started(runner, STEPS)
    stage.api.now += timedelta(seconds=59)
    stage.start()
    assert (stage.look(), stage.writes) == (1, [])
    stage.api.now += timedelta(seconds=1)
    stage.settle()
    assert stage.shares() == {MAIN: 50, NEXT: 50}


def test_without_a_gateway_nothing_is_tried_and_it_is_said(runner: asyncio.Runner) -> None:
    """The version that serves goes on serving."""
    stage = Stage(runner, inference(predictor(), rollout=STEPS), version(), version("v2", OTHER))
    stage.settle()
    stage.serves(MAIN)
    stage.settle()
    assert stage.ready == ("True", "Serving")
    stage.edit(inference(predictor(modelVersion="v2"), rollout=STEPS))
    stage.settle()
    assert (stage.found(DEPLOYMENTS), stage.predictors["main"].model_version) == ([MAIN], "v1")
    assert (stage.predictors["main"].reason, stage.look()) == ("NoGateway", None)
    stage.gateway_api = False
    stage.settle()
    assert (stage.predictors["main"].reason, stage.look()) == ("GatewayApiNotInstalled", 30)


def test_the_share_of_a_trial_is_one_of_its_predictors_share(runner: asyncio.Runner) -> None:
    """The other predictors lose nothing by it."""
    both = (predictor(trafficWeight=40), predictor("other", trafficWeight=60))
    stage = Stage(runner, inference(*both, rollout=STEPS), version(), version("v2", OTHER))
    stage.gateway = GATEWAY
    stage.settle()
    for name in (MAIN, f"{NAME}-other"):
        stage.serves(name)
    stage.settle()
    stage.edit(inference(predictor(trafficWeight=40, modelVersion="v2"), both[1], rollout=STEPS))
    stage.settle()
    stage.serves(NEXT)
    stage.settle()
    assert stage.shares() == {MAIN: 36, NEXT: 4, f"{NAME}-other": 60}
    assert {name: one.traffic_percent for name, one in stage.predictors.items()} == {"main": 40, "other": 60}


@pytest.mark.parametrize("harm", ["crash before", "crash after", "lost before", "lost after"])
def test_wherever_it_dies_a_version_is_promoted_once(runner: asyncio.Runner, harm: Harm) -> None:
    """At every write of the way: the trial begins, goes on and ends as if nothing had happened."""
    for number in range(5):
        stage = started(runner, STEPS)
        for _ in range(2):
            stage.api.now += timedelta(seconds=60)
            with suppress(Crash, ApiError):
                stage.look((number, harm))
            stage.start()
            stage.settle()
        assert (phase(stage), stage.shares()) == ("Promoting", {MAIN: 50, NEXT: 50})
        stage.serves(MAIN)
        with suppress(Crash, ApiError):
            stage.look((number, harm))
        stage.start()
        stage.settle()
        stage.serves(MAIN)  # the cluster has followed once more: how pods are replaced may have been written anew
        stage.settle()
        left(stage)
        assert stage.predictors["main"].model_version == "v2"
