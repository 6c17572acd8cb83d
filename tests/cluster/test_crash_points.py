"""Whatever write the operator dies at, the world ends up as if it had not; a sample here, all of them in the proof."""

import pytest

from harness.drivers.environment import Stage
from harness.experiments.crash_points import Laboratory, Sample, examine
from harness.scenarios import all_scenarios
from proofs.seed import seed

POINTS = 1  # crash points of a scenario; the seed changes with the commit


@pytest.fixture(scope="session")
def place(ready_stage: Stage) -> Laboratory:
    """Where scenarios are run."""
    return Laboratory(ready_stage)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("scenario", all_scenarios())
def test_a_crash_changes_nothing(place: Laboratory, scenario: str) -> None:
    """Same end, same pods made, none of them twice."""
    print(f"SEED={seed()}")  # shown with a failure
    undisturbed, *crashed = examine(place, scenario, Sample(POINTS, seed()))
    assert undisturbed.complaints == []
    assert {str(outcome.point): outcome.complaints for outcome in crashed if outcome.complaints} == {}
    assert [str(outcome.point) for outcome in crashed if not outcome.kills] == []
