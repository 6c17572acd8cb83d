"""What a person says to a rollout: done once, taken away, told if nothing comes of it."""

import asyncio
from typing import Any

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.model import MODEL_VERSIONS
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.rollout import commands
from tests.training_builders import NAMESPACE
from tests.unit.serving.canaries import MAIN, NEXT, STEPS, left, phase, started
from tests.unit.serving.fake_cluster import Stage
from tests.unit.serving.inferences import GATEWAY, inference, version


@pytest.mark.parametrize(("word", "version_served"), [("promote", "v2"), ("abort", "v1")])
def test_a_persons_word_is_done_and_taken_away(runner: asyncio.Runner, word: str, version_served: str) -> None:
    stage = started(runner, STEPS)
    stage.edit(with_metadata(stage.inference, annotations={commands.ANNOTATION: word}))
    stage.settle()
    assert commands.ANNOTATION not in stage.inference.metadata.annotations
    stage.serves(MAIN)
    stage.settle()
    left(stage)
    assert stage.predictors["main"].model_version == version_served


def said(stage: Stage, word: str) -> None:
    """A person says something, beside whatever else stands there."""
    notes = {**stage.inference.metadata.annotations, commands.ANNOTATION: word}
    stage.edit(with_metadata(stage.inference, annotations=notes))


@pytest.mark.parametrize("restarts", [False, True])
def test_a_word_that_is_said_again_is_done_again(runner: asyncio.Runner, restarts: bool) -> None:
    """However soon: between the moment at which it is taken away and the next look."""
    stage = started(runner, {"steps": [{"weight": 10}, {"weight": 20}, {"weight": 50}]})
    for expected in ({MAIN: 80, NEXT: 20}, {MAIN: 50, NEXT: 50}):
        said(stage, "next")
        while commands.ANNOTATION in stage.inference.metadata.annotations:
            stage.look()
        if restarts:
            stage.start()
        assert stage.shares() == expected


@pytest.mark.parametrize("rolled", [STEPS, None])
def test_a_word_where_there_is_nothing_to_do_is_taken_away(
    runner: asyncio.Runner, rolled: dict[str, Any] | None
) -> None:
    """Without a rollout it is told that nothing came of it; and none waits for the next trial."""
    stage = Stage(runner, inference(**({"rollout": rolled} if rolled else {})), version())
    stage.gateway = GATEWAY
    stage.settle()
    said(stage, "promote")
    stage.settle()
    assert commands.ANNOTATION not in stage.inference.metadata.annotations
    assert stage.events.count("Warning Inference NoRollout") == (rolled is None)


def test_a_promotion_without_a_way_back_goes_on(runner: asyncio.Runner) -> None:
    """The version that served is gone, so the predictor could only stay half-way; the status says what it runs."""
    stage = started(runner, STEPS)
    said(stage, "promote")
    stage.settle()
    stage.api.drop(MODEL_VERSIONS, ObjectKey(NAMESPACE, "v1"))
    said(stage, "abort")
    stage.settle()
    found = stage.predictors["main"].rollout
    assert found is not None
    assert (found.phase, found.reason) == ("Promoting", "CannotAbort")
    assert commands.ANNOTATION not in stage.inference.metadata.annotations
    stage.serves(MAIN)
    stage.settle()
    left(stage)
    found = stage.predictors["main"].rollout
    assert found is not None
    assert (found.phase, found.stable, stage.predictors["main"].model_version) == ("Stable", "v2", "v2")


def test_a_trial_ends_though_what_serves_is_gone(runner: asyncio.Runner) -> None:
    """Its pods have what they need, and were not touched."""
    stage = started(runner, STEPS)
    stage.api.drop(MODEL_VERSIONS, ObjectKey(NAMESPACE, "v1"))
    said(stage, "abort")
    stage.settle()
    assert (phase(stage), stage.predictors["main"].model_version, stage.shares()) == ("RolledBack", "v1", {MAIN: 100})


def test_a_word_that_is_none_is_told(runner: asyncio.Runner) -> None:
    stage = started(runner, STEPS)
    stage.edit(with_metadata(stage.inference, annotations={commands.ANNOTATION: "hurry"}))
    stage.settle()
    assert stage.events.count("Warning Inference UnknownCommand") == 1
    assert (stage.shares(), commands.ANNOTATION in stage.inference.metadata.annotations) == (
        {MAIN: 90, NEXT: 10},
        False,
    )
