"""What is recorded of rounds with real gang schedulers, and what its page says."""

import json
from pathlib import Path

import pytest

from devtools import gang_matrix
from devtools.gang_matrix import describe_gangs
from proofs.scheduling import gang_conformance
from proofs.scheduling.gang_conformance import SCENARIOS, measure, record

FIRST = gang_matrix.SCENARIOS[0]


def rounds(file: Path) -> int:
    return int(json.loads(file.read_text())["native"][FIRST]["rounds"])


def test_fewer_rounds_do_not_replace_more(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    for number, expected in ((20, 20), (100, 100), (2, 100)):
        record(file, {"native": {FIRST: number}})
        assert rounds(file) == expected


def test_a_failure_is_recorded_whatever_was_before(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    record(file, {"native": {FIRST: 100}})
    record(file, {"native": {FIRST: 0}})
    assert rounds(file) == 0


def test_a_scenario_that_did_not_pass_has_no_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    passed, failed = list(SCENARIOS.values())[:2]
    outcomes = {passed: "passed", f"{passed} rounds": 100.0, failed: "not passed", f"{failed} rounds": 20.0}
    monkeypatch.setattr(gang_conformance, "run", lambda *_, **__: outcomes)
    assert list(measure("native", 100).values()) == [100, 0, 0, 0]


def test_what_was_not_run_is_objects_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "results.json"
    record(file, {"native": {FIRST: 100}})
    monkeypatch.setattr(gang_matrix, "RESULTS", file)
    rows = {line.split("|")[1].strip(): line for line in describe_gangs().splitlines() if line.startswith("| `")}
    assert "100 rounds" in rows["`native`"]
    assert "rounds" not in rows["`volcano`"]
    assert rows["`yunikorn`"].count("objects only") == len(gang_matrix.SCENARIOS)
