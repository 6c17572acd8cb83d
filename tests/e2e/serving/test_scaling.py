"""A predictor grows under load and shrinks after it: the real metrics-server, the real autoscaler."""

import time
from collections.abc import Callable

import pytest

from testbed.cluster import Cluster
from tests.e2e.serving.inferences import ObservedInference, answering

Record = Callable[[str, object], None]
QUICK = {
    "scaleUp": {"stabilizationWindowSeconds": 0},
    "scaleDown": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 4, "periodSeconds": 5}]},
}


def test_load_makes_a_predictor_grow_and_its_end_shrink(
    behind_gateway: Cluster, inference: ObservedInference, base_image: str, record_property: Record
) -> None:
    """From one to three and back; what the autoscaler decides is left alone, and no request is lost."""
    behind_gateway.add_usage()
    # So little of what it asks for that a hundred requests a second are too much for two pods, on a fast machine too;
    # were it to ask for less, other tests' pods could take the processor from it until it misses its probes.
    scaled = {"minReplicas": 1, "maxReplicas": 3, "cpu": 4, "behavior": QUICK}
    predictor = answering("a", base_image, autoScale=scaled)
    predictor["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "150m", "memory": "64Mi"}}
    inference.create(predictor)
    inference.ready()
    began = time.monotonic()
    with inference.load(2) as always:
        with inference.load(100) as load:
            inference.wait("three pods", lambda: inference.predictor("a").get("readyReplicas") == 3, 300)
            record_property("seconds to three", round(time.monotonic() - began))
            inference.change(lambda spec: spec["predictors"][0].update(trafficWeight=50))
            inference.wait("to be taken note of", lambda: inference.status["observedGeneration"] == 2)
            assert inference.predictor("a")["replicas"] == 3
            ended = time.monotonic()
            reports = [load.finish()]
        inference.wait("one pod", lambda: len(inference.pods("a")) == 1, 300)
        record_property("seconds back to one", round(time.monotonic() - ended))
        reports.append(always.finish())
    record_property("requests", sum(report.sent for report in reports))
    record_property("failed", sum(len(report.failed) for report in reports))
    if any(report.failed for report in reports):
        pytest.fail(
            "\n".join([*(report.words() for report in reports), inference.seen()])
        )  # an assertion cuts it short
