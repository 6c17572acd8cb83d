"""Requests reach predictors as their weights say, through a real gateway, whatever happens to a predictor."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial

import pytest

from harness.drivers.environment import FULL, times
from harness.drivers.load_generator import Report
from testbed.api import Object, is_true
from testbed.waiting import stolen_seconds, until
from tests import sampling
from tests.e2e.serving.inferences import ObservedInference, answering, fetch, within
from tests.e2e.workspace import Workspace

RATE = 100.0  # requests a second: little enough for two cores that also run the cluster
# Seconds: from the kubelet's word to the last failure, and from a route that is written to the gateway that acts on it.
# In CI operator and gateway wait for a processor meanwhile.
COSTS, FOLLOWS = (2.0, 1.0) if FULL else (20.0, 5.0)
Record = Callable[[str, object], None]

THREE = {"a": 30, "b": 50, "c": 20}


@pytest.fixture
def three(inference: ObservedInference, base_image: str) -> ObservedInference:
    """Predictors a, b and c with 30, 50 and 20, ready."""
    inference.create(*(answering(name, base_image, weight) for name, weight in THREE.items()))
    inference.ready()
    inference.wait("to share", lambda: inference.shares() == THREE)
    inference.wait("all to answer", lambda: answerers(inference) == set(THREE))  # the gateway follows later
    return inference


def counted(report: Report, record_property: Record) -> None:
    """What a proof is told of a load."""
    record_property("requests", report.sent)
    record_property("failed", len(report.failed))


def test_requests_are_shared_as_told(three: ObservedInference, record_property: Record) -> None:
    """30, 50 and 20 of a hundred, within two points."""
    with three.load(2 * RATE, times(2_000, 10_000)) as load:
        report = load.ended(deadline=300)
    counted(report, record_property)
    record_property("points off", round(within(report.shares(), THREE), 2))
    assert not report.failed, report.words()
    assert within(report.shares(), THREE) <= 2, report.words()


def test_weights_change_without_a_lost_request(three: ObservedInference, record_property: Record) -> None:
    """Among them weights that a hundred cannot be divided by, and none at all for one."""
    wishes = (
        {"a": 1, "b": 1, "c": 1},
        {"a": 100, "b": 0, "c": 0},
        {"a": 7, "b": 11, "c": 13},
        {"a": 0, "b": 50, "c": 50},
    )
    with three.load(RATE) as load:
        for _ in range(times(1, 3)):
            for wish in wishes:
                three.weigh(**wish)
                expected = {name: 100 * weight / sum(wish.values()) for name, weight in wish.items()}
                three.wait("to share anew", partial(shared, three, expected))
                assert sum(three.shares().values()) == 100
                heard(three, {name for name, weight in wish.items() if weight})
        changed = time.time()
        until("enough requests", lambda: time.time() > changed + times(10, 30), deadline=60)
        report = load.finish()
    counted(report, record_property)
    assert not report.failed, report.words()
    assert within(report.between(changed + 2).shares(), {"b": 50, "c": 50}) <= 2, report.words()


def shared(inference: ObservedInference, expected: dict[str, float]) -> bool:
    """Whether the status says so, as nearly as percent can."""
    return within(inference.shares(), expected) < 1


def heard(inference: ObservedInference, names: set[str]) -> None:
    """Wait until those alone answer."""
    inference.wait(f"{names} to answer", lambda: answerers(inference) <= names)


def answerers(inference: ObservedInference) -> set[str | None]:
    """Who answers a few requests: among them is everybody who gets a tenth of all."""
    return {inference.ask()[1].get("by") for _ in range(20)}


def taken_out(spec: Object) -> None:
    spec["predictors"] = [one for one in spec["predictors"] if one["name"] != "b"]


def scaled_down(spec: Object) -> None:
    next(one for one in spec["predictors"] if one["name"] == "b")["replicas"] = 0


def given_a_new_version(spec: Object) -> None:
    predictor = next(one for one in spec["predictors"] if one["name"] == "b")
    (variable,) = predictor["template"]["spec"]["containers"][0]["env"]
    variable["value"] = "b2"


@pytest.mark.parametrize("edit", sampling.one_of((taken_out, scaled_down, given_a_new_version), "taken away"))
def test_a_predictor_is_taken_away_without_a_lost_request(
    three: ObservedInference, record_property: Record, edit: Callable[[Object], None]
) -> None:
    """On purpose; the others take its share over, in proportion."""
    with three.load(RATE) as load:
        three.change(edit)
        if edit is given_a_new_version:
            expected = {"a": 30.0, "b2": 50.0, "c": 20.0}
            heard(three, {"a", "b2", "c"})
        else:
            expected = {"a": 60.0, "c": 40.0}
            three.wait("to share anew", lambda: within(three.shares(), {"a": 60, "c": 40}) == 0)
            three.wait("b to be gone", lambda: not three.pods("b"))
        gone = time.time()
        until("enough requests", lambda: time.time() > gone + times(10, 30), deadline=60)
        report = load.finish()
    counted(report, record_property)
    assert not report.failed, report.words()
    assert within(report.between(gone + 1).shares(), expected) <= 2, report.words()


@pytest.mark.disruptive  # it counts seconds, and servers that start beside it take them
def test_a_predictor_that_dies_costs_requests_for_two_seconds_at_most(
    three: ObservedInference, serving: Workspace, record_property: Record
) -> None:
    """Its process ends at once and for good; until its weight is 0 its requests fail, and after that none.

    The two seconds are counted here from the kubelet's own word, which a busy machine delays, and by the proof from
    the death.
    """
    (pod,) = three.pods("b")
    address = pod["status"]["podIP"]
    with three.load(RATE) as load:
        dying = urllib.request.Request(f"http://{address}:8080/die", b"{}", method="POST")
        died = time.time()
        with pytest.raises((OSError, urllib.error.URLError)):
            fetch(dying)
        until("it not to be ready", lambda: not is_true(three.pods("b")[0], "Ready"), deadline=30, interval=0.02)
        noticed, stolen_before = time.time(), stolen_seconds()
        until("its weight to be 0", lambda: "hello-b" not in three.route(), deadline=30, interval=0.02)
        left = time.time()
        until("enough requests", lambda: time.time() > left + 10, deadline=60)
        report = load.finish()
    failed, stolen = report.failed, stolen_seconds() - stolen_before
    counted(report, record_property)
    last = max((one.at for one in failed), default=died)
    record_property("seconds until it was not ready", round(noticed - died, 2))
    record_property("seconds until the weight was 0", round(left - died, 2))
    record_property("seconds until the last failure", round(last - died, 2))
    assert {one.failure for one in failed} <= {"502", "503"}, report.words()
    assert last - noticed <= COSTS + stolen, report.words()
    assert not report.between(left + FOLLOWS + stolen).failed, report.words()
    assert within(report.between(left + 1).shares(), {"a": 60, "c": 40}) <= 2, report.words()
    assert serving.namespace in three.host


def test_a_predictor_that_is_not_ready_gets_nothing(
    inference: ObservedInference, base_image: str, record_property: Record
) -> None:
    """It starts and does not listen; all the others get is shared among them."""
    deaf = answering("b", base_image, 50)
    deaf["template"]["spec"]["containers"][0]["command"] = ["sleep", "3600"]
    inference.create(answering("a", base_image, 33), deaf, answering("c", base_image, 17))
    inference.wait("to share", lambda: inference.shares() == {"a": 66, "b": 0, "c": 34})
    inference.wait("both to answer", lambda: answerers(inference) == {"a", "c"})
    with inference.load(RATE, times(500, 2_000)) as load:
        report = load.ended(deadline=120)
    counted(report, record_property)
    assert not report.failed, report.words()
    assert within(report.shares(), {"a": 66, "c": 34}) <= 2, report.words()


def test_two_teams_with_the_same_names_get_their_own_answers(
    inference: ObservedInference, neighbour: Workspace, base_image: str, record_property: Record
) -> None:
    """Inference, predictors and all: no request is crossed."""
    other = ObservedInference(neighbour)
    for one in (inference, other):
        made = [answering(name, base_image, 50) for name in ("a", "b")]
        for predictor in made:
            (variable,) = predictor["template"]["spec"]["containers"][0]["env"]
            variable["value"] = one.workspace.namespace
        one.create(*made)
    for one in (inference, other):
        one.ready()
    with inference.load(RATE, times(500, 5_000)) as first, other.load(RATE, times(500, 5_000)) as second:
        reports = (first.ended(deadline=240), second.ended(deadline=240))
    for one, report in zip((inference, other), reports, strict=True):
        assert not report.failed, report.words()
        assert set(report.answered()) == {one.workspace.namespace}
    record_property("requests", sum(report.sent for report in reports))


def test_one_predictor_needs_no_gateway(serving: Workspace, base_image: str) -> None:
    """Its Inference has an address of its own inside the cluster."""
    inference = ObservedInference(serving, "alone")
    inference.create(answering("a", base_image))
    inference.wait("to be ready", lambda: inference.condition().get("status") == "True")
    service = serving.cluster.api.get(f"/api/v1/namespaces/{serving.namespace}/services/alone")
    place = f"http://{service['spec']['clusterIP']}:{service['spec']['ports'][0]['port']}/"
    until("an answer", lambda: fetch(urllib.request.Request(place))[1].get("by") == "a", deadline=60)
