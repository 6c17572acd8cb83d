"""The plan of an Inference is data that follows from what is known, and asks for what is not."""

from dataclasses import replace
from typing import Any

import pytest

from kubedl.api.inference import Inference
from kubedl.kube.errors import ApiError, InvalidError
from kubedl.kube.types.apps import DEPLOYMENTS, Deployment
from kubedl.kube.types.core import SERVICES, Service
from kubedl.kube.types.meta import ObjectKey, ObjectMeta
from kubedl.serving.inquiry import Answer, DryRun, PullSecrets, Question
from kubedl.serving.observed import Observed
from kubedl.serving.plan import Plan, Settings, plan
from kubedl.serving.routing import HTTP_ROUTES
from kubedl.serving.status import Endpoints
from kubedl.serving.workload.delivery import ACCOUNT_SECRETS
from kubedl.serving.workload.deployment import LOADER
from kubedl.serving.workload.model_init_container import Program
from tests.training_builders import NAMESPACE, NOW
from tests.unit.serving.inferences import GATEWAY, NAME, inference, predictor, version

SETTINGS = Settings(Program("packer:1"), Endpoints())
ACCOUNT = PullSecrets(ObjectKey(NAMESPACE, "default"))
MAIN = f"{NAME}-main"


def observed(made: Inference | None = None, **fields: Any) -> Observed:  # noqa: ANN401 - fields of any type
    """A new Inference, and nothing made for it yet."""
    nothing: dict[str, Any] = {name: {} for name in ("deployments", "services", "endpoints")}
    known = {"pods": (), "scalers": (), "route": None, "gateway": GATEWAY, "versions": {"v1": version()}, **nothing}
    return Observed(inference=made or inference(), now=NOW, **{**known, **fields})


def answered(start: Observed, **answers: Answer) -> tuple[Plan, list[Question]]:
    """The plan when all is answered, and what was asked: pods stay as they are, unless told otherwise."""
    asked: list[Question] = []
    decided = plan(start, SETTINGS)
    while decided.inquire:
        said: dict[Question, Answer] = {}
        for question in decided.inquire:
            told = question.pod if isinstance(question, DryRun) else ("hub",)
            said[question] = answers.get(question.mode, told) if isinstance(question, DryRun) else told
        asked += said
        start = replace(start, answers={**start.answers, **said})
        decided = plan(start, SETTINGS)
    return decided, asked


def notes(decided: Plan) -> dict[str, str]:
    """The annotations of the one Deployment."""
    [body] = [step.body for writes in decided.writes for step in writes.objects if step.resource is DEPLOYMENTS]
    found: dict[str, str] = body["metadata"]["annotations"]
    return found


def test_a_plan_asks_before_anything_is_written() -> None:
    """First for the account, since what is tried out depends on its secrets."""
    first = plan(observed(), SETTINGS)
    assert (first.inquire, first.writes, first.route, first.deletions) == ((ACCOUNT,), (), None, ())
    decided, asked = answered(observed())
    assert [type(question) for question in asked] == [PullSecrets, DryRun]
    assert (notes(decided)[LOADER], notes(decided)[ACCOUNT_SECRETS]) == ("ImageVolume", "hub")


def test_the_same_sight_gives_the_same_plan() -> None:
    start = observed()
    assert answered(start) == answered(start)
    assert start == observed()


@pytest.mark.parametrize("made", [inference(predictor(loader="InitCopy")), inference(predictor(modelVersion=None))])
def test_who_mounts_no_image_asks_nothing(made: Inference) -> None:
    assert plan(observed(made), SETTINGS).inquire == ()


REFUSED, DOWN = InvalidError(422, "Invalid", "no such volumes here"), ApiError(500, "", "down")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"ImageVolume": {"spec": {"containers": [], "volumes": []}}}, "InitCopy"),
        ({"ImageVolume": REFUSED}, "InitCopy"),
        ({"ImageVolume": REFUSED, "InitCopy": InvalidError(422, "Invalid", "nor these")}, REFUSED),
        ({"ImageVolume": DOWN}, DOWN),
    ],
)
def test_the_way_of_the_model_follows_from_the_answers(answers: dict[str, Answer], expected: object) -> None:
    """A refusal of both is that of the first; the Service, which needs no answer, is made all the same."""
    decided, _ = answered(observed(), **answers)
    [writes] = decided.writes
    if writes.failure is None:
        assert notes(decided)[LOADER] == expected
    else:
        assert [step.resource for step in writes.objects] == [SERVICES]
        assert writes.failure is expected


def test_one_predictor_that_fails_costs_the_others_nothing() -> None:
    broken: dict[str, Any] = {"spec": {"containers": []}}
    made = inference(predictor("bad", template=broken), predictor("main"))
    decided, _ = answered(observed(made))
    assert [(writes.predictor, writes.failure is None, len(writes.objects)) for writes in decided.writes] == [
        ("bad", False, 0),
        ("main", True, 2),
    ]


def test_nothing_goes_while_nobody_of_those_who_stay_answers() -> None:
    """What is to go answers still; it goes when another one does."""
    old = f"{NAME}-old"
    services = {name: Service(metadata=ObjectMeta(name=name, namespace=NAMESPACE)) for name in (MAIN, old)}
    there = {old: Deployment(metadata=ObjectMeta(name=old, namespace=NAMESPACE))}
    start = observed(services=services, deployments=there, endpoints={old: 1})
    assert answered(start)[0].deletions == ()
    decided, _ = answered(replace(start, endpoints={old: 1, MAIN: 1}))
    assert [(resource, obj.metadata.name) for resource, obj in decided.deletions] == [
        (DEPLOYMENTS, old),
        (SERVICES, old),
    ]
    assert decided.route is not None
    assert (decided.route.resource, decided.route.current) == (HTTP_ROUTES, None)


def test_nothing_is_asked_twice() -> None:
    """Two predictors with one account need its answer once."""
    made = inference(predictor("a"), predictor("b"))
    assert plan(observed(made), SETTINGS).inquire == (ACCOUNT,)
