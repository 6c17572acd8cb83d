"""Several predictors: who gets which share, and in which order things come and go."""

import asyncio
from datetime import timedelta

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.model import MODEL_VERSIONS
from kubedl.kube import codec
from kubedl.kube.types.apps import DEPLOYMENTS
from kubedl.kube.types.core import PODS, SERVICES
from kubedl.kube.types.discovery import ENDPOINT_SLICES, SERVICE_OF
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving import routing
from kubedl.serving.naming import INFERENCE, INFERENCE_UID
from kubedl.serving.routing import HTTP_ROUTES, PATIENCE
from kubedl.serving.status import NOTICED
from tests.training_builders import NAMESPACE
from tests.unit.serving.fake_cluster import KEY, Stage
from tests.unit.serving.inferences import GATEWAY, NAME, UID, inference, loser, predictor, ready_pod, version

A, B, C = (f"{NAME}-{letter}" for letter in "abc")
THREE = (predictor("a", trafficWeight=30), predictor("b", trafficWeight=50), predictor("c", trafficWeight=20))


@pytest.fixture
def three(runner: asyncio.Runner) -> Stage:
    """Three predictors behind a gateway, all of them answering."""
    stage = Stage(runner, inference(*THREE), version())
    stage.gateway = GATEWAY
    stage.settle()
    for name in (A, B, C):
        stage.serves(name)
    stage.settle()
    stage.accepts()
    stage.settle()
    return stage


def test_shares_are_as_wanted(three: Stage) -> None:
    """The host carries the namespace; no Service stands for the whole, since none could share."""
    assert three.shares() == {A: 30, B: 50, C: 20}
    assert three.ready == ("True", "Serving")
    assert {name: one.traffic_percent for name, one in three.predictors.items()} == {"a": 30, "b": 50, "c": 20}
    route = three.body(HTTP_ROUTES, NAME)
    assert route["spec"]["hostnames"] == [f"{NAME}.{NAMESPACE}.inference.local"]
    assert route["spec"]["parentRefs"] == [{"name": "public", "namespace": "gateways"}]
    assert three.inference.status.inference_endpoint == f"http://{NAME}.{NAMESPACE}.inference.local"
    assert three.found(SERVICES) == [A, B, C]


def test_who_does_not_answer_gets_nothing(three: Stage) -> None:
    """The others take it over in proportion, and give it back."""
    three.serves(B, 0)
    three.look()
    assert three.shares() == {A: 60, C: 40}
    three.settle()
    assert three.ready == ("False", "PodsNotReady")
    assert (three.predictors["b"].traffic_weight, three.predictors["b"].traffic_percent) == (50, 0)
    three.serves(B)
    three.look()
    assert three.shares() == {A: 30, B: 50, C: 20}


def test_who_leaves_leaves_the_route_first(three: Stage) -> None:
    """And is there until every gateway has had time to follow."""
    three.edit(inference(*THREE[:2]))
    three.look()
    assert three.shares() == {A: 3, B: 5}
    assert three.found(DEPLOYMENTS) == [A, B, C]
    three.accepts()
    again = three.look()
    assert (again, three.writes) == (routing.SETTLING.total_seconds(), [])
    three.api.now += routing.SETTLING
    three.look()
    assert three.writes == [f"delete deployments {C}", f"delete services {C}"]
    three.settle()
    assert (three.found(DEPLOYMENTS), three.found(SERVICES)) == ([A, B], [A, B])


def test_who_is_turned_off_leaves_the_route_first(three: Stage) -> None:
    """The last one too."""
    three.edit(inference(*THREE[:2], {**THREE[2], "replicas": 0}))
    three.look()
    assert three.shares() == {A: 3, B: 5}
    three.accepts()
    three.look()
    assert three.writes == []
    three.api.now += routing.SETTLING
    three.look()
    assert three.writes == [f"scale deployments {C}"]
    three.serves(C)
    three.settle()
    assert three.ready == ("True", "Serving")
    three.edit(inference(*({**one, "replicas": 0} for one in THREE)))
    three.look()
    assert three.shares() == {}
    three.accepts()
    three.api.now += routing.SETTLING
    three.settle()
    assert [one.spec.replicas for one in three.api.all(DEPLOYMENTS)] == [0, 0, 0]


