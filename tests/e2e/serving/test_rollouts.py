"""A new version of a model goes out in steps, judged by what the gateway measures."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.drivers.environment import FULL, times
from harness.drivers.load_generator import Report
from testbed.api import Object
from testbed.waiting import until
from tests.e2e.serving.inferences import ObservedInference, answering
from tests.e2e.serving.versions import versions
from tests.e2e.workspace import Workspace

RATE = 50.0
SHARES = (10, 50)  # percent
# Seconds after which a gateway has followed its route; in CI operator and gateway wait for a processor meanwhile.
FOLLOWED = 3 if FULL else 5
ENOUGH = 50  # requests, to judge a version by
CHANCE = 5e-5  # of a count so far off, on either side, that it is not taken for chance: one in 10,000 together
Record = Callable[[str, object], None]


def rollout(*weights: int, seconds: int, **analysis: object) -> Object:
    """Steps of these weights, each so long."""
    steps = [{"weight": weight, "pause": seconds} for weight in weights]
    return {"steps": steps, "analysis": {"minRequests": ENOUGH, **analysis}}


def serve(inference: ObservedInference, image: str, how: Object) -> None:
    """Version v1, ready."""
    predictor = answering("a", image, modelVersion="v1", replicas=2)
    predictor["template"]["spec"]["containers"][0]["env"] = []
    inference.create(predictor, rollout=how)
    inference.ready()


def go_over(spec: Object) -> None:
    spec["predictors"][0]["modelVersion"] = "v2"


def phase(inference: ObservedInference) -> str:
    found: dict[str, Any] = inference.predictor("a").get("rollout") or {}
    return str(found.get("phase", ""))


def served(inference: ObservedInference) -> str:
    return str(inference.predictor("a").get("modelVersion", ""))


def counted(report: Report, record_property: Record) -> None:
    record_property("requests", report.sent)
    record_property("failed", len(report.failed))
    record_property("percent failed", round(100 * len(report.failed) / max(1, report.sent), 2))


def test_a_good_version_is_promoted_in_steps(
    inference: ObservedInference, serving: Workspace, base_image: str, tmp_path: Path, record_property: Record
) -> None:
    """Without a failed request; at the end the predictor itself is the new version, and nothing else is left."""
    with versions(serving, tmp_path) as made:
        made.behaving("v1")
        image = made.behaving("v2")
        # Of fifty requests the slowest hundredth is the slowest one, and a busy machine may have made it so.
        how = rollout(*SHARES, seconds=times(10, 20), errorRate=2, p99=5000)
        serve(inference, base_image, how)
        with inference.load(RATE) as load:
            inference.change(go_over)
            steps = [lasted(inference, weight) for weight in SHARES]
            inference.wait("v2 alone to answer", lambda: served(inference) == "v2" and alone(inference, "v2"), 240)
            inference.wait("the candidate to be gone", lambda: set(inference.route()) == {"hello-a"}, 120)
            report = load.finish()
        assert inference.predictor("a")["image"] == image
    counted(report, record_property)
    assert not report.failed, report.words()
    for weight, (begin, end) in zip(SHARES, steps, strict=True):
        told = report.between(begin + FOLLOWED, end).shares()
        record_property(f"percent at {weight} percent", round(told.get("v2", 0.0), 1))
        assert abs(told.get("v2", 0.0) - weight) < 4, (weight, told)


def began(inference: ObservedInference, weight: int) -> float:
    """The moment at which the gateway is told to give the new version so much."""
    inference.wait(f"v2 to get {weight} %", lambda: inference.route().get("hello-a-next") == weight, 120)
    return time.time()


def lasted(inference: ObservedInference, weight: int) -> tuple[float, float]:
    """A step: from the first answer by which the gateway is told so, to the last question that was answered so.

    However late an answer is, until that question nobody had been told anything else.
    """
    begin = end = began(inference, weight)

    def is_over() -> bool:
        nonlocal end
        asked = time.time()
        if inference.route().get("hello-a-next") != weight or phase(inference) == "Promoting":
            return True
        end = asked
        return False

    inference.wait(f"the step of {weight} % to be over", is_over, 120)
    return begin, end


def said(inference: ObservedInference) -> str:
    """A person's word, until it is taken away."""
    return str(inference.body["metadata"].get("annotations", {}).get("serving.kubedl.io/rollout", ""))


def alone(inference: ObservedInference, name: str) -> bool:
    return {inference.ask()[1].get("by") for _ in range(10)} == {name}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [({"error_percent": 5}, "ErrorRate"), ({"seconds": 0.25}, "Latency")],
    ids=["errors", "latency"],
)
def test_a_bad_version_is_rolled_back(
    inference: ObservedInference,
    serving: Workspace,
    base_image: str,
    tmp_path: Path,
    record_property: Record,
    bad: dict[str, Any],
    reason: str,
) -> None:
    """With one condition that says why, before it got many requests, and with less than two of a hundred failed.

    Were it not rolled back in its first step, it would get all of them in the second: five of a hundred would fail.
    """
    with versions(serving, tmp_path) as made:
        made.behaving("v1", seconds=0.05 if reason == "Latency" else 0.0)
        made.behaving("v2", **bad)
        # Twice as slow as v1 ever is, and more.
        serve(inference, base_image, rollout(20, 100, seconds=30, errorRate=2, p99=200))
        with inference.load(RATE) as load:
            inference.change(go_over)
            first = began(inference, 20)
            inference.wait("to be rolled back", lambda: phase(inference) == "RolledBack", 240)
            record_property("seconds until it was rolled back", round(time.time() - first, 1))
            inference.wait("v1 alone to answer", lambda: alone(inference, "v1"), 60)
            inference.wait("the candidate to be gone", lambda: set(inference.route()) == {"hello-a"}, 120)
            report = load.finish()
        told = [one for one in inference.status["conditions"] if one["reason"] == reason]
        assert len(told) == 1, inference.status["conditions"]
        assert served(inference) == "v1"
    counted(report, record_property)
    assert len(report.failed) < 0.02 * report.sent, report.words()
    tried = sum(one.by == "v2" or bool(one.failure) for one in report.requests)
    record_property("requests until it was rolled back", tried)
    # Enough to judge by, and what comes in a few looks (errors are five of each hundred), the write and the gateway.
    assert ENOUGH <= tried <= 4 * ENOUGH, report.words()


