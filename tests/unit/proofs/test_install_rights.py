"""The e2e suite counts as run only if its tests have passed, and it is all of them."""

from pathlib import Path

import pytest

from devtools.lint_repo import ROOT
from proofs.install.rights import SMALL, SUITE, tallied
from tests import sampling


def test_tests_are_counted_and_figures_are_not() -> None:
    reports: list[dict[str, str | float]] = [
        {"test_a": "passed", "test_a pods": 7.0},
        {"test_a": "not passed", "test_b": "passed"},
    ]
    assert tallied(reports) == {"tests": 3, "tests that failed": 1}


def test_what_one_part_leaves_out_is_another_part() -> None:
    left_out = {word.removeprefix("--ignore=") for part in SUITE for word in part if word.startswith("--ignore=")}
    assert {part[0] for part in SUITE} - left_out == {"tests/e2e"}
    assert left_out <= {part[0] for part in SUITE}
    assert all(Path(ROOT, place).is_dir() for place in left_out)


def test_none_is_skipped_because_another_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "FULL", False)
    for name, value in SMALL.items():
        monkeypatch.setenv(name, value)
    skipped = [sampling.unless_drawn(one, ("a", "b"), "rule").args for one in ("a", "b")]
    assert skipped == [(False,), (False,)]
