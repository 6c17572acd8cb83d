"""Builds broken on purpose can be made of the source as it is now; whether they are caught is a cluster's matter."""

import ast
from pathlib import Path

import pytest

from harness.experiments.mutants import BREAKS, SMALL, Break, edited_copy


@pytest.mark.parametrize("chosen", BREAKS, ids=lambda chosen: chosen.name)
def test_a_break_fits_the_source_and_leaves_python(chosen: Break, tmp_path: Path) -> None:
    source = edited_copy(chosen.name, chosen.edits, tmp_path)
    for edit in chosen.edits:
        ast.parse((source / edit.file).read_text())


def test_those_of_every_day_are_known() -> None:
    assert {known.name for known in BREAKS} >= set(SMALL)
