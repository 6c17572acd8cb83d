"""How the figures about the kinds are made."""

import pytest

from benchmarks.regression import NOW, THEN, compared


def test_the_operator_is_compared_with_itself_in_the_turn_before() -> None:
    """The machine became twice as slow after the first pair; that says nothing about either."""
    turns = [(THEN, 1.0, 200), (NOW, 1.1, 190), (THEN, 2.0, 100), (NOW, 2.1, 100), (THEN, 2.0, 100), (NOW, 2.4, 80)]
    figures = compared([{"contender": name, "cpu ms/pod": cpu, "pods/s": rate} for name, cpu, rate in turns])
    assert figures["cpu ms/pod, now/then"] == pytest.approx(1.1)
    assert figures["pods/s, now/then"] == pytest.approx(0.95)
    assert figures[f"{THEN} cpu ms/pod"] == 2.0
