"""Whatever write the operator dies at, the world ends up as if it had not; a sample here, all of them in the proof."""

import pytest

from harness.crashpoints import Laboratory, examine
from harness.scenarios import all_scenarios, every_kind
from harness.stage import Stage

EVERY = 3  # of a scenario's writes, before and after the commit in turn
EVERY_OF_ANY = 10  # of a scenario that each kind has: their writes are much the same


@pytest.fixture(scope="session")
def place(ready_stage: Stage) -> Laboratory:
    """Where scenarios are run."""
    return Laboratory(ready_stage)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("scenario", all_scenarios())
def test_a_crash_changes_nothing(place: Laboratory, scenario: str) -> None:
    """Same end, same pods made, none of them twice."""
    alike = all_scenarios()[scenario].__module__ == every_kind.__name__
    undisturbed, *crashed = examine(place, scenario, EVERY_OF_ANY if alike else EVERY)
    assert undisturbed.complaints == []
    assert {str(outcome.point): outcome.complaints for outcome in crashed if outcome.complaints} == {}
    assert [str(outcome.point) for outcome in crashed if not outcome.kills] == []
