"""Versions on trial, for tests."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from kubedl.kube.types.apps import DEPLOYMENTS
from kubedl.kube.types.core import SERVICES
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving import routing
from kubedl.serving.rollout.analysis import Metrics
from kubedl.serving.rollout.prometheus import MetricsUnavailableError
from kubedl.serving.rollout.promql import Target
from tests.training_builders import NAMESPACE
from tests.unit.serving.fake_cluster import Stage
from tests.unit.serving.inferences import GATEWAY, NAME, OTHER, inference, predictor, version

MAIN, NEXT = f"{NAME}-main", f"{NAME}-main-next"
STEPS = {"steps": [{"weight": 10, "pause": 60}, {"weight": 50, "pause": 60}]}
JUDGED = {**STEPS, "analysis": {"errorRate": 2, "p99": 200, "minRequests": 50}}


class Gauge:
    """Who measures."""

    def __init__(self, requests: int = 100, failures: int = 0) -> None:
        self.figure = Metrics(requests, failures, timedelta(milliseconds=100))
        self.asked: list[tuple[Target, datetime]] = []
        self.silent = False

    async def metrics(self, target: Target, since: datetime, now: datetime) -> Metrics:
        assert since <= now
        self.asked.append((target, since))
        if self.silent:
            raise MetricsUnavailableError("nobody answers")
        return self.figure


def started(runner: asyncio.Runner, how: dict[str, Any]) -> Stage:
    """v1 serves, v2 is asked for and ready; the first step has begun."""
    stage = Stage(runner, inference(predictor(replicas=4), rollout=how), version(), version("v2", OTHER))
    stage.gateway, stage.source = GATEWAY, Gauge()
    stage.settle()
    stage.serves(MAIN)
    stage.settle()
    stage.accepts()
    stage.settle()
    stage.edit(inference(predictor(replicas=4, modelVersion="v2"), rollout=how))
    stage.settle()
    assert (stage.found(DEPLOYMENTS), stage.shares()) == ([MAIN, NEXT], {MAIN: 100})
    assert stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, NEXT)).spec.replicas == 2
    stage.serves(NEXT)
    stage.settle()
    stage.accepts()
    stage.settle()
    assert stage.shares() == {MAIN: 90, NEXT: 10}
    return stage


def phase(stage: Stage) -> str:
    found = stage.predictors["main"].rollout
    assert found is not None
    return found.phase


def left(stage: Stage) -> None:
    """The gateway has followed, and whoever left the route is gone."""
    stage.accepts()
    stage.api.now += routing.SETTLING
    stage.settle()
    assert (stage.found(DEPLOYMENTS), stage.found(SERVICES)) == ([MAIN], [NAME, MAIN])
