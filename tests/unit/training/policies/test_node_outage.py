"""When so many nodes are lost that it is no fault of theirs."""

from datetime import datetime, timedelta

import pytest

from kubedl.kube.types.core import Node, NodeCondition, NodeStatus
from kubedl.kube.types.meta import ObjectMeta
from kubedl.training.policies.node_outage import Outage, outage
from tests.training_builders import NOW, after

GRACE = timedelta(seconds=60)


def node(status: str, since: float = -9999, born: float | None = -99999) -> Node:
    """A node whose condition Ready has been so since then."""
    created: datetime | None = after(born) if born is not None else None
    ready = NodeCondition(type="Ready", status=status, last_transition_time=after(since))
    return Node(metadata=ObjectMeta(creation_timestamp=created), status=NodeStatus(conditions=(ready,)))


def count(well: int, lost: int, *others: Node, percent: float = 30) -> Outage | None:
    """With so many nodes that are well and lost, and these."""
    return outage([*[node("True")] * well, *[node("Unknown")] * lost, *others], percent, GRACE, NOW)


@pytest.mark.parametrize(
    ("well", "lost", "held"),
    [
        (30, 0, False),
        (29, 1, False),
        (21, 9, False),  # 30 %: not more than that
        (20, 10, True),
        (0, 30, True),
        (1, 1, False),  # two of three are no outage, as in Kubernetes
        (1, 2, False),
        (1, 3, True),
        (0, 1, True),  # all that there are
        (0, 2, True),
        (0, 0, False),
    ],
)
def test_more_than_the_share_or_all(well: int, lost: int, held: bool) -> None:
    """At least three, or all."""
    assert count(well, lost) == (Outage(lost, well + lost) if held else None)


@pytest.mark.parametrize(("percent", "held"), [(0, True), (49, True), (50, False), (100, False)])
def test_the_share_is_the_administrators(percent: float, held: bool) -> None:
    """Five of ten here."""
    assert (count(5, 5, percent=percent) is not None) == held


def test_all_nodes_are_an_outage_whatever_the_share() -> None:
    """There is nowhere to go."""
    assert count(0, 5, percent=100) is not None


@pytest.mark.parametrize(("back", "held"), [(-59, True), (-60, False)])
def test_a_node_that_returned_counts_until_it_has_been_back_for_the_grace(back: float, held: bool) -> None:
    """Those that return last are not given up in the moment in which enough are back."""
    assert (count(0, 2, *[node("True", back)] * 8) is not None) == held
    assert count(0, 0, *[node("True", back)] * 8) is None


def test_a_new_node_has_not_returned() -> None:
    """A cluster that grows while a node is lost has no outage."""
    assert count(2, 1, *[node("True", -10, born=-50)] * 9) is None
    assert count(2, 1, *[node("True", -10, born=None)] * 9) is not None


def test_a_node_that_says_it_is_not_ready_is_not_lost() -> None:
    """Somebody is there."""
    assert count(3, 0, *[node("False", -5)] * 9) is None
