"""Whatever a schema allows is refused with a field or told of in a condition; the operator lives, neighbours go on."""

import pytest

from harness.drivers.environment import Stage
from harness.experiments.fuzz_objects import DEADLINE, storm

OBJECTS, BATCH = 240, 120  # the proof sends 10,000


@pytest.mark.usefixtures("cluster")
def test_random_objects_of_every_kind(ready_stage: Stage, namespace: str) -> None:
    """Some of each kind are accepted, or nothing would be shown."""
    figures = storm(ready_stage, namespace, OBJECTS, BATCH)
    print(figures)
    assert figures["refused"] + figures["conditioned"] == OBJECTS
    harm = ("silent", "refused without a field", "rules that broke", "operator restarts", "errors in the log")
    assert {name: figures[name] for name in harm} == dict.fromkeys(harm, 0)
    assert figures["fewest accepted of a kind"] >= 1
    assert figures["neighbours"] == figures["kinds"] * 5  # before, beside two batches, after, and those from before
    assert figures["worst neighbour s"] < DEADLINE
