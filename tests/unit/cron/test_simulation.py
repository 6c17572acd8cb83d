"""A small run of the simulation in virtual time, and that it would notice what the controller takes care of."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from harness.experiments import cron_simulation as simulation
from kubedl.cron import controller, plan
from kubedl.cron.plan import Observed, Plan
from proofs.seed import seed

Broken = Callable[[Observed], Plan]


def test_at_most_one_run_for_each_time_whatever_happens() -> None:
    """Forbid never overlaps, Replace replaces, nothing that is due is forgotten, old runs go."""
    print(f"SEED={seed()}")  # shown with a failure
    counts, violations = asyncio.run(simulation.simulate(300, seed()))
    assert violations == []
    assert counts["runs"] > 0


def _without_questions(observed: Observed) -> Plan:
    decided = plan.plan(observed)
    return plan.plan(replace(observed, absent=frozenset(decided.inquire))) if decided.inquire else decided


def _without_replacing(observed: Observed) -> Plan:
    return replace(plan.plan(observed), replace=())


def _without_expiry(observed: Observed) -> Plan:
    return replace(plan.plan(observed), expire=())


@pytest.mark.parametrize(
    ("broken", "seed", "complaint"),
    [
        (_without_questions, "35", "beside"),
        (_without_replacing, "2", "are not replaced"),
        (_without_expiry, "0", "finished runs are kept"),
    ],
)
def test_the_judge_is_awake(broken: Broken, seed: str, complaint: str) -> None:
    """With a controller that lacks one precaution; the seeds are worlds in which it matters."""
    with simulation.broken(controller, "plan", broken):
        _, violations = asyncio.run(simulation.simulate(60, seed))
    assert [one for one in violations if complaint in one]
