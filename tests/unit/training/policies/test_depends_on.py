"""dependsOn."""

import pytest

from kubedl.api.replica_spec import Dependency, Phase
from kubedl.training.policies.depends_on import Progress, waits_for


@pytest.mark.parametrize(
    ("progress", "reached"),
    [
        (Progress(2, 0, 0, 0), set()),
        (Progress(2, 1, 1, 1), set()),
        (Progress(2, 2, 0, 0), {"Running"}),
        (Progress(2, 2, 2, 0), {"Running", "Ready"}),
        (Progress(2, 2, 2, 2), {"Running", "Ready", "Succeeded"}),
        (Progress(0, 0, 0, 0), {"Running", "Ready", "Succeeded"}),
    ],
)
def test_every_replica_must_have_come_so_far(progress: Progress, reached: set[Phase]) -> None:
    """A role of no replicas is no obstacle."""
    phases: tuple[Phase, ...] = ("Running", "Ready", "Succeeded")
    assert reached == {phase for phase in phases if progress.reached(phase)}


PROGRESS = {"PS": Progress(1, 1, 0, 0), "Chief": Progress(1, 0, 0, 0)}


@pytest.mark.parametrize(
    ("dependencies", "expected"),
    [
        ([], None),
        ([("PS", "Running")], None),
        ([("ps", "Running")], None),
        ([("pS", "Ready")], ("pS", "Ready")),
        ([("PS", "Running"), ("Chief", "Running")], ("Chief", "Running")),
        ([("PS", "Ready"), ("Chief", "Running")], ("PS", "Ready")),
        ([("Evaluator", "Succeeded")], None),
    ],
)
def test_the_first_unmet_dependency_is_named(
    dependencies: list[tuple[str, Phase]], expected: tuple[str, Phase] | None
) -> None:
    """Without regard to case, and a role that the job does not have counts as met."""
    given = [Dependency(upstream=upstream, phase=phase) for upstream, phase in dependencies]
    found = waits_for(given, PROGRESS)
    assert expected == (None if found is None else (found.upstream, found.phase))