def test_a_person_promotes_and_aborts(
    inference: ObservedInference, serving: Workspace, base_image: str, tmp_path: Path
) -> None:
    """By the annotation, which is taken away when it is done."""
    with versions(serving, tmp_path) as made:
        for name in ("v1", "v2"):
            made.behaving(name)
        serve(inference, base_image, {"steps": [{"weight": 50}]})
        inference.change(go_over)
        inference.wait("v2 to be tried", lambda: inference.route().get("hello-a-next") == 50)
        inference.say("abort")
        inference.wait("to be rolled back", lambda: phase(inference) == "RolledBack")
        inference.wait("v1 alone to answer", lambda: alone(inference, "v1"))
        inference.wait("its word to be taken away", lambda: not said(inference))
        inference.say("retry")
        inference.wait("v2 to be tried again", lambda: inference.route().get("hello-a-next") == 50)
        inference.say("promote")
        inference.wait("v2 alone to answer", lambda: served(inference) == "v2" and alone(inference, "v2"))


def test_weights_change_while_a_version_is_rolled_out(
    inference: ObservedInference, serving: Workspace, base_image: str, tmp_path: Path, record_property: Record
) -> None:
    """All in all a hundred, nobody who is not ready, and no request lost."""
    with versions(serving, tmp_path) as made:
        for name in ("v1", "v2"):
            made.behaving(name)
        predictor = answering("a", base_image, 1, modelVersion="v1")
        predictor["template"]["spec"]["containers"][0]["env"] = []
        inference.create(predictor, answering("b", base_image, 1), rollout={"steps": [{"weight": 50}]})
        inference.ready()
        inference.wait("both", lambda: inference.shares() == {"a": 50, "b": 50})
        with inference.load(RATE) as load:
            inference.change(go_over)
            inference.wait(
                "v2 to be tried", lambda: inference.route() == {"hello-a": 25, "hello-a-next": 25, "hello-b": 50}
            )
            inference.weigh(a=2, b=1)
            inference.wait("new weights", lambda: sorted(inference.route().values()) == [1, 1, 1])
            inference.weigh(a=0, b=1)
            inference.wait("b alone", lambda: inference.route() == {"hello-b": 100})
            inference.weigh(a=1, b=0)
            inference.wait("a alone", lambda: inference.route() == {"hello-a": 50, "hello-a-next": 50})
            report = load.finish()
    counted(report, record_property)
    assert not report.failed, report.words()


def binomial(count: int, number: int, part: float) -> float:
    """How likely it is that so many of a number, or fewer, are drawn if each is drawn with a probability of its own."""
    return sum(math.comb(number, k) * part**k * (1 - part) ** (number - k) for k in range(count + 1))


@pytest.mark.disruptive  # whatever changes in the gateway's routes begins the round anew in which its shares are kept
def test_one_percent_of_a_tenth_is_a_thousandth(
    inference: ObservedInference, serving: Workspace, base_image: str, tmp_path: Path, record_property: Record
) -> None:
    """By the route's weights exactly; by requests, as many as chance explains, were each one drawn by itself.

    A whole percent, to which shares were once rounded, is ten times as much: chance does not explain it.
    """
    with versions(serving, tmp_path) as made:
        for name in ("v1", "v2"):
            made.behaving(name)
        predictor = answering("a", base_image, 10, modelVersion="v1")
        predictor["template"]["spec"]["containers"][0]["env"] = []
        inference.create(predictor, answering("b", base_image, 90), rollout={"steps": [{"weight": 1}]})
        inference.ready()
        inference.wait("both", lambda: inference.shares() == {"a": 10, "b": 90})
        inference.change(go_over)
        inference.wait("v2 to be tried", lambda: "hello-a-next" in inference.route())
        weights = inference.route()
        until_followed = time.time() + FOLLOWED
        until("the gateway to follow", lambda: time.time() > until_followed, deadline=60)
        with inference.load(4 * RATE, times(2_000, 10_000)) as load:
            report = load.ended(deadline=120)
    tried, part = report.answered().get("v2", 0), weights["hello-a-next"] / sum(weights.values())
    record_property("percent by weights", round(100 * part, 4))
    record_property("requests", report.sent)
    record_property("tried", tried)
    record_property("points off", round(abs(100 * tried / report.sent - 0.1), 4))
    assert not report.failed, report.words()
    assert part == 0.001, weights
    assert binomial(tried, report.sent, 0.001) > CHANCE, report.words()
    assert binomial(tried - 1, report.sent, 0.001) < 1 - CHANCE, report.words()
