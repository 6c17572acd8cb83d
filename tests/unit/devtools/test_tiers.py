"""No page claims more support than tests show, and the threat model names tests that exist."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from devtools.lint_repo import ROOT
from devtools.named_tests import exists, named_in
from devtools.tiers import (
    CONTRACT,
    DATA,
    NOT_TRIED,
    READ_FIRST,
    RUN,
    Row,
    complaints,
    load,
    tables,
    with_table,
    without_tier,
)
from kubedl.api.inference import Framework
from kubedl.training.kinds import all_kinds

ROWS, OTHERS = load(DATA.read_text())
HERE = "tests/unit/devtools/test_tiers.py::test_no_row_outruns_its_evidence"
ON_NODES = "tests/e2e/training/test_frameworks.py::test_torch"
TORCH = Row("framework", "PyTorch", run=ON_NODES, software="torch")
THREATS = (ROOT / "SECURITY.md").read_text()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_row_outruns_its_evidence(row: Row) -> None:
    assert list(complaints(row)) == []


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (replace(TORCH, run=f"{ON_NODES}_2"), "there is no test"),
        (replace(TORCH, run="tests/e2e/gone.py::test_torch"), "there is no test"),
        (replace(TORCH, run=HERE), "not under tests/e2e/"),
        (replace(TORCH, software="triton"), "no image or program 'triton'"),
        (replace(TORCH, software=""), "no image or program ''"),
        (Row("server", "Triton", contract="tests/unit/gone.py::test_it"), "there is no test"),
    ],
)
def test_a_claim_without_evidence_is_found(row: Row, complaint: str) -> None:
    assert any(complaint in said for said in complaints(row))


@pytest.mark.parametrize(
    ("row", "tier"),
    [(TORCH, RUN), (Row("server", "Triton", contract=HERE), CONTRACT), (Row("integration", "NFS"), NOT_TRIED)],
)
def test_the_tier_follows_from_the_evidence(row: Row, tier: str) -> None:
    assert row.tier == tier


def test_every_kind_and_every_model_server_has_a_row() -> None:
    """A kind is called like the module that declares it."""
    kinds = {type(kind).__module__.rpartition(".")[2] for kind in all_kinds()}
    assert {row.name.lower() for row in ROWS if row.group == "framework"} == kinds
    assert {row.framework or row.name for row in ROWS if row.group == "server"} == set(get_args(Framework))


@pytest.mark.parametrize("path", READ_FIRST, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_the_first_pages_name_has_a_tier(path: Path) -> None:
    assert without_tier(path.read_text(), OTHERS) == []


def test_software_without_a_tier_is_found() -> None:
    assert without_tier("Serve with SGLang and MLServer.", OTHERS) == ["SGLang"]


@pytest.mark.parametrize(("path", "made"), tables(ROWS).items(), ids=[path.name for path in tables(ROWS)])
def test_the_tables_are_those_of_the_data(path: Path, made: str) -> None:
    """If not: `python -m devtools.tiers`."""
    assert f"<!-- tiers -->\n\n{made}\n<!-- end of tiers -->" in path.read_text()


def test_a_table_that_was_edited_is_replaced() -> None:
    page = "<!-- tiers -->\n| Triton | run on real nodes |\n<!-- end of tiers -->\nmore"
    assert with_table(page, "| a |\n") == "<!-- tiers -->\n\n| a |\n\n<!-- end of tiers -->\nmore"


def test_every_threat_names_tests_that_exist() -> None:
    _, _, table = THREATS.partition("| threat |")
    rows = [line for line in table.partition("\n\n")[0].splitlines()[2:] if line.startswith("|")]
    assert len(rows) > 10
    assert [line for line in rows if not named_in(line)] == []
    assert [test for test in named_in(THREATS) if not exists(test)] == []


def test_a_test_that_is_gone_is_found() -> None:
    assert exists(HERE)
    assert not exists(f"{HERE}_2")
    assert named_in(f"see `{HERE}`, and `tests/unit`") == [HERE]
