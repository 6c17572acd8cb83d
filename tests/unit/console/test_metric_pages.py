"""Requests of services: rate, failures and latency of each version, for those who may list the service."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from kubedl.console.measuring import NOT_SET, Measuring
from kubedl.console.metric_pages import MOST_SERVICES, NOT_ALONE, NOTHING_COUNTED
from kubedl.console.object_kinds import INFERENCES
from kubedl.console.problems import RefusalError
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.rollout.analysis import Metrics
from kubedl.serving.rollout.prometheus import MetricsUnavailableError
from kubedl.serving.rollout.promql import Target
from tests.unit.console.world import NOW, World, caller

ADA, BEN = caller("ada"), caller("ben")
CHAT = ObjectKey("nlp", "chat")
STEP = NOW - timedelta(minutes=20)
ANALYSIS = {"errorRate": 1, "p99": 1800, "minRequests": 1000}


@dataclass
class Source:
    """A Prometheus that knows some Services."""

    known: Mapping[str, Metrics] = field(default_factory=dict)
    down: bool = False
    asked: list[tuple[Target, datetime]] = field(default_factory=list)

    async def metrics(self, target: Target, since: datetime, now: datetime) -> Metrics:
        """Answer by the name of the Service."""
        assert now == NOW
        self.asked.append((target, since))
        if self.down:
            raise MetricsUnavailableError("the metrics request failed (TimeoutError)")
        return self.known.get(target.service, Metrics(0, 0, counted=False))


@pytest.fixture
def source(world: World) -> Source:
    """Of a world in which Ada may list services of nlp."""
    made = Source()
    world.pages = replace(world.pages, measuring=Measuring(lambda: NOW, world.clock, made, "", by_backend=True))
    world.reviewer.allow("ada", "nlp", INFERENCES.name)
    return made


def put_service(
    world: World,
    key: ObjectKey = CHAT,
    analysis: dict[str, Any] | None = None,
    forged: str = "",
    step: datetime = STEP,
) -> None:
    """A service with a canary in its second step, of 25 percent, and a predictor without one.

    `forged` is a predictor that is only in the status, and `step` is when the step began.
    """
    wrong = {"name": forged, "modelVersion": "bert-2", "trafficPercent": 0}
    rollout = {"phase": "Stepping", "stable": "bert-1", "candidate": "bert-2", "step": 1, "since": _moment(NOW)}
    rollout["stepSince"] = _moment(step)
    steps: dict[str, Any] = {"steps": [{"weight": 5, "pause": 600}, {"weight": 25}]}
    world.put(
        INFERENCES,
        *key,
        spec={
            "framework": "vLLM",
            "predictors": [{"name": "main", "modelVersion": "bert-2"}, {"name": "other", "modelVersion": "bert-0"}],
            "rollout": steps | ({"analysis": analysis} if analysis else {}),
        },
        status={
            "predictorStatuses": [
                {"name": "main", "modelVersion": "bert-2", "trafficPercent": 80, "rollout": rollout},
                {"name": "other", "modelVersion": "bert-0", "trafficPercent": 20},
                *([wrong | {"rollout": rollout}] if forged else []),
            ]
        },
    )


def _moment(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


async def test_every_version_has_its_own_figures(world: World, source: Source) -> None:
    """By the names of the Services that the operator makes; what was never counted is not known, and not 0."""
    put_service(world)
    source.known = {
        "chat-main": Metrics(600, 3, timedelta(milliseconds=250)),
        "chat-main-next": Metrics(0, 0),
    }
    [service] = (await world.pages.of_metrics.service(ADA, CHAT)).services
    stable, canary, other = service.rows
    assert stable.figures is not None
    assert (stable.version, stable.canary, stable.figures.requests, stable.figures.failures) == (
        "bert-1",
        False,
        600,
        3,
    )
    assert (stable.figures.seconds, stable.figures.p99_seconds) == (300, 0.25)
    assert canary.figures is not None
    assert (canary.version, canary.canary, canary.figures.requests, canary.figures.p99_seconds) == (
        "bert-2",
        True,
        0,
        None,
    )
    assert (other.version, other.figures, other.reason) == ("bert-0", None, NOTHING_COUNTED)


async def test_a_canary_is_judged_as_the_operator_judges_it(world: World, source: Source) -> None:
    """Since its step began, without interruptions; against the bounds of the spec."""
    put_service(world, analysis=ANALYSIS)
    source.known = {"chat-main-next": Metrics(5812, 15, timedelta(milliseconds=1640))}
    [service] = (await world.pages.of_metrics.service(ADA, CHAT)).services
    [judged] = service.judged
    assert (judged.version, judged.outcome, judged.reason) == ("bert-2", "Good", "WithinBounds")
    assert judged.figures is not None
    assert (judged.figures.requests, judged.figures.seconds, judged.figures.p99_seconds) == (5812, 1200, 1.64)
    assert (judged.most_error_rate, judged.most_p99_seconds, judged.least_requests) == (0.01, 1.8, 1000)
    assert (Target("nlp", "chat-main-next", 8080), STEP) in source.asked
    source.known = {"chat-main-next": Metrics(5812, 500)}
    world.clock.now += 60
    [service] = (await world.pages.of_metrics.service(ADA, CHAT)).services
    assert (service.judged[0].outcome, service.judged[0].reason) == ("Bad", "ErrorRate")


@pytest.mark.parametrize(("age", "seconds"), [(60, 60), (299, 299), (300, 300), (3600, 300)])
async def test_the_rate_of_a_young_canary_is_that_since_its_step_began(
    world: World, source: Source, age: int, seconds: int
) -> None:
    """Five minutes would make it too small, as the canary had fewer requests before, or did not exist."""
    began = NOW - timedelta(seconds=age)
    put_service(world, step=began)
    source.known = {"chat-main": Metrics(600, 0), "chat-main-next": Metrics(60, 0)}
    [service] = (await world.pages.of_metrics.service(ADA, CHAT)).services
    assert [one.figures and one.figures.seconds for one in service.rows] == [300, seconds, None]
    window = NOW - timedelta(minutes=5)
    assert (Target("nlp", "chat-main-next", 8080), max(began, window)) in source.asked
    assert (Target("nlp", "chat-main", 8080), window) in source.asked


async def test_a_young_canary_is_measured_and_judged_by_one_question(world: World, source: Source) -> None:
    put_service(world, step=NOW - timedelta(minutes=1), analysis=ANALYSIS)
    await world.pages.of_metrics.service(ADA, CHAT)
    assert len(source.asked) == 3


async def test_a_canary_without_figures_is_not_known(world: World, source: Source) -> None:
    """Neither good nor bad: too few requests, or no metrics."""
    put_service(world, analysis=ANALYSIS)
    [service] = (await world.pages.of_metrics.service(ADA, CHAT)).services
    assert [(one.outcome, one.reason, one.figures) for one in service.judged] == [("Unknown", "TooFewRequests", None)]
    source.down = True
    world.clock.now += 60
    [service] = (await world.pages.of_metrics.service(ADA, CHAT)).services
    assert [(one.outcome, one.reason, one.figures) for one in service.judged] == [("Unknown", "NoMetrics", None)]
    assert {row.reason for row in service.rows} == {"the metrics request failed (TimeoutError)"}
    assert {row.figures for row in service.rows} == {None}


async def test_without_bounds_nothing_is_judged(world: World, source: Source) -> None:
    put_service(world)
    [service] = (await world.pages.of_metrics.service(ADA, CHAT)).services
    assert service.judged == []
    assert len(source.asked) == 3


async def test_a_list_has_the_services_that_a_person_may_list(world: World, source: Source) -> None:
    """And nobody is asked about others."""
    put_service(world, analysis=ANALYSIS)
    put_service(world, ObjectKey("vision", "secret"))
    found = await world.pages.of_metrics.services(ADA, "")
    assert [(one.namespace, one.name, len(one.rows), one.judged) for one in found.services] == [("nlp", "chat", 3, [])]
    assert {target.namespace for target, _ in source.asked} == {"nlp"}
    assert not (await world.pages.of_metrics.services(ADA, "nothing")).services
    assert not (await world.pages.of_metrics.services(BEN, "")).services


@pytest.mark.parametrize("name", ["chat", "nothing"])
async def test_a_service_that_may_not_be_listed_is_refused_whether_it_exists_or_not(
    world: World, source: Source, name: str
) -> None:
    put_service(world)
    with pytest.raises(RefusalError) as refused:
        await world.pages.of_metrics.service(BEN, ObjectKey("nlp", name))
    assert (refused.value.status, name in str(refused.value), source.asked) == (403, False, [])


async def test_a_list_is_bounded_and_says_so(world: World, source: Source) -> None:
    for number in range(MOST_SERVICES + 7):
        put_service(world, ObjectKey("nlp", f"s{number:03}"))
    found = await world.pages.of_metrics.services(ADA, "")
    assert (len(found.services), found.left_out) == (MOST_SERVICES, 7)
    assert len(source.asked) == 3 * MOST_SERVICES


async def test_a_name_that_traefik_gives_to_two_services_is_asked_about_for_neither(
    world: World, source: Source
) -> None:
    """nlp/x-chat-main and nlp-x/chat-main are both nlp-x-chat-main: the figures would be those of both."""
    put_service(world, ObjectKey("nlp", "x-chat"))
    put_service(world, ObjectKey("nlp-x", "chat"))
    [service] = (await world.pages.of_metrics.services(ADA, "")).services
    assert {row.reason for row in service.rows} == {NOT_ALONE}
    assert source.asked == []
    world.pages = replace(world.pages, measuring=Measuring(lambda: NOW, world.clock, source, ""))
    [service] = (await world.pages.of_metrics.services(ADA, "")).services
    assert {row.reason for row in service.rows} == {NOTHING_COUNTED}


@pytest.mark.parametrize("forged", ['x"}[5m])))) or sum(up) #', "chat-main"])
async def test_a_predictor_that_only_the_status_names_is_not_asked_about(
    world: World, source: Source, forged: str
) -> None:
    """The first is a query of its own; by the second, nlp/x asks about the Service of nlp-x/chat."""
    put_service(world, ObjectKey("nlp", "x"), analysis=ANALYSIS, forged=forged)
    [service] = (await world.pages.of_metrics.service(ADA, ObjectKey("nlp", "x"))).services
    assert [row.predictor for row in service.rows] == ["main", "main", "other"]
    assert [row.predictor for row in service.judged] == ["main"]
    assert {target.service for target, _ in source.asked} == {"x-main", "x-main-next", "x-other"}


async def test_without_a_prometheus_the_page_says_so(world: World) -> None:
    put_service(world)
    world.reviewer.allow("ada", "nlp", INFERENCES.name)
    for found in (await world.pages.of_metrics.services(ADA, ""), await world.pages.of_metrics.service(ADA, CHAT)):
        assert (found.problem, found.services) == (NOT_SET, ())


async def test_the_versions_of_a_predictor_have_their_shares(world: World, source: Source) -> None:
    """As its step divides them; while the canary takes over nobody knows."""
    put_service(world)
    assert source.asked == []
    main, other = (await world.pages.of_services.service(ADA, CHAT)).predictors
    assert [(one.version, one.percent, one.canary) for one in main.runs] == [
        ("bert-1", 60, False),
        ("bert-2", 20, True),
    ]
    assert [(one.version, one.percent, one.canary) for one in other.runs] == [("bert-0", 20, False)]
