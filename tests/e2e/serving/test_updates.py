"""Pods are replaced without a lost request: each new one is ready before, and each old one answers until all know."""

from collections.abc import Callable
from functools import partial

from harness.drivers.environment import times
from testbed.api import Object
from testbed.waiting import until, working_seconds
from tests.e2e.serving.inferences import ObservedInference, answering

Record = Callable[[str, object], None]
RATE = 50.0


def test_a_rolling_update_loses_no_request(
    inference: ObservedInference, base_image: str, record_property: Record
) -> None:
    """Again and again, under fifty requests a second."""
    inference.create(answering("a", base_image, replicas=2))
    inference.ready()
    inference.wait("both pods", lambda: inference.predictor("a").get("readyReplicas") == 2)
    seconds = times(30, 205)
    with inference.load(RATE) as load:
        began, number = working_seconds(), 0
        while working_seconds() < began + seconds:
            number += 1
            inference.change(partial(renamed, f"a{number}"))
            inference.wait("the new pods alone", partial(only, inference, f"a{number}"))
            inference.wait("the old pods to be gone", lambda: len(inference.pods("a")) == 2)
        until("the end", lambda: working_seconds() > began + seconds, deadline=seconds)
        report = load.finish()
    record_property("requests", report.sent)
    record_property("updates", number)
    record_property("failed", len(report.failed))
    assert not report.failed, report.words()


def only(inference: ObservedInference, name: str) -> bool:
    """Whether nobody else answers."""
    return {inference.ask()[1].get("by") for _ in range(10)} == {name}


def renamed(name: str, spec: Object) -> None:
    """Another name of the server, and so other pods."""
    (predictor,) = spec["predictors"]
    (variable,) = predictor["template"]["spec"]["containers"][0]["env"]
    variable["value"] = name
