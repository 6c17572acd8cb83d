"""Builds broken on purpose can be made of the source as it is now; whether they are caught is a cluster's matter."""

import ast

import pytest

from harness.experiments.mutants import BREAKS, SMALL, Break, edited_files


@pytest.mark.parametrize("chosen", BREAKS, ids=lambda chosen: chosen.name)
def test_a_break_fits_the_source_and_leaves_python(chosen: Break) -> None:
    for text in edited_files(chosen.name, chosen.edits).values():
        ast.parse(text)


def test_those_of_every_day_are_known() -> None:
    assert {known.name for known in BREAKS} >= set(SMALL)
