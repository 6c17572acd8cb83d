"""Claims are judged as their bars say, and a command that fails never proves anything."""

import subprocess
import sys
from pathlib import Path

import pytest

from proofs import report
from proofs.claims import Claim, Value, at_size, load, result
from proofs.report import Row

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("bar", "measured", "met"),
    [
        ("<= 15", 15, True),
        ("<= 15", 15.1, False),
        (">= 1.0", 0.99, False),
        (">= 1.0", 1.0, True),
        ("== 0", 0, True),
        ("== 0", 1, False),
        ("== passed", "passed", True),
        ("== passed", "not passed", False),
        ("<= 15", "its command ended with 1", False),
        ("== failed in stage test", "failed in stage test", True),
    ],
)
def test_a_bar(bar: str, measured: Value, *, met: bool) -> None:
    """Numbers are compared as numbers, words only for equality."""
    assert Claim("sentence", "true", bar).met(measured) is met


@pytest.mark.parametrize(
    ("output", "value", "measured"),
    [
        ("noise\n4.5\n", "", 4.5),
        ('{"a": 1, "b": 2}', "b", 2),
        ('"word"', "", "word"),
        ("", "", "no result in its last line"),
        ("not json", "", "no result in its last line"),
        ('{"a": 1}', "b", "no result 'b' in its last line"),
    ],
)
def test_a_result_is_the_last_line(output: str, value: str, measured: Value) -> None:
    """Whatever else a command prints."""
    assert result(output, value) == measured


def test_a_page_says_what_limits_what_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reason once, and none for what is not short."""
    monkeypatch.setattr(report, "_commit", lambda _: "abc")
    short = [Row(name, 0.9, ">= 1", "", ok=False, limit="the disk") for name in "ab"]
    report.write(tmp_path, "speed", [*short, Row("c", 2, ">= 1", "", ok=True, limit="the network")])
    page = (tmp_path / "docs" / "proofs" / "speed.md").read_text()
    assert page.count("the disk") == 1
    assert "the network" not in page


def test_ci_measures_what_is_small_with_bars_that_a_busy_machine_meets() -> None:
    """And the full run measures everything with the bars as they are claimed."""
    quick = Claim("a", "true", "<= 15", small_bar="<= 60")
    exact = Claim("b", "true", "== 0")
    long = Claim("c", "true", "<= 60", small=False)
    test = Claim("d", "python -m proofs.run_tests tests/unit", "== passed")
    claims = [quick, exact, long, test]
    assert at_size(claims, "full") == claims
    assert [claim.bar for claim in at_size(claims, "small")] == ["<= 60", "== 0"]


def test_ci_measures_one_of_the_sampled_commands_and_in_time_all_of_them() -> None:
    """With each commit another one may be drawn; the same commit draws the same."""
    always = Claim("a", "always", "== 0")
    sampled = [Claim("b", "one", "== 0", sampled=True), Claim("c", "two", "== 0", sampled=True)]
    beside_it = Claim("d", "two", ">= 1", sampled=True)
    claims = [always, *sampled, beside_it]
    drawn = {tuple(claim.sentence for claim in at_size(claims, "small", str(seed))) for seed in range(20)}
    assert drawn == {("a", "b"), ("a", "c", "d")}
    assert at_size(claims, "full") == claims


def test_a_row_shows_what_fell_short() -> None:
    """In the terminal and on the page."""
    row = Row("Starts quickly", 20.5, "<= 15", "s", ok=False)
    assert str(row) == "SHORT 20.5 s (bar <= 15 s)  Starts quickly"
    assert row.cells() == "| Starts quickly | 20.5 s | <= 15 s | **short** |"
    assert "| 1 (e9963c0) |" in Row("Counts", 1, "== 1", "", ok=True, commit="e9963c0").cells()
    assert "| 7,728,281 |" in Row("Lines", 7_728_281, ">= 4800000", "", ok=True).cells()


@pytest.fixture(scope="module")
def known() -> str:
    """All tests, and the scripts of those in a browser, as text."""
    files = (*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "console" / "browser").glob("*.mjs"))
    return " ".join(file.read_text() for file in files)


@pytest.mark.parametrize("area", [file.stem for file in (ROOT / "proofs").glob("*.toml")])
def test_every_area_loads_and_its_tests_exist(area: str, known: str) -> None:
    """A claim about a test that was renamed would fall short only in the full run."""
    for claim in load(area):
        assert claim.bar.split()[0] in {"<=", ">=", "=="}
        if "proofs.run_tests" in claim.command:
            name, _, figure = claim.value.partition(" ")
            assert f"def {name}(" in known
            assert f'record_property("{figure}"' in known or f'figures["{figure}"]' in known or not figure


def test_a_failing_command_fails_the_area(tmp_path: Path) -> None:
    """The runner's exit code is what CI looks at."""
    (tmp_path / "proofs").mkdir()
    for name in ("__init__", "__main__", "claims", "result_cache", "report", "seed"):
        (tmp_path / "proofs" / f"{name}.py").write_text((ROOT / "proofs" / f"{name}.py").read_text())
    entry = '[[claim]]\nsentence = "Works"\ncommand = "false"\nbar = "== 0"\n'
    (tmp_path / "proofs" / "area.toml").write_text(entry)
    command = [sys.executable, "-m", "proofs", "area", "--size", "small"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "SHORT its command ended with 1 (bar == 0)  Works" in done.stdout
    assert "area: 0 passed, 1 failed" in done.stdout
