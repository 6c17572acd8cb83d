"""Rows of the table of findings are complete, and the edits that put a defect back still fit the source."""

import ast
from pathlib import Path

import pytest

from harness.experiments.mutants import Edit, edited_files
from proofs.defects.findings import Finding, complaints, load, missing, page

FIXED = Finding("engine-1", "high", "it broke", "fixed", ("tests/unit/x.py",), (Edit("a", "b", "c"),))


def test_ids_are_unique() -> None:
    findings = load()
    assert len({finding.id for finding in findings}) == len(findings)


@pytest.mark.parametrize("finding", load(), ids=lambda finding: finding.id)
def test_a_row_is_complete_and_its_edits_fit(finding: Finding) -> None:
    assert complaints(finding) == []
    root = Path(__file__).parents[3]
    assert [test for test in finding.tests if not (root / test.partition("::")[0]).exists()] == []
    for file, text in edited_files(finding.id, finding.edits).items():
        if file.endswith(".py"):
            ast.parse(text)


@pytest.mark.parametrize(
    ("finding", "complaint"),
    [
        (Finding("engine-1", "low", "it broke", "fixed"), "engine-1 names no test"),
        (Finding("engine-1", "low", "it broke", "fixed", ("x",)), "does not say how its test fails"),
        (Finding("engine-1", "low", "it broke", "open"), "engine-1 has no reason"),
        (Finding("engine-1", "medium", "it broke", "open", reason="later"), "engine-1 is open and medium"),
    ],
)
def test_what_a_row_lacks_is_said(finding: Finding, complaint: str) -> None:
    assert any(complaint in said for said in complaints(finding))


def test_findings_without_a_row_are_named() -> None:
    assert "engine-1" not in missing([FIXED])
    assert "serving-32" in missing([FIXED])


def test_the_page_names_the_test() -> None:
    assert "| engine-1 | high | it broke | fixed | `tests/unit/x.py` |" in page([FIXED])