def test_without_gateway_api_it_is_said(runner: asyncio.Runner) -> None:
    """And looked for again; the predictors run all the same."""
    stage = Stage(runner, inference(*THREE), version())
    stage.gateway_api = False
    stage.look()
    for name in (A, B, C):
        stage.serves(name)
    stage.settle()
    assert (stage.look(), stage.ready) == (30, ("False", "GatewayApiNotInstalled"))
    stage.gateway_api = True
    stage.settle()
    assert stage.ready == ("False", "NoGateway")
    assert (stage.condition("Routed").status, stage.found(HTTP_ROUTES)) == ("False", [])
    assert stage.inference.status.inference_endpoint == ""


def test_an_inference_may_name_its_own_gateway(runner: asyncio.Runner) -> None:
    wish = {"name": "own", "sectionName": "https"}
    stage = Stage(runner, inference(*THREE, gateway=wish), version())
    stage.settle()
    [parent] = stage.body(HTTP_ROUTES, NAME)["spec"]["parentRefs"]
    assert parent == {"name": "own", "namespace": NAMESPACE, "sectionName": "https"}


def _one_behind_a_gateway(runner: asyncio.Runner) -> Stage:
    """It answers; the gateway, which is there for all, has said nothing yet."""
    stage = Stage(runner, inference(predictor("a")), version())
    stage.gateway = GATEWAY
    stage.settle()
    stage.serves(A)
    return stage


def test_one_predictor_has_a_route_where_there_is_a_gateway(runner: asyncio.Runner) -> None:
    """It is ready when the gateway knows it: whoever reads the address then reads the one that stays."""
    stage = _one_behind_a_gateway(runner)
    stage.settle()
    assert (stage.shares(), stage.ready) == ({A: 100}, ("False", "GatewaySilent"))
    stage.accepts()
    stage.settle()
    assert stage.ready == ("True", "Serving")
    assert stage.inference.status.inference_endpoint == f"http://{NAME}.{NAMESPACE}.inference.local"


def test_a_gateway_is_given_a_moment_to_notice_the_first_servers(runner: asyncio.Runner) -> None:
    """It says nothing of servers; who asks it in the first seconds would be told that there are none."""
    stage = _one_behind_a_gateway(runner)
    stage.api.put(PODS, ready_pod(stage.api.now, "a"))
    stage.settle()
    stage.accepts()
    stage.settle()
    assert (stage.ready, stage.look()) == (("False", "GatewaySettles"), NOTICED.total_seconds())
    stage.api.now += NOTICED
    stage.settle()
    assert stage.ready == ("True", "Serving")
    stage.api.put(PODS, ready_pod(stage.api.now, "a"))  # its successor
    stage.settle()
    assert stage.ready == ("True", "Serving")


def test_one_predictor_does_not_wait_for_ever_for_a_gateway_that_nobody_asked_for(runner: asyncio.Runner) -> None:
    stage = _one_behind_a_gateway(runner)
    stage.settle()
    assert stage.look() == PATIENCE.total_seconds()
    stage.api.now += PATIENCE
    stage.settle()
    assert (stage.ready, stage.condition("Routed").reason) == (("True", "Serving"), "GatewaySilent")
    assert stage.inference.status.inference_endpoint == f"http://{NAME}.{NAMESPACE}.svc.cluster.local:8080"
    stage.accepts()
    stage.settle()
    assert stage.inference.status.inference_endpoint == f"http://{NAME}.{NAMESPACE}.inference.local"


def test_a_gateway_that_was_asked_for_is_waited_for(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(predictor("a"), gateway={"name": GATEWAY.name, "namespace": GATEWAY.namespace}))
    stage.api.put(MODEL_VERSIONS, version())
    stage.settle()
    stage.serves(A)
    stage.settle()
    assert stage.ready == ("False", "GatewaySilent")


