"""Lives that are made for each kind: none is forgotten, and who must succeed follows from the kind."""

import pytest

from harness.scenarios import all_scenarios
from harness.scenarios.driver import job_body, view
from harness.scenarios.every_kind import PLAYS, needed
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_each_kind_has_every_life(kind: Kind) -> None:
    """Without being named anywhere."""
    wanted = {f"{kind.kind.lower()}_{play.__name__}" for play in PLAYS}
    assert wanted <= set(all_scenarios())


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_those_who_must_succeed_suffice_and_nobody_is_there_in_vain(kind: Kind) -> None:
    """Each of them is missed."""
    job = view(job_body(kind.kind, "any", {role.name: 1 for role in kind.roles}, "node"))
    deciding = needed(job, kind)
    for absent in (None, *deciding):
        done = {replica.role: frozenset({replica.index}) for replica in deciding if replica != absent}
        assert kind.succeeded(job, done) is (absent is None)
