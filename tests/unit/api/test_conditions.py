"""Conditions as metav1 defines them."""

import pytest

from kubedl.api.conditions import Condition, find, is_true, set_condition, turned
from kubedl.kube import codec
from tests.training_builders import NOW, after

OLD = (
    Condition(type="Created", status="True", reason="A", last_transition_time=after(-60)),
    Condition(type="Running", status="False", reason="B", last_transition_time=after(-30)),
)


def test_find_and_is_true() -> None:
    """One that is not there is not true; neither is one that is unknown."""
    assert find(OLD, "Running") == OLD[1]
    assert find(OLD, "Failed") is None
    assert is_true(OLD, "Created")
    assert not is_true(OLD, "Running")
    assert not is_true(OLD, "Failed")
    assert not is_true((Condition(type="Ready", status="Unknown"),), "Ready")


@pytest.mark.parametrize(
    ("new", "since"),
    [
        (Condition(type="Running", status="True"), NOW),
        (Condition(type="Running", status="False", reason="C", message="other words"), after(-30)),
        (Condition(type="Running", status="Unknown"), NOW),
    ],
)
def test_the_moment_changes_only_with_the_status(new: Condition, since: object) -> None:
    """Reason and message may change without."""
    made = set_condition(OLD, new, NOW)
    assert [one.type for one in made] == ["Created", "Running"]
    assert made[0] is OLD[0]
    assert (made[1].status, made[1].reason, made[1].message) == (new.status, new.reason, new.message)
    assert made[1].last_transition_time == since


def test_a_new_type_is_added_at_the_end() -> None:
    """One of each."""
    made = set_condition(OLD, Condition(type="Failed", status="True"), NOW)
    assert [one.type for one in made] == ["Created", "Running", "Failed"]
    assert made[2].last_transition_time == NOW


def test_saying_it_again_changes_nothing() -> None:
    """Or the status would be written for ever."""
    once = set_condition(OLD, Condition(type="Failed", status="True", reason="X"), NOW)
    assert set_condition(once, Condition(type="Failed", status="True", reason="X"), after(60)) == once


def test_words_of_others_are_cut_to_what_the_server_takes() -> None:
    """A pod may say anything at any length; a status that is refused for it would stop the job for good."""
    made = set_condition((), Condition(type="Failed", status="True", reason="r" * 2_000, message="é" * 40_000), NOW)
    assert codec.decode(codec.encode(made), tuple[Condition, ...]) == made
    assert (len(made[0].reason), len(made[0].message)) == (1_024, 32_768)


@pytest.mark.parametrize(
    ("after_it", "news"),
    [
        (Condition(type="Running", status="False", reason="B", message="other words"), False),
        (Condition(type="Running", status="False", reason="C"), True),
        (Condition(type="Running", status="True", reason="B"), True),
        (Condition(type="Ready", status="True", reason="B"), True),
    ],
)
def test_another_status_or_reason_is_news(after_it: Condition, news: bool) -> None:
    """Other words about the same are none."""
    assert turned(OLD, (after_it,), after_it.type) == (after_it if news else None)
    assert turned(OLD, (), after_it.type) is None