def test_where_the_gateway_is_taken_away_its_route_goes(three: Stage) -> None:
    """And nothing waits for a route that nobody follows."""
    three.gateway = None
    three.edit(inference(THREE[0]))
    three.settle()
    assert (three.found(HTTP_ROUTES), three.found(DEPLOYMENTS)) == ([], [A])


def test_shares_are_those_of_the_route(runner: asyncio.Runner) -> None:
    """Without one, nobody shares."""
    stage = Stage(runner, inference(*THREE), version())
    stage.settle()
    for name in (A, B, C):
        stage.serves(name)
    stage.settle()
    assert {name: one.traffic_percent for name, one in stage.predictors.items()} == dict.fromkeys("abc", 0)
    assert stage.ready == ("False", "NoGateway")


def test_others_take_the_place_of_all_only_when_one_of_them_answers(three: Stage) -> None:
    three.edit(inference(predictor("d", trafficWeight=50), predictor("e", trafficWeight=50)))
    three.settle()
    assert three.shares() == {A: 30, B: 50, C: 20}
    three.serves(f"{NAME}-d")
    three.settle()
    assert three.shares() == {f"{NAME}-d": 100}
    three.api.now += routing.PATIENCE
    three.settle()
    assert three.found(DEPLOYMENTS) == [f"{NAME}-d", f"{NAME}-e"]


def test_nobody_else_says_who_answers(runner: asyncio.Runner) -> None:
    """A neighbour may write the same labels into his own namespace."""
    stage = Stage(runner, inference(THREE[0], THREE[1]), version())
    stage.gateway = GATEWAY
    stage.settle()
    stage.serves(A)
    stage.settle()
    labels = {SERVICE_OF: B, INFERENCE: NAME, INFERENCE_UID: UID}
    theirs = {"metadata": {"name": "theirs", "namespace": "neighbour", "labels": labels}, "endpoints": [{}]}
    stage.api.put(ENDPOINT_SLICES, ENDPOINT_SLICES.decoder.decode(codec.encode(theirs)))
    pod = loser()
    stage.api.put(PODS, with_metadata(pod, namespace="neighbour"))
    stage.settle()
    assert (stage.shares(), stage.predictors["a"].loader) == ({A: 100}, "ImageVolume")


def test_a_route_of_somebody_else_is_left_alone(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(*THREE), version())
    stage.gateway = GATEWAY
    body = f'{{"metadata": {{"name": "{NAME}", "namespace": "{NAMESPACE}", "uid": "theirs"}}}}'
    stage.api.put(HTTP_ROUTES, HTTP_ROUTES.decoder.decode(body))
    stage.look()
    with pytest.raises(Exception, match="does not belong"):
        stage.look()
    assert stage.condition("Routed").reason == "NameTaken"
    assert stage.api.find(HTTP_ROUTES, KEY).metadata.uid == "theirs"


def test_one_that_is_refused_costs_the_others_nothing(runner: asyncio.Runner) -> None:
    broken = predictor("b", template={"spec": {"containers": [{"name": 7}]}})
    stage = Stage(runner, inference(THREE[0], broken), version())
    stage.gateway = GATEWAY
    stage.settle()
    stage.serves(A)
    stage.settle()
    assert (stage.shares(), stage.ready) == ({A: 100}, ("False", "TemplateInvalid"))


def test_a_share_is_written_down_when_it_changed(three: Stage) -> None:
    """From then on whoever left is waited for; a look that changes nothing does not begin it anew."""
    first = three.api.find(HTTP_ROUTES, KEY).metadata.annotations[routing.SINCE]
    three.api.now += timedelta(seconds=100)
    three.settle()
    assert three.api.find(HTTP_ROUTES, ObjectKey(NAMESPACE, NAME)).metadata.annotations[routing.SINCE] == first
